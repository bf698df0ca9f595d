//! Client certificates: a platform is recognized by its own, as by an API key.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use ucp_core::Release;
use ucp_trust::api_key::ApiKey;

use super::{
    Secured,
    host::{Authority, Http2, Issued, connect},
};
use crate::{
    platforms::host::{CATALOG, profile_with},
    setup::{REQUIRE, Setup, agent},
};

const ONE: &str = "https://one.example.com/profile.json";
const OTHER: &str = "https://other.example.com/profile.json";
const CART: &str = "{\"line_items\":[{\"item\":{\"id\":\"var_abc123_blue_10\"},\"quantity\":1}]}";

/// The fingerprint of a certificate, as `openssl` prints it.
fn fingerprint(issued: &Issued) -> String {
    let bytes: Vec<_> = Sha256::digest(&issued.certificate).iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

/// A gateway that knows two platforms: one by its certificate, the other by its API key.
fn start(clients: &Authority, one: &Issued, other: &ApiKey) -> Secured {
    let files = crate::harness::folder();
    let (authorities, profile) = (files.path().join("clients.crt"), files.path().join("profile.json"));
    std::fs::write(&authorities, clients.pem()).expect("written");
    let capabilities = [&CATALOG[..], &["dev.ucp.shopping.cart", "dev.ucp.shopping.checkout"]].concat();
    std::fs::write(&profile, profile_with(Release::NEWEST, &capabilities).to_string()).expect("written");
    let mut sections = REQUIRE.to_owned();
    for (name, url, credential) in [
        ("One", ONE, format!("certificate_sha256 = \"{}\"", fingerprint(one))),
        ("Other", OTHER, format!("api_key_hash = \"{}\"", other.hash())),
    ] {
        let profile = profile.display();
        write!(
            sections,
            "\n[[platform]]\nname = \"{name}\"\nprofile = \"{url}\"\nprofile_file = \"{profile}\"\n{credential}\n"
        )
        .expect("text");
    }
    // Everything is read at the start.
    Secured::with(&format!("tls_client_ca_file = \"{}\"", authorities.display()), &sections)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_is_recognised_by_its_certificate() {
    let clients = Authority::new("The authority of clients");
    let (one, unknown, key) = (clients.issue("one"), clients.issue("unknown"), ApiKey::generate().expect("a key"));
    let secured = start(&clients, &one, &key);
    let (gateway, shown) = (&secured.gateway, key.reveal());
    // A client without a certificate, or with an unknown one, is anonymous.
    for (certificate, profile, key, expected, code) in [
        (None, ONE, None, 401, "unauthorized"),
        (Some(&unknown), ONE, None, 401, "unauthorized"),
        (Some(&one), ONE, None, 201, ""),
        (Some(&one), OTHER, None, 403, "forbidden"),
        (Some(&one), OTHER, Some(shown), 403, "forbidden"),
        (Some(&one), ONE, Some(shown), 403, "forbidden"),
        (Some(&unknown), OTHER, Some(shown), 201, ""),
        (None, OTHER, Some(shown), 201, ""),
    ] {
        let said = format!("{} {profile} {}", certificate.is_some(), key.is_some());
        let agent = agent(profile);
        let mut headers = vec![("content-type", "application/json"), ("ucp-agent", agent.as_str())];
        headers.extend(key.map(|key| ("x-api-key", key)));
        let connection = Http2::open(gateway, secured.authority.config(&["h2"], certificate)).await;
        let (status, body) = connection.send("POST", "/carts", &headers, CART).await;
        assert_eq!((status, body["code"].as_str().unwrap_or_default()), (expected, code), "{said}: {body}");

        let mut request =
            secured.authority.client(certificate).post(format!("https://{}/carts", gateway.address)).body(CART);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), expected, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_an_unknown_authority_are_refused_in_the_handshake() {
    let clients = Authority::new("The authority of clients");
    let secured = start(&clients, &clients.issue("one"), &ApiKey::generate().expect("a key"));
    let stranger = Authority::new("The authority of clients").issue("one");
    let begun = connect(&secured.gateway, secured.authority.config(&["http/1.1"], Some(&stranger))).await;
    // A client of TLS 1.3 is done with the handshake before the gateway judges.
    let error = match begun {
        Err(error) => error,
        Ok(mut stream) => {
            use tokio::io::AsyncReadExt as _;
            stream.read(&mut [0; 64]).await.expect_err("no answer, but an alert")
        }
    };
    assert!(error.to_string().contains("alert"), "{error}");
}

#[test]
fn a_certificate_means_nothing_without_an_authority() {
    let platform = |more: &str| {
        let profile = "profile_file = \"profile.json\"";
        format!("[[platform]]\nname = \"One\"\nprofile = \"{ONE}\"\n{profile}\ncertificate_sha256 = \"{more}\"\n")
    };
    let said = |text: &str| {
        let profile = profile_with(Release::NEWEST, &CATALOG).to_string();
        Setup::new(text).file("profile.json", &profile).run("check-config").expect_err("refused")
    };
    let alone = said(&platform(&"0".repeat(64)));
    assert!(alone.contains("`platform[0].certificate_sha256`"), "{alone}");
    assert!(alone.contains("this needs `server.tls_client_ca_file`"), "{alone}");
    let wrong = said(&platform("00:11"));
    assert!(wrong.contains("expected the SHA-256 of a certificate"), "{wrong}");
}
