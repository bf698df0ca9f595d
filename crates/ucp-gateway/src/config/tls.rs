//! The certificate of the listener and the authorities of its clients, with the files that they are read from.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::rustls::{
    self, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};

use super::{document::Document, sections::Server};

/// Names of the protocols above TLS (RFC 7301), the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

const CERTIFICATE: &str = "server.tls_certificate_file";
const KEY: &str = "server.tls_key_file";
const CLIENT_CA: &str = "server.tls_client_ca_file";

/// TLS of the listener.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) files: TlsFiles,
    /// Content of the files.
    pub(crate) content: TlsContent,
    /// Configuration made of that.
    pub(crate) config: Arc<ServerConfig>,
}

/// Paths of the files that TLS needs.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    key: PathBuf,
    /// Authorities of client certificates; `None` if no client is asked for one.
    client_ca: Option<PathBuf>,
}

/// Content of the files that TLS needs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsContent {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// It holds a private key.
impl fmt::Debug for TlsContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsContent(..)")
    }
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct TlsFileError {
    /// Configuration key that names the file.
    key: &'static str,
    path: PathBuf,
    problem: String,
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsFileError`] if one of them cannot be read.
    pub(crate) fn read(&self) -> Result<TlsContent, TlsFileError> {
        let read = |key, path: &Path| {
            fs::read(path).map_err(|error| wrong(key, path, format_args!("cannot be read: {error}")))
        };
        Ok(TlsContent {
            certificate: read(CERTIFICATE, &self.certificate)?,
            key: read(KEY, &self.key)?,
            client_ca: self.client_ca.as_deref().map(|path| read(CLIENT_CA, path)).transpose()?,
        })
    }

    /// Makes the configuration of a server from what the files hold.
    ///
    /// # Errors
    /// [`TlsFileError`] if one of them does not hold what it should, or the key is not that of the certificate.
    pub(crate) fn config(&self, content: &TlsContent) -> Result<Arc<ServerConfig>, TlsFileError> {
        let chain = certificates(CERTIFICATE, &self.certificate, &content.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&content.key).map_err(|_| {
            wrong(KEY, &self.key, "must hold a private key in PEM (PKCS #8, PKCS #1 or SEC1) that is not encrypted")
        })?;
        let builder = ServerConfig::builder();
        let builder = match (&self.client_ca, &content.client_ca) {
            (Some(path), Some(content)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(CLIENT_CA, path, content)? {
                    roots.add(authority).map_err(|error| wrong(CLIENT_CA, path, unusable(&error)))?;
                }
                let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(|error| wrong(CLIENT_CA, path, error))?)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => wrong(
                KEY,
                &self.key,
                format_args!("is not the key of the certificate in {}", self.certificate.display()),
            ),
            rustls::Error::InvalidCertificate(_) => wrong(CERTIFICATE, &self.certificate, unusable(&error)),
            error => wrong(KEY, &self.key, format_args!("holds a key that cannot be used: {error}")),
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
fn certificates(key: &'static str, path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsFileError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates =
        certificates.map_err(|error| wrong(key, path, format_args!("is not well-formed PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(wrong(key, path, "must hold a certificate in PEM (`-----BEGIN CERTIFICATE-----`)"));
    }
    Ok(certificates)
}

fn unusable(error: &rustls::Error) -> impl fmt::Display {
    format!("holds a certificate that cannot be used: {error}")
}

fn wrong(key: &'static str, path: &Path, problem: impl fmt::Display) -> TlsFileError {
    TlsFileError { key, path: path.to_owned(), problem: problem.to_string() }
}

/// Reads the files that the configuration names; returns `None` if it names none.
pub(super) fn resolve(said: &Server, document: &mut Document<'_>) -> Option<Tls> {
    let path = |path: &Option<super::value::FilePath>| path.as_deref().map(Path::to_owned);
    let client_ca = path(&said.tls_client_ca_file);
    let (certificate, key) = match (path(&said.tls_certificate_file), path(&said.tls_key_file)) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            document.add(CERTIFICATE, format_args!("this needs `{KEY}`"));
            return None;
        }
        (None, Some(_)) => {
            document.add(KEY, format_args!("this needs `{CERTIFICATE}`"));
            return None;
        }
        (None, None) => {
            if client_ca.is_some() {
                document.add(CLIENT_CA, format_args!("this needs `{CERTIFICATE}` and `{KEY}`"));
            }
            return None;
        }
    };
    let files = TlsFiles { certificate, key, client_ca };
    let read = files.read().and_then(|content| Ok((files.config(&content)?, content)));
    match read {
        Ok((config, content)) => Some(Tls { files, content, config }),
        Err(error) => {
            document.add(error.key, &error);
            None
        }
    }
}
