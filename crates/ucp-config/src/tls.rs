//! The files that TLS of the listener needs.

use std::path::Path;

use ucp_listener::{TlsFile, TlsFiles, TlsSettings};

use super::{choice::TlsVersion, document::Document, sections::Server};

const CERTIFICATE: &str = "server.tls_certificate_file";
const KEY: &str = "server.tls_key_file";
const CLIENT_CA: &str = "server.tls_client_ca_file";

/// Reads the files that the configuration names; returns `None` if it names none.
pub(super) fn resolve(said: &Server, document: &mut Document<'_>) -> Option<TlsSettings> {
    let path = |path: &Option<super::value::FilePath>| path.as_deref().map(Path::to_owned);
    let client_ca = path(&said.tls_client_ca_file);
    let (certificate, key) = match (path(&said.tls_certificate_file), path(&said.tls_key_file)) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return document.none(CERTIFICATE, format_args!("this needs `{KEY}`")),
        (None, Some(_)) => return document.none(KEY, format_args!("this needs `{CERTIFICATE}`")),
        (None, None) if client_ca.is_some() => {
            return document.none(CLIENT_CA, format_args!("this needs `{CERTIFICATE}` and `{KEY}`"));
        }
        (None, None) => return None,
    };
    let takes_1_2 = said.tls_min_version == TlsVersion::V1_2;
    match (TlsFiles { certificate, key, client_ca, takes_1_2 }).open() {
        Ok(tls) => Some(tls),
        Err(error) => {
            let key = match error.file {
                TlsFile::Certificate => CERTIFICATE,
                TlsFile::Key => KEY,
                TlsFile::ClientCa => CLIENT_CA,
            };
            document.none(key, &error)
        }
    }
}
