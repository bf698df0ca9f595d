//! The note that a gateway leaves in the directory of a shop whose sales are in a database, so that commands on the directory
//! find them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use ucp_config::Settings;

use crate::decisions::replace;

/// Name of the note in the directory of a shop.
const NAME: &str = "database.json";

/// Storage of a shop, as the gateway that served it last had it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Whereabouts {
    /// Database of the shop's sales: host and name, without password.
    pub database: String,
    /// Configuration file of the gateway, as an absolute path; `None` if it had flags alone.
    pub config: Option<PathBuf>,
}

impl Whereabouts {
    /// Reads the note in the directory of a shop; `None` if there is none.
    ///
    /// # Errors
    /// An [`io::Error`] if it cannot be read, or is no such note.
    pub fn read(dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(dir.join(NAME)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Leaves the note for a shop, or removes it if its sales are in the directory.
    pub(crate) fn note(settings: &Settings) -> io::Result<()> {
        let path = settings.dir().join(NAME);
        let Some(options) = &settings.database else {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let note = Self { database: options.place(), config: settings.process.config.clone() };
        replace(&path, &note)
    }
}
