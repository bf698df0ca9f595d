//! `healthcheck`: asks the gateway of a configuration whether it serves.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::Done;
use ucp_config::{Listener, ServeOptions, listener};

/// Maximum time of each step.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum length of the status line in bytes.
const MAX_LINE: u64 = 256;

pub(crate) fn run(options: &ServeOptions) -> Done {
    let Listener { address, tls, mount } = listener(options)?;
    let address = reached(address);
    let host = mount.hosts.first().map_or("localhost", String::as_str);
    let status = ask(address, tls, &request(host, &mount.path))
        .map_err(|error| format!("the gateway at {address} does not answer: {error}"))?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(ExitCode::SUCCESS),
        _ => Err(format!("the gateway at {address} does not serve: {}", status.trim_end()).into()),
    }
}

/// Returns the address under which a listener is reached from this machine.
fn reached(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Asks for the profile, which every gateway that serves has, and returns the status line of the answer.
fn ask(address: SocketAddr, tls: bool, request: &str) -> io::Result<String> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if !tls {
        return ask_over(stream, request);
    }
    let provider = aws_lc_rs::default_provider();
    let any = AnyCertificate(provider.signature_verification_algorithms);
    let config = ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(Arc::new(any));
    let name = ServerName::IpAddress(address.ip().into());
    let session = ClientConnection::new(Arc::new(config.with_no_client_auth()), name).map_err(io::Error::other)?;
    ask_over(StreamOwned::new(session, stream), request)
}

/// Returns the request for the profile of a shop.
fn request(host: &str, path: &str) -> String {
    format!("GET {path}/.well-known/ucp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

fn ask_over(mut stream: impl Read + Write, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_LINE).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// Takes any certificate: nothing secret is said, the address is one of this machine, and the certificate is for the name
/// under which others reach it.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
