//! Place of the database file. A file that was removed or replaced while it is open takes writes that nobody finds again.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// A file at its path.
#[derive(Clone, Debug)]
pub(crate) struct FilePlace {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl FilePlace {
    /// Returns the place of the file that is at a path. Fails with the error of the file system, also if there is none.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(path)? })
    }

    /// Returns `true` if the same file is there.
    pub(crate) fn holds(&self) -> bool {
        identity(&self.path).is_ok_and(|identity| identity == self.identity)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}
