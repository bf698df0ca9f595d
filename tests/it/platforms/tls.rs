//! Profiles over https, as all of them are outside of development (rules AGT-05, SEC-01, SEC-02).

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivatePkcs8KeyDer};
use ucp_core::Release;

use super::host::profile_of;
use crate::setup::{Ask, REQUIRE, Setup, Transport};

/// A host with a certificate for these names, which it signed itself.
struct TlsHost {
    address: SocketAddr,
    certificate: String,
    requests: Arc<AtomicUsize>,
}

impl TlsHost {
    fn start(name: &str) -> Self {
        let certified = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let certificate = certified.cert.der().clone();
        let pem = BASE64_STANDARD.encode(&certificate);
        let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let configuration =
            ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key.into());
        let configuration = Arc::new(configuration.expect("a configuration"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        // Ends with the process: it holds nothing but the port.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Those who do not trust it hang up.
                if answer(stream, Arc::clone(&configuration)).is_ok() {
                    counter.fetch_add(1, Ordering::AcqRel);
                }
            }
        });
        let certificate = format!("-----BEGIN CERTIFICATE-----\n{pem}\n-----END CERTIFICATE-----\n");
        Self { address, certificate, requests }
    }
}

fn answer(stream: TcpStream, configuration: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(configuration).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    let profile = profile_of(Release::NEWEST).to_string();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{profile}", profile.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn sec_01_certificates_have_to_be_trusted_and_for_the_host() {
    let host = TlsHost::start("localhost");
    let port = host.address.port();
    let trusting = REQUIRE.replace("[limits]", "ca_files = [\"root.pem\"]\n [limits]");
    let own = Setup::new(&trusting).file("root.pem", &host.certificate).start();
    let other = Setup::new(&trusting).file("root.pem", &TlsHost::start("localhost").certificate).start();
    let none = Setup::new(REQUIRE).start();
    for transport in Transport::ALL {
        Ask::new(transport, &format!("https://localhost:{port}/p")).answer(&own);
        assert_eq!(host.requests.load(Ordering::Acquire), 1, "fetched once, and for nobody else");
        for (gateway, name) in [(&own, "127.0.0.1"), (&other, "localhost"), (&none, "localhost")] {
            let refused = Ask::new(transport, &format!("https://{name}:{port}/p")).refusal(gateway);
            assert_eq!(refused.verdict(), (424, "profile_unreachable"), "{name}");
            assert!(refused.content.contains("no trusted certificate"), "{refused:?}");
        }
    }
}

#[test]
fn files_of_certificates_that_hold_none_are_named_at_the_start() {
    for content in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let setup = Setup::new("[profiles]\nca_files = [\"root.pem\"]\n").file("root.pem", content);
        for command in ["serve", "check-config"] {
            let said = setup.run(command).expect_err("refused");
            assert!(said.contains("`profiles.ca_files`") && said.contains("root.pem"), "{said}");
            assert!(said.contains("no PEM certificates that can be read"), "{said}");
        }
    }
}
