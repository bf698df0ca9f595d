//! A shop that lets nobody in without a certificate: the gateway shows its own.

use std::{fs, sync::Arc};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
    },
};

use super::host::{Authority, Issued};
use crate::{
    harness::{Ends as _, binary, folder},
    setup::Setup,
};

/// A shop behind the backend contract with one thing to sell, at the port that is returned.
async fn shop(own: &Issued, clients: &Authority) -> u16 {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).expect("PEM")).expect("a certificate");
    let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().expect("a verifier");
    let key = PrivateKeyDer::from_pem_slice(own.key_pem.as_bytes()).expect("a key");
    let config = ServerConfig::builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![own.certificate.clone()], key)
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client without a certificate is rejected.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut request = vec![0; 1 << 16];
                let read = stream.read(&mut request).await.unwrap_or_default();
                let body = answer(&request[..read]).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    port
}

fn answer(request: &[u8]) -> Value {
    if request.starts_with(b"GET /backend ") {
        return json!({ "contract": "1", "market": { "name": "Vases", "currency": "EUR", "language": "en" } });
    }
    json!({ "products": [{
        "id": "vase", "title": "Vase", "description": { "plain": "A vase." },
        "variants": [{ "id": "vase-1", "price": { "amount": 1_000, "currency": "EUR" } }],
    }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_is_shown_the_certificate_of_the_gateway() {
    let (authority, clients) =
        (Authority::new("The authority of the shop"), Authority::new("The authority of clients"));
    let port = shop(&authority.issue("localhost"), &clients).await;
    let (own, other) = (clients.issue("gateway"), clients.issue("other"));
    let keys = "client_certificate_file = \"own.crt\"\nclient_key_file = \"own.key\"\n";
    let setup = |more: &str, key: &Issued| {
        let upstream = format!("backend = \"http\"\nurl = \"https://localhost:{port}\"\n{more}");
        Setup::new(&format!("[profiles]\nca_files = [\"roots.pem\"]\n[upstream]\n{upstream}"))
            .file("roots.pem", &authority.pem())
            .file("own.crt", &own.certificate_pem)
            .file("own.key", &key.key_pem)
    };
    let search = json!({ "query": "vase" });
    tokio::task::block_in_place(|| {
        let shown = setup(keys, &own).start_on(folder());
        assert_eq!(shown.search(&search)["products"][0]["id"], "vase");
        let hidden = setup("", &own).start_on(folder());
        let refused = hidden.rest("search_catalog", &search);
        assert!(format!("{refused:?}").contains("unavailable"), "{refused:?}");
        // Files that are not what they should be are named.
        for (setup, problem) in [
            (setup(keys, &other), "must hold a certificate with its chain and its private key in PEM"),
            (
                setup(keys, &own).file("own.key", "nothing"),
                "must hold a certificate with its chain and its private key in PEM",
            ),
            (setup("client_key_file = \"own.key\"\n", &own), "this needs `upstream.client_certificate_file`"),
            (setup("client_certificate_file = \"own.crt\"\n", &own), "this needs `upstream.client_key_file`"),
            (setup(&keys.replace("own.key", "nosuch.key"), &own), "nosuch.key: "),
        ] {
            let said = setup.run("check-config").expect_err(problem);
            assert!(said.contains(problem) && said.contains("upstream.client_"), "{problem}: {said}");
        }
    });
}

#[test]
fn the_check_of_a_shop_takes_both_files_or_none() {
    let files = folder();
    let file = files.path().join("own.crt");
    fs::write(&file, "nothing").expect("written");
    let check = |more: &[&str]| {
        let mut command = binary();
        command.args(["backend", "check", "https://localhost:9", "--client-certificate-file"]).arg(&file).args(more);
        let output = command.ends();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert!(check(&[]).contains("--client-key-file"));
    let key = file.to_str().expect("a path");
    assert!(check(&["--client-key-file", key]).contains("must hold a certificate with its chain"));
}
