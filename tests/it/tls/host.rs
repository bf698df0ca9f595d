//! Authorities that issue certificates, and clients that trust them.

use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use h2::client::SendRequest;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName},
    },
};
use ucp_testkit::wait::{PATIENCE, within};

use crate::harness::{Gateway, REST_HEADERS};

/// Issuer of certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

/// A certificate with its key.
pub(crate) struct Issued {
    pub(crate) certificate: CertificateDer<'static>,
    key: Vec<u8>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// A certificate for a name, and for 127.0.0.1.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        let mut params = CertificateParams::new([name.to_owned(), "127.0.0.1".to_owned()]).expect("names");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").der().clone();
        let key = key.serialize_der();
        let (certificate_pem, key_pem) = (pem("CERTIFICATE", &certificate), pem("PRIVATE KEY", &key));
        Issued { certificate, key, certificate_pem, key_pem }
    }

    /// The configuration of a client that trusts the authority, speaks these protocols and shows this certificate.
    pub(crate) fn config(&self, protocols: &[&str], shown: Option<&Issued>) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate");
        let builder = ClientConfig::builder().with_root_certificates(roots);
        let mut config = match shown {
            Some(Issued { certificate, key, .. }) => builder
                .with_client_auth_cert(vec![certificate.clone()], PrivatePkcs8KeyDer::from(key.clone()).into())
                .expect("a certificate"),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    /// A client of HTTP/1.1 that trusts the authority and shows this certificate.
    pub(crate) fn client(&self, shown: Option<&Issued>) -> reqwest::Client {
        let root = reqwest::Certificate::from_der(&self.certificate).expect("a certificate");
        let mut builder = reqwest::Client::builder().tls_certs_only([root]).timeout(PATIENCE);
        if let Some(shown) = shown {
            let both = [&*shown.certificate_pem, &*shown.key_pem].concat();
            builder = builder.identity(reqwest::Identity::from_pem(both.as_bytes()).expect("an identity"));
        }
        builder.build().expect("a client")
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Opens a connection.
pub(super) async fn connect(gateway: &Gateway, config: Arc<ClientConfig>) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(gateway.address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    within("a handshake", PATIENCE, TlsConnector::from(config).connect(name, stream)).await
}

/// A connection of HTTP/2.
pub(super) struct Http2 {
    requests: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Http2 {
    pub(super) async fn open(gateway: &Gateway, config: Arc<ClientConfig>) -> Self {
        Self::begin(gateway, config, &h2::client::Builder::new()).await.expect("a connection")
    }

    /// Opens one with settings of its own.
    pub(super) async fn begin(
        gateway: &Gateway,
        config: Arc<ClientConfig>,
        settings: &h2::client::Builder,
    ) -> Result<Self, h2::Error> {
        let stream = connect(gateway, config).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (requests, connection) = settings.handshake(stream).await?;
        Ok(Self { requests, connection: tokio::spawn(connection) })
    }

    /// Sender of requests.
    pub(super) fn requests(&self) -> SendRequest<Bytes> {
        self.requests.clone()
    }

    /// Sends a well-formed call.
    pub(super) async fn post(&self, path: &str, body: &str) -> (u16, Value) {
        self.send("POST", path, &[], body).await
    }

    pub(super) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
        self.send_to("localhost", method, path, headers, body).await
    }

    /// Sends a request to a host, with the headers of a well-formed call where it has none of the same name.
    pub(super) async fn send_to(
        &self,
        authority: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, Value) {
        let mut request = http::Request::builder().method(method).uri(format!("https://{authority}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in REST_HEADERS {
            if !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                request = request.header(*name, *value);
            }
        }
        let answer = self.exchange(request.body(body.to_owned().into()).expect("a request")).await;
        (answer.status().as_u16(), serde_json::from_slice(answer.body()).expect("JSON"))
    }

    /// Sends a request as it is, and returns the answer.
    pub(super) async fn exchange(&self, request: http::Request<Bytes>) -> http::Response<Vec<u8>> {
        let (head, body) = request.into_parts();
        let mut requests = within("a place for a request", PATIENCE, self.requests().ready()).await.expect("a place");
        let request = http::Request::from_parts(head, ());
        let (answer, mut sending) = requests.send_request(request, body.is_empty()).expect("it is sent");
        if !body.is_empty() {
            sending.send_data(body, true).expect("it is sent");
        }
        let (head, mut body) = within("an answer", PATIENCE, answer).await.expect("an answer").into_parts();
        let mut bytes = Vec::new();
        while let Some(chunk) = within("the body", PATIENCE, body.data()).await {
            let chunk = chunk.expect("the body");
            body.flow_control().release_capacity(chunk.len()).expect("room");
            bytes.extend_from_slice(&chunk);
        }
        http::Response::from_parts(head, bytes)
    }

    /// Waits until the gateway says that the client can go. A goodbye of the client may come too late: the gateway does
    /// not wait for it.
    pub(super) async fn dismissed(self) {
        let ended = self.ended().await;
        let is_late = |error: &h2::Error| {
            let kind = error.get_io().map(std::io::Error::kind);
            matches!(kind, Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset))
        };
        assert!(ended.as_ref().map_or_else(is_late, |()| true), "an idle client is told that it can go: {ended:?}");
    }

    /// End of the connection.
    pub(super) async fn ended(self) -> Result<(), h2::Error> {
        let Self { requests, connection } = self;
        let ended = within("the end of the connection", PATIENCE, connection).await.expect("no panic");
        drop(requests);
        ended
    }
}
