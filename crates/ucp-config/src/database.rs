//! The database that gateways share, with the files that it refers to.

use std::{fs, io, path::Path};

use ucp_postgres::Options;

use super::{DatabaseOptions, document::Document, sections::Data};

impl DatabaseOptions {
    /// Returns the database; `None` if everything is in the data directory. Fails with a message if a file cannot be
    /// read, or the address or a certificate is malformed.
    pub fn options(&self) -> Result<Option<Options>, String> {
        let address = match (&self.database, &self.database_file) {
            (Some(address), _) => address.reveal().to_owned(),
            (None, Some(path)) => fs::read_to_string(path).map_err(|error| unreadable(path, &error))?,
            (None, None) => return Ok(None),
        };
        database_at(&address, self.database_ca_file.as_deref()).map(Some)
    }
}

/// Returns the database at an address, with the authorities in a file that may certify it beside those of the system.
/// Fails with a message if the file cannot be read, or the address or a certificate is malformed.
pub fn database_at(address: &str, ca_file: Option<&Path>) -> Result<Options, String> {
    let mut options: Options =
        address.trim().parse().map_err(|problem| format!("the address of the database {problem}"))?;
    if let Some(path) = ca_file {
        let pem = fs::read(path).map_err(|error| unreadable(path, &error))?;
        options.trust(&pem).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(options)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// Resolves the options of the database from the flags and the file; returns `None` if everything is in the data
/// directory.
pub(super) fn resolve(said: &mut Data, document: &mut Document<'_>) -> Option<Options> {
    if said.database.is_some() && said.database_file.is_some() {
        document.add("data.database_file", "either this or `database`, not both");
        return None;
    }
    let (key, address) = match (&said.database, &said.database_file) {
        (Some(address), _) => ("data.database", address.reveal().to_owned()),
        (None, Some(_)) => {
            let secret = document.secret("data.database", said.database_file.as_deref(), None)?;
            ("data.database_file", secret.reveal().to_owned())
        }
        (None, None) => return None,
    };
    let mut options: Options = match address.parse() {
        Ok(options) => options,
        Err(problem) => {
            document.add(key, problem);
            return None;
        }
    };
    options.connections = said.database_connections.count();
    options.statement_timeout = said.database_timeout_ms.time();
    options.named = said.database_prepares;
    if let Some(path) = &said.database_ca_file {
        let trusted = document
            .bytes(path)
            .and_then(|pem| options.trust(&pem).map_err(|error| format!("{}: {error}", path.display())));
        if let Err(problem) = trusted {
            document.add("data.database_ca_file", problem);
        }
    }
    said.database_place = Some(options.place());
    Some(options)
}
