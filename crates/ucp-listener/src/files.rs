//! The certificate of a listener and the authorities of its clients, with the files that they are read from.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use tokio_rustls::rustls::{
    self, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::TLS13,
};

use crate::expiry::expiry;

/// Names of the protocols above TLS (RFC 7301), the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// TLS of a listener, as the files have it.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Paths of the files.
    pub files: TlsFiles,
    pub(crate) content: TlsContent,
    pub(crate) config: Arc<ServerConfig>,
}

/// A file that TLS needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// The certificate of the listener, with those between it and its authority.
    Certificate,
    /// The private key of that.
    Key,
    /// The authorities of client certificates.
    ClientCa,
}

/// Paths of the files that TLS needs, and what is spoken with them.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Certificate of the listener.
    pub certificate: PathBuf,
    /// Private key of that.
    pub key: PathBuf,
    /// Authorities of client certificates; `None` if no client is asked for one.
    pub client_ca: Option<PathBuf>,
    /// `true` if TLS 1.2 is spoken beside TLS 1.3.
    pub takes_1_2: bool,
}

/// Ends of certificates, each with what the certificate is for.
pub type Expiries = Vec<(&'static str, Timestamp)>;

/// Content of the files that TLS needs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsContent {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}
// It holds a private key.
ucp_core::opaque!(TlsContent);

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct TlsFileError {
    /// Kind of the file.
    pub file: TlsFile,
    path: PathBuf,
    problem: String,
}

impl TlsContent {
    /// Returns when what is served with this ends, by the name of the file.
    pub(crate) fn expiries(&self) -> Expiries {
        let authorities = self.client_ca.as_deref().and_then(expiry);
        let named = [("server", expiry(&self.certificate)), ("client_authorities", authorities)];
        named.into_iter().filter_map(|(name, end)| Some((name, end?))).collect()
    }
}

impl TlsFiles {
    /// Reads the files, and makes the configuration of a server from them. Fails with [`TlsFileError`] if one of them
    /// cannot be read or does not hold what it should.
    pub fn open(self) -> Result<TlsSettings, TlsFileError> {
        let content = self.read()?;
        let config = self.config(&content)?;
        Ok(TlsSettings { files: self, content, config })
    }

    /// Reads the files. Fails with [`TlsFileError`] if one of them cannot be read.
    pub(crate) fn read(&self) -> Result<TlsContent, TlsFileError> {
        let read = |file, path: &Path| {
            fs::read(path).map_err(|error| wrong(file, path, format_args!("cannot be read: {error}")))
        };
        Ok(TlsContent {
            certificate: read(TlsFile::Certificate, &self.certificate)?,
            key: read(TlsFile::Key, &self.key)?,
            client_ca: self.client_ca.as_deref().map(|path| read(TlsFile::ClientCa, path)).transpose()?,
        })
    }

    /// Makes the configuration of a server from what the files hold. Fails with [`TlsFileError`] if one of them does
    /// not hold what it should, or the key is not that of the certificate.
    pub(crate) fn config(&self, content: &TlsContent) -> Result<Arc<ServerConfig>, TlsFileError> {
        let chain = certificates(TlsFile::Certificate, &self.certificate, &content.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&content.key).map_err(|_| {
            wrong(
                TlsFile::Key,
                &self.key,
                "must hold a private key in PEM (PKCS #8, PKCS #1 or SEC1) that is not encrypted",
            )
        })?;
        let versions = if self.takes_1_2 { rustls::ALL_VERSIONS } else { &[&TLS13] };
        let builder = ServerConfig::builder_with_protocol_versions(versions);
        let builder = match (&self.client_ca, &content.client_ca) {
            (Some(path), Some(content)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(TlsFile::ClientCa, path, content)? {
                    roots.add(authority).map_err(|error| wrong(TlsFile::ClientCa, path, unusable(&error)))?;
                }
                let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(|error| wrong(TlsFile::ClientCa, path, error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => wrong(
                TlsFile::Key,
                &self.key,
                format_args!("is not the key of the certificate in {}", self.certificate.display()),
            ),
            rustls::Error::InvalidCertificate(_) => wrong(TlsFile::Certificate, &self.certificate, unusable(&error)),
            error => wrong(TlsFile::Key, &self.key, format_args!("holds a key that cannot be used: {error}")),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        // A resumed session would keep the identity of a certificate that has expired meanwhile.
        if self.client_ca.is_some() {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Arc::new(config))
    }
}

/// Returns the certificates in a PEM file.
fn certificates(file: TlsFile, path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates =
        certificates.map_err(|error| wrong(file, path, format_args!("is not well-formed PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(wrong(file, path, "must hold a certificate in PEM (`-----BEGIN CERTIFICATE-----`)"));
    }
    Ok(certificates)
}

fn unusable(error: &rustls::Error) -> impl fmt::Display {
    format!("holds a certificate that cannot be used: {error}")
}

fn wrong(file: TlsFile, path: &Path, problem: impl fmt::Display) -> TlsFileError {
    TlsFileError { file, path: path.to_owned(), problem: problem.to_string() }
}
