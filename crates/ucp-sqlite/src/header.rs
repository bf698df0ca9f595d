//! Check of the database file before SQLite opens it.
//!
//! SQLite looks for the first page in the write-ahead log before it looks into the file. With a log beside it, a file
//! that was overwritten is opened as if nothing had happened, and fails later at whichever page is asked for first; and
//! a file that was emptied or removed loses its log, because an empty database has none. Both are refused here, and the
//! files are left unchanged.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::StoreError;

/// Checks that `path` is a database, or that there is none yet. Fails with [`StoreError::NoDatabase`] if it is
/// something else. SQLite reports all other faults.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let refused = |what| Err(StoreError::NoDatabase { path: path.to_owned(), what });
    // In this order: a new file is a database before there is anything in its log.
    let [journal, log] = ["-journal", "-wal"].map(|suffix| beside(path, suffix));
    let (rolls_back, has_log) = (length(&journal) > 0, length(&log) > 0);
    let length = length(path);
    if length == 0 && has_log {
        return refused(format!("it must hold the database that {} belongs to", log.display()));
    }
    // A rollback journal is there while a new file becomes a database, and undoes what was written until then.
    if length == 0 || rolls_back {
        return Ok(());
    }
    match page_size(path) {
        Ok(page) if length < page => refused(format!("it must hold at least one page of {page} bytes")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            refused("it must begin with the header of one (`SQLite format 3`)".to_owned())
        }
        _ => Ok(()),
    }
}

/// Returns the page size in the header of the file, whatever is in the log. SQLite reads it itself: if the file were
/// opened and closed here, that would release the locks of every other connection of this process.
fn page_size(path: &Path) -> rusqlite::Result<u64> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(*byte)),
            // Writing to a text does not fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    // Neither locked nor written, and the log is not looked at.
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    // The page size alone would be given without a look at the file.
    connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0))?;
    connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0)).map(u64::from)
}

/// The file beside another one that has a longer name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Length of a file in bytes; zero if there is none.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}
