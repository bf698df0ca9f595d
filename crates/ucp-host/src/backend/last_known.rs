//! Last statement of a remote shop about itself, kept in the data directory: the gateway starts with it while the shop is
//! down.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use ucp_config::{BackendKind, Upstream};

use crate::decisions::replace;

/// File in the data directory.
const FILE: &str = "upstream.json";

/// Content of the file.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Kept {
    backend: BackendKind,
    /// Address of the shop.
    address: String,
    /// The statement, in the form of the backend.
    document: String,
}

/// The last statement of one shop.
#[derive(Debug)]
pub(super) struct LastKnown {
    file: PathBuf,
    backend: BackendKind,
    address: String,
}

impl LastKnown {
    pub(super) fn new(directory: &Path, backend: BackendKind, upstream: &Upstream) -> Self {
        Self { file: directory.join(FILE), backend, address: upstream.url.to_string() }
    }

    /// Reads the last statement; `None` if there is none of this shop.
    pub(super) fn read(&self) -> Option<Bytes> {
        let kept: Kept = serde_json::from_slice(&fs::read(&self.file).ok()?).ok()?;
        (kept.backend == self.backend && kept.address == self.address).then(|| kept.document.into())
    }

    /// Keeps a statement, unless it is the last one already. A failure is logged: without the file only a start while
    /// the shop is down differs.
    pub(super) fn keep(&self, document: &Bytes) {
        if self.read().as_ref() == Some(document) {
            return;
        }
        if let Err(error) = self.write(document) {
            tracing::warn!(%error, file = %self.file.display(), "saving the upstream description failed");
        }
    }

    /// Replaces the file as a whole.
    fn write(&self, document: &[u8]) -> io::Result<()> {
        let document = String::from_utf8_lossy(document).into_owned();
        let kept = Kept { backend: self.backend, address: self.address.clone(), document };
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        replace(&self.file, &kept)
    }
}
