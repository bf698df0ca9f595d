//! The number of the newest commit, in a small file beside the database: what the log has lost is missing from the database,
//! and not from here.
//!
//! A commit counts itself in the table `commits`. Once it is on disk, its number is written here, so that the file never
//! claims more than is durable. It is flushed once a second, not with each commit: when a process is killed it lacks nothing,
//! and when the power fails the commits of a second at most. Several processes write without a lock: each number has a place
//! of its own among the last ones, and the greatest counts.

use std::{
    fs, io,
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension as _, types::ValueRef};

use crate::{checksum, error::StoreError, header::beside};

/// Number of places in the file.
const PLACES: u64 = 16;

/// Size of a place, in bytes: the identity of the database, a number, a checksum of both.
const PLACE: usize = 32;

/// Maximum time for which a number is not flushed.
pub(crate) const UNFLUSHED: Duration = Duration::from_secs(1);

type Identity = [u8; 16];

/// The file beside a database.
#[derive(Debug)]
pub(crate) struct Witness {
    /// Nothing if it cannot be made.
    file: Option<fs::File>,
    identity: Identity,
    /// Time of the last flush, and whether anything was written since.
    flushed: Mutex<(Instant, bool)>,
    is_failing: AtomicBool,
}

fn path_of(database: &Path) -> PathBuf {
    beside(database, "-commits")
}

/// Checks that the database holds all commits that the file beside it tells of. A file that is not there or of another
/// database tells of none. Fails with [`StoreError::Lost`] if commits are missing.
pub(crate) fn check(connection: &Connection, database: &Path) -> Result<(), StoreError> {
    let open = |source| StoreError::Open { path: database.to_owned(), source };
    let told = fs::read(path_of(database)).unwrap_or_default();
    let has = |table| connection.table_exists(Some("main"), table).map_err(open);
    let counted = if has("commits")? { counted(connection).map_err(open)? } else { None };
    let what = match counted {
        Some((identity, number)) => {
            let newest = newest(&told, Some(&identity));
            if newest <= number {
                return Ok(());
            }
            format!("{} commits that were acknowledged are missing from it, the last of {newest}", newest - number)
        }
        // One of a version that counted none.
        None if has("products")? => return Ok(()),
        None => match newest(&told, None) {
            0 => return Ok(()),
            newest => format!("all {newest} commits that were acknowledged are missing from it"),
        },
    };
    Err(StoreError::Lost { path: database.to_owned(), what })
}

/// Removes the file beside a database.
pub(crate) fn forget(database: &Path) -> io::Result<()> {
    match fs::remove_file(path_of(database)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Counts the commit that the transaction of a connection is going to be, and returns its number.
pub(crate) fn count(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("UPDATE commits SET number = number + 1 RETURNING number")?
        .query_row((), |row| row.get::<_, i64>(0).map(i64::unsigned_abs))
}

/// Opens the file beside a database for its owner, as long as it will ever be.
fn make(database: &Path) -> io::Result<fs::File> {
    let path = path_of(database);
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.len() < PLACES * PLACE as u64 {
        file.set_len(PLACES * PLACE as u64)?;
        // Made by root, for whom it belongs to.
        let owner = fs::metadata(database)?;
        drop(fchown(&file, Some(owner.uid()), Some(owner.gid())));
    }
    Ok(file)
}

fn counted(connection: &Connection) -> rusqlite::Result<Option<(Identity, u64)>> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
    connection.query_row("SELECT identity, number FROM commits", (), read).optional()
}

/// Returns the greatest number that is told of a database, or of any.
fn newest(told: &[u8], identity: Option<&Identity>) -> u64 {
    let (places, _) = told.as_chunks::<PLACE>();
    let numbers = places.iter().filter_map(|place| {
        let (own, rest) = place.split_first_chunk::<16>()?;
        let number = u64::from_be_bytes(*rest.first_chunk::<8>()?);
        let is_told = identity.is_none_or(|identity| identity == own) && *place == encoded(own, number);
        is_told.then_some(number)
    });
    numbers.max().unwrap_or(0)
}

fn encoded(identity: &Identity, number: u64) -> [u8; PLACE] {
    let mut place = [0; PLACE];
    place[..16].copy_from_slice(identity);
    place[16..24].copy_from_slice(&number.to_be_bytes());
    let sum = checksum::sum(std::iter::once(ValueRef::Blob(&place[..24])));
    place[24..].copy_from_slice(&sum.to_be_bytes());
    place
}

impl Witness {
    /// Opens the file beside a database whose commits have been [checked](check), or makes it. Fails with
    /// [`StoreError`] if the database can be neither read nor written.
    pub(crate) fn open(connection: &Connection, database: &Path) -> Result<Self, StoreError> {
        let open = |source| StoreError::Open { path: database.to_owned(), source };
        let begin = "INSERT OR IGNORE INTO commits (only, identity, number) VALUES (1, randomblob(16), 0)";
        let mut found = counted(connection).map_err(open)?;
        if found.is_none() {
            connection.execute(begin, ()).map_err(open)?;
            found = counted(connection).map_err(open)?;
        }
        let (identity, number) = found.ok_or_else(|| open(rusqlite::Error::QueryReturnedNoRows))?;
        let witness =
            Self { file: None, identity, flushed: Mutex::new((Instant::now(), false)), is_failing: false.into() };
        let file = make(database);
        witness.note(file.as_ref().map(drop));
        let witness = Self { file: file.ok(), ..witness };
        witness.tell(number);
        Ok(witness)
    }

    /// Writes the number of a commit that is on disk.
    pub(crate) fn tell(&self, number: u64) {
        let place = (number % PLACES) * PLACE as u64;
        let Some(file) = &self.file else { return };
        self.note(file.write_all_at(&encoded(&self.identity, number), place).as_ref().map(drop));
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        flushed.1 = true;
        let is_due = flushed.0.elapsed() >= UNFLUSHED;
        drop(flushed);
        if is_due {
            self.flush();
        }
    }

    /// Returns `true` if the file was written since it was flushed.
    pub(crate) fn is_unflushed(&self) -> bool {
        self.flushed.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Flushes the file, if it was written.
    pub(crate) fn flush(&self) {
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut flushed.1)
            && let Some(file) = &self.file
        {
            self.note(file.sync_data().as_ref().map(drop));
        }
        flushed.0 = Instant::now();
    }

    /// Logs the first of several failures. No commit fails for it: that is on disk.
    fn note(&self, written: Result<(), &io::Error>) {
        let was_failing = self.is_failing.swap(written.is_err(), Ordering::Relaxed);
        if let Err(error) = written
            && !was_failing
        {
            tracing::error!(error = error as &dyn std::error::Error, "counting commits outside of the database failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_number_of_the_same_database_counts() {
        let (own, other) = ([1; 16], [2; 16]);
        assert_eq!((newest(&[], Some(&own)), newest(&[0; 512], None)), (0, 0));
        let mut told = [encoded(&own, 7), encoded(&own, 9), encoded(&other, 11), encoded(&own, 8)].concat();
        assert_eq!([Some(&own), Some(&other), None].map(|identity| newest(&told, identity)), [9, 11, 11]);
        told[PLACE + 20] ^= 1;
        assert_eq!(newest(&told, Some(&own)), 8, "a place that is damaged tells nothing");
    }
}
