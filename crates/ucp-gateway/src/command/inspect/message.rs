//! Options that `sign` and `verify` share: the HTTP message in a file, its scheme, and the time.

use std::{
    fs,
    io::Read as _,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Args, ValueEnum};
use ucp_host::clock::now;
use ucp_trust::signature::{Scheme, SigningKey};

#[derive(Debug, Args)]
pub(crate) struct SchemeOption {
    /// Scheme of a request that does not state it. The default port of the scheme is not signed.
    #[arg(long, default_value = "https", value_name = "SCHEME")]
    scheme: SchemeName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemeName {
    /// With TLS.
    Https,
    /// Without TLS.
    Http,
}

impl SchemeOption {
    pub(super) fn get(&self) -> Scheme {
        match self.scheme {
            SchemeName::Https => Scheme::Https,
            SchemeName::Http => Scheme::Http,
        }
    }
}

/// Reads a message from a file, or from standard input if `file` is `-`.
pub(super) fn read_message(file: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().read_to_end(&mut bytes),
        _ => fs::File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map(|_| bytes).map_err(|error| format!("{} cannot be read: {error}", file.display()))
}

/// Reads a private key from a JWK file.
pub(super) fn signing_key(file: &Path) -> Result<SigningKey, String> {
    let text = fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    // The parser's error is dropped because it may quote the file, which holds a private key.
    let jwk = serde_json::from_slice(&text).map_err(|_| format!("{} is not JSON", file.display()))?;
    SigningKey::from_jwk(&jwk).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the time `seconds` after the Unix epoch, or the current time if it is `None`.
pub(super) fn time(seconds: Option<u32>) -> SystemTime {
    seconds.map_or_else(now, |seconds| UNIX_EPOCH + Duration::from_secs(seconds.into()))
}
