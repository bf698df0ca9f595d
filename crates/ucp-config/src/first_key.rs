//! The API key that is made when a gateway is first started which others can reach, so that its operator can call it
//! before any platform is registered.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use ucp_trust::api_key::{ApiKey, KeyHash};

/// Name of the file in the data directory that holds the hash of the key. An empty one revokes it, and no other is made.
pub const FILE: &str = "first-api-key";

/// Returns the hash of the key, if one was made and not revoked. Fails with a message if the file cannot be read, or
/// holds something else.
pub(crate) fn read(directory: &Path) -> Result<Option<KeyHash>, String> {
    let path = directory.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => text.trim().parse().map(Some).map_err(|error| format!("{}: {error}", path.display())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// Makes the key and stores its hash; `None` if there has been one. Fails with an error if there is no randomness, or
/// the file cannot be written.
pub fn make(directory: &Path) -> io::Result<Option<ApiKey>> {
    let key = ApiKey::generate().map_err(io::Error::other)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(FILE)) {
        Ok(mut file) => {
            writeln!(file, "{}", key.hash())?;
            file.sync_all()?;
            Ok(Some(key))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}
