//! TLS on the gateway's own listener: both versions of HTTP, certificates that change, clients with certificates, and
//! clients that are slow.

mod clients;
pub(crate) mod host;
mod limits;
mod openssl;
mod signed;
mod upstream;

use std::{fs, path::PathBuf, time::Duration};

use tempfile::TempDir;

use self::host::{Authority, Issued};
use crate::{
    harness::{REST_HEADERS, folder},
    setup::{Configured, Setup},
};

/// Maximum time until a gateway has read its files again, or has noticed a signal.
const NOTICED: Duration = Duration::from_secs(60);

/// A gateway that speaks TLS, and where its certificate lies.
struct Secured {
    gateway: Configured,
    authority: Authority,
    files: TempDir,
}

impl Secured {
    /// One with a certificate for `localhost` and 127.0.0.1.
    fn start() -> Self {
        Self::with("", "")
    }

    /// The same with more keys of `[server]`, and more sections.
    fn with(server: &str, sections: &str) -> Self {
        let (authority, files) = (Authority::new("An authority"), folder());
        let secured = configuration(&files, &authority.issue("localhost"), server);
        let gateway = Setup::new(&[&secured, sections].concat()).start();
        Self { gateway, authority, files }
    }
}

/// Writes a certificate and its key, and returns the section that names them, with more keys.
fn configuration(files: &TempDir, issued: &Issued, more: &str) -> String {
    let [certificate, key] = paths(files);
    fs::write(&certificate, &issued.certificate_pem).expect("written");
    fs::write(&key, &issued.key_pem).expect("written");
    let (certificate, key) = (certificate.display(), key.display());
    format!("[server]\ntls_certificate_file = \"{certificate}\"\ntls_key_file = \"{key}\"\n{more}\n")
}

fn paths(files: &TempDir) -> [PathBuf; 2] {
    ["tls.crt", "tls.key"].map(|name| files.path().join(name))
}

mod serving {
    use std::{net::TcpStream, process::Command};

    use ucp_core::Release;

    use super::{host::*, *};
    use crate::{
        harness::{Ends as _, elements, eventually},
        platforms::host::{Host, Page, profile_of},
        setup::{REQUIRE, agent},
        wire,
    };

    const SEARCH: &str = "{\"query\":\"runner\"}";

    #[tokio::test(flavor = "multi_thread")]
    async fn calls_are_answered_over_both_versions() {
        let secured = Secured::start();
        let client = secured.authority.client(None);
        let mut request = client.post(format!("https://{}/catalog/search", secured.gateway.address)).body(SEARCH);
        for (name, value) in REST_HEADERS {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.version()), (200, http::Version::HTTP_11));
        assert!(!elements(&answer.json::<serde_json::Value>().await.expect("JSON")["products"]).is_empty());

        let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2", "http/1.1"], None)).await;
        let calls = (0..50).map(|_| connection.post("/catalog/search", SEARCH));
        for (status, body) in ucp_testkit::wait::all(calls).await {
            assert_eq!(status, 200, "{body}");
            assert!(!elements(&body["products"]).is_empty());
        }
        // An answer that is larger than what a client takes at once.
        let (status, body) = connection.send("GET", "/openapi.json", &[], "").await;
        let plain = secured.authority.client(None).get(format!("https://{}/openapi.json", secured.gateway.address));
        let plain: serde_json::Value = plain.send().await.expect("an answer").json().await.expect("JSON");
        assert_eq!((status, body), (200, plain));
    }

    /// The commands that the start prints work with a client that is not ours.
    #[test]
    fn the_printed_call_works_with_curl_over_http2() {
        let secured = Secured::start();
        let base = format!("https://{}", secured.gateway.address);
        let welcome = secured.gateway.welcome.join("\n");
        assert!(welcome.contains(&format!("profile  {base}/.well-known/ucp")), "{welcome}");
        let (_, call) = welcome.split_once("Try it:\n").expect("a call to try");
        let has_http2 = Command::new("curl").arg("--version").output();
        if !has_http2.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("HTTP2")) {
            eprintln!("skipped: there is no curl with HTTP/2");
            return;
        }
        for (version, expected) in [("--http2", "2"), ("--http1.1", "1.1")] {
            let call = format!("{} {version} -w '\\n%{{http_version}} %{{http_code}}'", call.trim());
            let output = Command::new("bash").args(["-c", &call]).ends();
            let said = String::from_utf8(output.stdout).expect("text");
            let (body, version) = said.rsplit_once('\n').expect("a version");
            assert_eq!(version, format!("{expected} 200"), "{call}: {said}");
            let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
            assert!(!elements(&body["products"]).is_empty(), "{body}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_trusts_another_authority_goes_away() {
        let secured = Secured::start();
        let other = Authority::new("Another authority").client(None);
        let error = other.get(format!("https://{}/livez", secured.gateway.address)).send().await.expect_err("refused");
        assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
    }

    #[test]
    fn the_healthcheck_asks_over_tls() {
        let (authority, files) = (Authority::new("An authority"), folder());
        let free = ucp_testkit::leash::free_address();
        let listen = format!("listen = \"{free}\"\n");
        let setup = Setup::new(&configuration(&files, &authority.issue("shop.example.com"), &listen));
        assert!(setup.run("healthcheck").expect_err("nobody is there").contains("does not answer"));
        let data = crate::harness::sample_shop();
        let gateway = setup.spawn(&free.to_string(), data.path());
        assert_eq!(setup.run("healthcheck"), Ok(String::new()));
        // A new certificate that cannot be used is no reason to restart a gateway that serves with the old one.
        fs::write(&paths(&files)[0], "not a certificate").expect("written");
        assert_eq!(setup.run("healthcheck"), Ok(String::new()));
        drop(gateway);
    }

    #[test]
    fn plain_http_is_told_and_closed() {
        let secured = Secured::start();
        let mut connection = secured.gateway.connect();
        connection.write(&wire::request("POST", "/catalog/search", REST_HEADERS, SEARCH.as_bytes()));
        let answers = connection.read_to_end();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((answers[0].status, answers[0].header("connection")), (400, Some("close")));
        assert_eq!(answers[0].json()["code"], "invalid_request");
        assert!(answers[0].body.contains("https"), "{answers:?}");
    }

    /// The gateway knows its host also where there is no `Host`.
    #[tokio::test(flavor = "multi_thread")]
    async fn hosts_are_checked_as_in_http_1() {
        let secured = Secured::start();
        let connection = Http2::open(&secured.gateway, secured.authority.config(&["h2"], None)).await;
        for (authority, host, expected, code) in [
            ("localhost", None, 200, ""),
            ("localhost", Some("localhost"), 200, ""),
            ("evil.example", None, 403, "origin_forbidden"),
            ("localhost", Some("evil.example"), 400, "invalid_request"),
            ("evil.example", Some("localhost"), 400, "invalid_request"),
        ] {
            let headers: Vec<_> = host.map(|host| ("host", host)).into_iter().collect();
            let (status, body) = connection.send_to(authority, "POST", "/catalog/search", &headers, SEARCH).await;
            assert_eq!(status, expected, "{authority} {host:?}: {body}");
            assert_eq!(body["code"].as_str().unwrap_or_default(), code, "{authority} {host:?}: {body}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_certificate_is_used_without_a_restart() {
        let secured = Secured::start();
        let (gateway, [certificate, key]) = (&secured.gateway, paths(&secured.files));
        let old = Http2::open(gateway, secured.authority.config(&["h2"], None)).await;
        let next = Authority::new("The next authority");
        let (trusting, before) = (next.config(&["h2"], None), secured.authority.config(&["h2"], None));

        // An invalid file is reported, and changes nothing.
        let issued = next.issue("localhost");
        fs::write(&certificate, &issued.certificate_pem).expect("written");
        eventually("the gateway tells of a key that does not fit", NOTICED, || {
            gateway.stderr().contains("is not the key of the certificate").then_some(())
        });
        drop(Http2::open(gateway, before).await);

        fs::write(&key, &issued.key_pem).expect("written");
        ucp_testkit::wait::until("a new connection gets the new certificate", NOTICED, async || {
            connect(gateway, trusting.clone()).await.ok()
        })
        .await;
        assert_eq!(old.post("/catalog/search", SEARCH).await.0, 200, "connections that were open go on");
        let told = gateway.stderr().matches("keeping the previous one").count();
        assert_eq!(told, 1, "once for each bad file: {}", gateway.stderr());
    }

    #[test]
    fn a_shutdown_finishes_what_is_running_and_says_goodbye() {
        let (host, page) = (Host::start(), Page::json(&profile_of(Release::NEWEST)));
        let agent = agent(&host.put("/held", Page::Held(Box::new(page))));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let mut secured = Secured::with("", REQUIRE);
        let open = || Http2::open(&secured.gateway, secured.authority.config(&["h2"], None));
        let (idle, running) = (runtime.block_on(open()), runtime.block_on(open()));
        let call = runtime.spawn(async move {
            let headers = [("content-type", "application/json"), ("ucp-agent", agent.as_str())];
            running.send("POST", "/catalog/search", &headers, SEARCH).await
        });
        host.wait_for_visit("/held");
        secured.gateway.signal("TERM");
        let address = secured.gateway.address;
        eventually("the gateway takes no more connections", NOTICED, || TcpStream::connect(address).err());
        runtime.block_on(idle.dismissed());
        assert!(secured.gateway.is_alive(), "it waits for the request that is running");
        host.release();
        let (status, body) = runtime.block_on(call).expect("no panic");
        assert_eq!(status, 200, "{body}");
        assert_eq!(secured.gateway.wait().code(), Some(0));
        assert!(!secured.gateway.stderr().contains("shutdown deadline reached"), "{}", secured.gateway.stderr());
    }

    #[test]
    fn files_that_cannot_be_used_are_named_at_the_start() {
        let (authority, files) = (Authority::new("An authority"), folder());
        let good = authority.issue("localhost");
        let [certificate, key] = paths(&files);
        let text = configuration(&files, &good, "");
        assert!(Setup::new(&text).run("check-config").is_ok());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let unfinished = good.certificate_pem.replace("-----END CERTIFICATE-----", "");
        for (file, content, named, expected) in [
            (&certificate, "", "tls_certificate_file", "must hold a certificate in PEM"),
            (&certificate, &*good.key_pem, "tls_certificate_file", "must hold a certificate in PEM"),
            (&certificate, &*unfinished, "tls_certificate_file", "is not well-formed PEM"),
            (&certificate, broken, "tls_certificate_file", "holds a certificate that cannot be used"),
            (&key, "", "tls_key_file", "must hold a private key in PEM"),
            (&key, &*good.certificate_pem, "tls_key_file", "must hold a private key in PEM"),
            (&key, &*authority.issue("localhost").key_pem, "tls_key_file", "is not the key of the certificate"),
        ] {
            let before = fs::read(file).expect("a file");
            fs::write(file, content).expect("written");
            for command in ["serve", "check-config"] {
                let said = Setup::new(&text).run(command).expect_err("refused");
                let path = file.display().to_string();
                assert!(said.contains(&format!("`server.{named}`")) && said.contains(&path), "{said}");
                assert!(said.contains(expected), "{expected}: {said}");
                assert!(!said.contains("PRIVATE"), "{said}");
            }
            fs::write(file, before).expect("written");
        }
        fs::remove_file(&key).expect("removed");
        let said = Setup::new(&text).run("check-config").expect_err("refused");
        assert!(said.contains("`server.tls_key_file`") && said.contains("cannot be read"), "{said}");
        for (text, expected) in [
            ("[server]\ntls_certificate_file = \"a\"\n", "`server.tls_certificate_file` in"),
            ("[server]\ntls_key_file = \"a\"\n", "this needs `server.tls_certificate_file`"),
            ("[server]\ntls_client_ca_file = \"a\"\n", "this needs `server.tls_certificate_file` and"),
        ] {
            let said = Setup::new(text).run("check-config").expect_err("refused");
            assert!(said.contains(expected), "{said}");
        }
    }
}
