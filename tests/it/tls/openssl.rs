//! The listener as `openssl s_client` finds it: a client that shares no code with the gateway.

use std::{fs, process::Command};

use super::{
    Secured,
    host::{Authority, Issued},
};
use crate::{harness::Ends as _, wire};

/// Output of `s_client`, and whether it succeeded. It ends with its input, or with the connection.
struct Said {
    text: String,
    is_content: bool,
}

/// `openssl s_client`, which trusts the authority and expects the name; `None`, after saying so, where there is none.
fn s_client(secured: &Secured, more: &[&str], sent: &[u8]) -> Option<Said> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl");
        return None;
    }
    let authority = secured.files.path().join("authority.crt");
    fs::write(&authority, secured.authority.pem()).expect("written");
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &secured.gateway.address.to_string(), "-CAfile"]).arg(&authority);
    command.args(["-servername", "localhost", "-verify_return_error", "-verify_hostname", "localhost"]).args(more);
    let output = command.ends_with(sent);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some(Said { text, is_content: output.status.success() })
}

#[test]
fn both_versions_of_tls_verify_and_both_of_http_are_chosen() {
    let secured = Secured::with("tls_min_version = \"1.2\"\n", "");
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        for (offered, chosen) in [("h2,http/1.1", "h2"), ("http/1.1,h2", "h2"), ("http/1.1", "http/1.1")] {
            let Some(said) = s_client(&secured, &[version, "-alpn", offered], b"") else { return };
            assert!(said.is_content, "{}", said.text);
            for expected in [&*format!("New, {name}, "), &format!("ALPN protocol: {chosen}\n"), "Verification: OK"] {
                assert!(said.text.contains(expected), "{expected}: {}", said.text);
            }
        }
    }
    let stranger =
        [("-verify_hostname", "shop.example.com", "hostname mismatch"), ("-alpn", "h3", "no application protocol")];
    for (option, value, expected) in stranger {
        let Some(said) = s_client(&secured, &[option, value], b"") else { return };
        assert!(!said.is_content && said.text.to_lowercase().contains(expected), "{}", said.text);
    }
}

#[test]
fn older_versions_of_tls_are_refused() {
    let secured = Secured::start();
    let Some(said) = s_client(&secured, &["-tls1_3"], b"") else { return };
    assert!(said.is_content && said.text.contains("New, TLSv1.3, "), "{}", said.text);
    for version in ["-tls1", "-tls1_1", "-tls1_2"] {
        // At this level, OpenSSL itself would still speak them.
        let Some(said) = s_client(&secured, &[version, "-cipher", "ALL:@SECLEVEL=0"], b"") else { return };
        assert!(!said.is_content && said.text.contains("alert"), "{}", said.text);
    }
}

#[test]
fn a_request_is_answered() {
    let secured = Secured::start();
    let request = wire::request("GET", "/.well-known/ucp", &[("Connection", "close")], b"");
    let Some(said) = s_client(&secured, &["-ign_eof", "-alpn", "http/1.1"], &request) else { return };
    assert!(said.text.contains("HTTP/1.1 200 OK") && said.text.contains("\"ucp\":"), "{}", said.text);
}

#[test]
fn clients_are_asked_for_a_certificate_of_the_configured_authority() {
    let clients = Authority::new("The authority of clients");
    let files = crate::harness::folder();
    let path = |name: &str| files.path().join(name).to_str().expect("a path").to_owned();
    fs::write(path("clients.crt"), clients.pem()).expect("written");
    let secured = Secured::with(&format!("tls_client_ca_file = \"{}\"\n", path("clients.crt")), "");
    let show = |issued: &Issued| {
        fs::write(path("client.crt"), &issued.certificate_pem).expect("written");
        fs::write(path("client.key"), &issued.key_pem).expect("written");
        [path("client.crt"), path("client.key")]
    };
    let request = wire::request("GET", "/.well-known/ucp", &[("Connection", "close")], b"");
    let stranger = Authority::new("Another authority");
    for (authority, is_answered) in [(&clients, true), (&stranger, false)] {
        let [certificate, key] = show(&authority.issue("one"));
        let shown = ["-ign_eof", "-cert", &certificate, "-key", &key];
        let Some(said) = s_client(&secured, &shown, &request) else { return };
        assert!(said.text.contains("CN = The authority of clients"), "it is named: {}", said.text);
        assert_eq!(said.text.contains("HTTP/1.1 200 OK"), is_answered, "{}", said.text);
        assert_eq!(said.text.contains("alert"), !is_answered, "{}", said.text);
    }
}
