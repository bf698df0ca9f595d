//! The database that gateways share, with the files that it refers to.

use ucp_postgres::Options;

use super::{document::Document, sections::Data};

/// What the flags and the file amount to; `None` if everything is in the data directory.
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
