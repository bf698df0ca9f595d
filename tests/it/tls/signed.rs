//! Signed requests (RFC 9421) over HTTP/2, where `:authority` stands for `Host`.

use bytes::Bytes;
use tokio::runtime::Runtime;
use ucp_trust::{
    jwk::{Algorithm, read_document},
    signature::{Message, Scheme, Signed, SigningKey, Start},
};

use super::{
    Secured,
    host::{Authority, Http2},
};
use crate::{
    harness::sample_shop,
    platforms::host::Host,
    setup::{REQUIRE, Setup, Transport},
    signatures::{Draft, key, keys, now, profile},
};

/// Draft of a request to an authority, signed as a platform signs that sends it over TLS.
fn signed(secured: &Secured, transport: Transport, profile: &str, authority: &str, key: &SigningKey) -> Draft {
    Draft::new(&secured.gateway, transport, profile).with("Host", authority).signed_over(Scheme::Https, key, now())
}

/// A draft as a request of HTTP/2, which names its host in the target alone.
fn request(draft: &Draft) -> http::Request<Bytes> {
    let target = format!("https://{}{}", draft.header("host"), draft.path);
    let mut request = http::Request::post(target).body(Bytes::from(draft.body.clone())).expect("a request");
    *request.headers_mut() = draft.headers.clone();
    request.headers_mut().remove("host");
    request
}

/// A connection, and the runtime that it lives on.
fn connect(secured: &Secured) -> (Runtime, Http2) {
    let runtime = Runtime::new().expect("a runtime");
    let connection = runtime.block_on(Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)));
    (runtime, connection)
}

#[test]
fn signed_requests_are_answered_and_altered_ones_refused() {
    let host = Host::start();
    let secured = Secured::with("", &[REQUIRE, "[signatures]\nbrowsing = \"enforce\"\n"].concat());
    let (runtime, connection) = connect(&secured);
    for algorithm in Algorithm::HTTP {
        let key = key(algorithm);
        let url = host.profile(&format!("/{algorithm:?}"), &profile(&[&key]));
        for transport in Transport::ALL {
            let own = secured.gateway.address.to_string();
            for authority in [&*own, "localhost", "LOCALHOST:443"] {
                let draft = signed(&secured, transport, &url, authority, &key);
                let answer = runtime.block_on(connection.exchange(request(&draft)));
                let said = String::from_utf8_lossy(answer.body());
                assert_eq!(answer.status(), 200, "{authority}: {said}");
                assert!(said.contains("prod_abc123"), "{said}");
            }
            let good = signed(&secured, transport, &url, &own, &key);
            let body = String::from_utf8(good.body.clone()).expect("a text").replace("prod_abc123", "prod_def456");
            let mut elsewhere = good.clone();
            elsewhere.path.push_str("?x=1");
            for (what, altered, status, code) in [
                ("the body", good.clone().saying(body.as_bytes()), 400, "digest_mismatch"),
                ("the authority", good.clone().with("Host", "localhost"), 401, "signature_invalid"),
                ("the path", elsewhere, 401, "signature_invalid"),
                ("a header", good.clone().with("Content-Type", "application/json;v=1"), 401, "signature_invalid"),
                ("the signature", good.without("Signature").without("Signature-Input"), 401, "signature_missing"),
            ] {
                let answer = runtime.block_on(connection.exchange(request(&altered)));
                let said = String::from_utf8_lossy(answer.body());
                assert_eq!(answer.status(), status, "{what}: {said}");
                assert!(said.contains(&format!("\"{code}\"")), "{what}: {said}");
            }
        }
    }
}

#[test]
fn answers_are_signed_as_over_http_1() {
    let (host, data) = (Host::start(), sample_shop());
    keys(&["generate"], data.path());
    let authority = Authority::new("An authority");
    let files = crate::harness::folder();
    let tls = super::configuration(&files, &authority.issue("localhost"), "");
    let gateway = Setup::new(&[&tls, REQUIRE, "[signatures]\nresponses = \"all\"\n"].concat()).start_on(data);
    let secured = Secured { gateway, authority, files };
    let (runtime, connection) = connect(&secured);
    let own = key(Algorithm::Es256);
    let draft = signed(&secured, Transport::Rest, &host.profile("/p", &profile(&[&own])), "localhost", &own);
    let answer = runtime.block_on(connection.exchange(request(&draft)));
    let (_, published) = runtime.block_on(connection.send("GET", "/.well-known/ucp", &[], ""));
    let keys = read_document(&published, &mut Vec::new()).expect("keys");
    let signed = Signed::read(answer.headers()).expect("readable").expect("signed");
    let message = Message { start: Start::Response(answer.status().as_u16()), headers: answer.headers() };
    let verified = signed.verify(&message, answer.body(), &keys, now());
    assert_eq!(verified.unwrap_or_else(|refusal| panic!("{refusal}: {answer:?}")).keyid, keys[0].kid());
}
