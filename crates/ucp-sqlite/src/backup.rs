//! Copies of a database file: made while gateways serve, checked, and put back.
//!
//! A copy is one file without a log beside it, as SQLite's `VACUUM INTO` writes it: a snapshot of one moment, without the
//! pages that nothing uses. It holds what buyers said and the secret of the cursors, so that only its owner can read it.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use crate::{error::BackupError, header::beside};

/// Maximum number of faults that a check reports.
pub(crate) const FAULTS: u32 = 100;

/// Copies a database before its schema is changed, beside it, and returns the name of the copy. One that was made since the database
/// was written last, by an attempt that was broken off, is as good.
pub(crate) fn before_migration(connection: &Connection, path: &Path, version: i64) -> Result<PathBuf, BackupError> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let written = modified(path).max(modified(&beside(path, "-wal")));
    let mut to = beside(path, &format!(".version-{version}"));
    for number in 2.. {
        match copy(connection, &to, |_| Ok(())) {
            Err(BackupError::Exists(_)) if modified(&to) <= written => {
                to = beside(path, &format!(".version-{version}.{number}"));
            }
            Err(BackupError::Exists(_)) => return Ok(to),
            copied => return copied.map(|_| to),
        }
    }
    Err(BackupError::Exists(to))
}

/// Copies the log of a database beside it, and returns the name of the copy; `None` if there is nothing in the log.
pub(crate) fn keep_log(path: &Path) -> io::Result<Option<PathBuf>> {
    let log = beside(path, "-wal");
    if fs::metadata(&log).map_or(true, |log| log.len() == 0) {
        return Ok(None);
    }
    let names = (1..).map(|number| beside(path, &format!("-wal.damaged-{number}")));
    for to in names {
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let mut copy = opened?;
                io::copy(&mut File::open(&log)?, &mut copy)?;
                copy.sync_all()?;
                return Ok(Some(to));
            }
        }
    }
    Ok(None)
}

/// Writes a copy under another name, changes it, and gives it its own name once it is on disk.
pub(crate) fn copy(
    connection: &Connection,
    to: &Path,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<u64, BackupError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::File { path, source }
    };
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let partial = beside(to, &format!(".{}.partial", std::process::id()));
    // SQLite fills a file that is empty: nobody else can read what it writes at any time.
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial).map_err(file(&partial))?;
    let written = fill(connection, &partial, to, change);
    let removed = fs::remove_file(&partial);
    let bytes = written?;
    removed.map_err(file(&partial))?;
    Ok(bytes)
}

/// Writes a copy to the empty file `partial`, and links it to `to` unless there is such a file.
fn fill(
    connection: &Connection,
    partial: &Path,
    to: &Path,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<u64, BackupError> {
    let file = |source| BackupError::File { path: to.to_owned(), source };
    let name = partial.to_str().ok_or_else(|| file(io::Error::other("the name must be UTF-8")))?;
    connection
        .execute("VACUUM INTO ?", [name])
        .and_then(|_| change(&Connection::open(partial)?))
        .map_err(|source| BackupError::Copy { path: to.to_owned(), source })?;
    let written = File::open(partial).map_err(file)?;
    written.sync_all().map_err(file)?;
    fs::hard_link(partial, to).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
        _ => file(source),
    })?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(file)?;
    Ok(written.metadata().map_err(file)?.len())
}

/// Returns what SQLite finds wrong with pages, indexes and references.
pub(crate) fn damage(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({FAULTS})"))?;
    for found in check.query_map((), |row| row.get::<_, String>(0))? {
        let found = found?;
        if found != "ok" {
            faults.push(found);
        }
    }
    let mut check = connection.prepare("PRAGMA foreign_key_check")?;
    let dangling = check.query_map((), |row| {
        let (table, other) = (row.get::<_, String>(0)?, row.get::<_, String>(2)?);
        Ok(format!("a row of `{table}` refers to one of `{other}` that does not exist"))
    })?;
    for found in dangling.take(FAULTS as usize) {
        faults.push(found?);
    }
    Ok(faults)
}

/// Returns documents that cannot be read or contradict themselves, and documents without those that they need.
pub(crate) fn contradictions(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut faults = Vec::new();
    let adds_up = |table| {
        format!(
            "SELECT id FROM {table} WHERE (SELECT sum(iif(json_extract(value, '$.kind') = 'total', -1, 1) \
             * json_extract(value, '$.amount')) FROM json_each(CASE WHEN json_valid(document) THEN document END, '$.totals') WHERE type = 'object') <> 0"
        )
    };
    for (sql, fault) in [
        ("SELECT id FROM products WHERE NOT json_valid(document)", "product `{}`: its document is not JSON"),
        ("SELECT id FROM carts WHERE NOT json_valid(document)", "cart `{}`: its document is not JSON"),
        ("SELECT id FROM checkouts WHERE NOT json_valid(document)", "checkout `{}`: its document is not JSON"),
        ("SELECT id FROM orders WHERE NOT json_valid(document)", "order `{}`: its document is not JSON"),
        (
            // A line about the answer, and the answer.
            "SELECT key FROM kept WHERE NOT json_valid(substr(answer, 1, instr(answer, char(10)) - 1)) \
             OR NOT json_valid(substr(answer, instr(answer, char(10)) + 1))",
            "the answer under the idempotency key `{}` is not JSON",
        ),
        (
            "SELECT key FROM kept JOIN checkouts ON checkouts.shop = kept.shop AND checkouts.id = kept.resource \
             WHERE operation = 'complete_checkout' AND checkouts.status <> 'completed' \
             AND answer GLOB '*\"status\":\"completed\"*'",
            "the answer under the idempotency key `{}` says that a checkout is completed, which is not",
        ),
        (
            "SELECT id FROM checkouts WHERE status = 'completed' AND NOT EXISTS \
             (SELECT * FROM orders WHERE orders.shop = checkouts.shop AND orders.checkout_id = checkouts.id)",
            "checkout `{}` is completed and has no order",
        ),
        (&adds_up("carts"), "cart `{}`: its totals do not add up"),
        (&adds_up("checkouts"), "checkout `{}`: its totals do not add up"),
        (&adds_up("orders"), "order `{}`: its totals do not add up"),
    ] {
        let mut check = connection.prepare(sql)?;
        for id in check.query_map((), |row| row.get::<_, String>(0))?.take(FAULTS as usize) {
            faults.push(fault.replace("{}", &id?));
        }
    }
    Ok(faults)
}
