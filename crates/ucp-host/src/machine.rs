//! The gateways that use a data directory: all of them on one machine, and none while the shop is copied.
//!
//! Any number of gateways share a directory on one machine, because SQLite's locks and its shared memory hold there. Over a
//! network they do not. So whoever serves from a directory writes in it on which machine it runs, again and again, and a
//! gateway on another machine that sees that happen does not start. The file that it writes is locked too: by gateways together,
//! by a copy alone.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{sync::Mutex, task::JoinHandle};

use crate::clock;

/// Name of the file in the data directory.
const FILE: &str = "machine";

/// Interval at which it is written.
const BEAT: Duration = Duration::from_secs(4);

/// Time within which a gateway that runs has written it.
pub const WATCHED: Duration = Duration::from_secs(10);

/// Age from which on nobody has written it for a long time, whatever the clocks of two machines say.
const OLD: Duration = Duration::from_secs(600);

/// A data directory that others use.
#[derive(Debug, thiserror::Error)]
pub enum InUse {
    /// Gateways on another machine serve from it.
    #[error(
        "a gateway on another machine uses {}: SQLite's locks do not hold over a network. Let gateways on several machines share a \
         PostgreSQL database instead (--database)",
        .0.display()
    )]
    Elsewhere(PathBuf),
    /// A copy reads or writes it.
    #[error("`ucp-gateway data copy` is running on {}: start the gateway when that has ended", .0.display())]
    Copied(PathBuf),
    /// Somebody serves from it, who wants it alone.
    #[error("a gateway is running on {}, or another copy: stop it first", .0.display())]
    Served(PathBuf),
    /// Nobody can tell.
    #[error("cannot see whether a gateway is running on {}: its file `machine` cannot be locked", path.display())]
    Unseen {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The data directories that this process uses.
#[derive(Debug, Default)]
pub struct Claims(Mutex<BTreeMap<PathBuf, Claim>>);

/// How a data directory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// By this process and other gateways.
    Shared,
    /// By this process alone.
    Alone,
}

/// A directory that is used for as long as this is kept.
#[derive(Debug)]
struct Claim {
    _lock: Option<File>,
    beat: Option<JoinHandle<()>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.beat.iter().for_each(JoinHandle::abort);
    }
}

impl Claims {
    /// Notes that this process serves from these directories for as long as it runs. Fails with [`InUse`] if gateways on
    /// another machine use one of them, or a copy does.
    pub async fn add<'a>(&self, directories: impl IntoIterator<Item = &'a Path>) -> Result<(), InUse> {
        for directory in directories {
            self.claim(directory, Use::Shared).await?;
        }
        Ok(())
    }

    /// Keeps a directory from gateways for as long as the process runs. Fails with [`InUse`] if one uses it.
    pub async fn alone(&self, directory: &Path) -> Result<(), InUse> {
        self.claim(directory, Use::Alone).await
    }

    async fn claim(&self, directory: &Path, how: Use) -> Result<(), InUse> {
        let mut claimed = self.0.lock().await;
        if !claimed.contains_key(directory) {
            claimed.insert(directory.to_owned(), claim(directory, how).await?);
        }
        Ok(())
    }
}

/// Notes that this process uses a data directory, and keeps doing so until the claim is dropped.
async fn claim(data_dir: &Path, how: Use) -> Result<Claim, InUse> {
    let file = data_dir.join(FILE);
    let lock = lock(data_dir, &file, how)?;
    // All containers of a machine have the same; it changes with every boot.
    let own = match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(own) => own,
        Err(error) => {
            tracing::warn!(
                %error,
                data_dir = %data_dir.display(),
                "cannot tell this machine from others: a gateway on another machine that uses the data directory goes unnoticed"
            );
            return Ok(Claim { _lock: lock, beat: None });
        }
    };
    if is_elsewhere(&file, &own) && is_written(&file).await {
        return Err(InUse::Elsewhere(data_dir.to_owned()));
    }
    // What keeps the directory from being written is told by whoever opens it next.
    if fs::write(&file, &own).is_err() {
        return Ok(Claim { _lock: lock, beat: None });
    }
    let beat = tokio::spawn(async move {
        // A state is logged when it begins, not at every beat.
        let (mut was_elsewhere, mut was_written) = (false, true);
        loop {
            tokio::time::sleep(BEAT).await;
            let is_elsewhere = is_elsewhere(&file, &own);
            if is_elsewhere && !was_elsewhere {
                tracing::error!("another machine is using the data directory: stop one of the two gateways");
            }
            let written = fs::write(&file, &own);
            match &written {
                Err(error) if was_written => {
                    tracing::warn!(%error, "marking the data directory as in use failed");
                }
                Ok(()) if !was_written => tracing::info!("data directory marked as in use again"),
                _ => {}
            }
            (was_elsewhere, was_written) = (is_elsewhere, written.is_ok());
        }
    });
    Ok(Claim { _lock: lock, beat: Some(beat) })
}

/// Locks the file in a directory; `None` if the directory cannot be written, or its file system has no locks.
fn lock(data_dir: &Path, file: &Path, how: Use) -> Result<Option<File>, InUse> {
    let made = fs::create_dir_all(data_dir);
    let opened = made.and_then(|()| File::options().write(true).create(true).truncate(false).open(file));
    let Ok(opened) = opened else { return Ok(None) };
    let locked = match how {
        Use::Shared => opened.try_lock_shared(),
        Use::Alone => opened.try_lock(),
    };
    let path = data_dir.to_owned();
    match (locked, how) {
        (Ok(()), _) => Ok(Some(opened)),
        (Err(TryLockError::WouldBlock), Use::Shared) => Err(InUse::Copied(path)),
        (Err(TryLockError::WouldBlock), Use::Alone) => Err(InUse::Served(path)),
        (Err(TryLockError::Error(source)), Use::Alone) => Err(InUse::Unseen { path, source }),
        (Err(TryLockError::Error(error)), Use::Shared) => {
            tracing::warn!(%error, data_dir = %path.display(), "cannot lock the data directory: a copy would not see this gateway");
            Ok(None)
        }
    }
}

/// Returns `true` if the file is there and names another machine.
fn is_elsewhere(file: &Path, own: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|machine| !machine.is_empty() && machine != own)
}

/// Watches whether the file is written.
async fn is_written(file: &PathBuf) -> bool {
    let at = || fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
    let first = at();
    let age = first.and_then(|at| clock::now().duration_since(at).ok());
    if age.is_some_and(|age| age > OLD) {
        return false;
    }
    tracing::info!("data directory last used on another machine or before a restart: watching for a second gateway");
    let begun = tokio::time::Instant::now();
    while begun.elapsed() < WATCHED {
        tokio::time::sleep(Duration::from_millis(200)).await;
        if at() != first {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shared(directory: &Path) -> Result<Claim, InUse> {
        claim(directory, Use::Shared).await
    }

    #[tokio::test]
    async fn a_directory_that_another_machine_uses_is_refused_and_one_that_it_used_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(FILE);
        drop(shared(directory.path()).await.expect("nobody uses it"));
        drop(shared(directory.path()).await.expect("so does this machine"));

        fs::write(&file, "another machine").expect("a file");
        let other = file.clone();
        let beats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                fs::write(&other, "another machine").expect("a file");
            }
        });
        let refused = shared(directory.path()).await.expect_err("the other one uses it").to_string();
        assert!(refused.contains("another machine") && refused.contains("--database"), "{refused}");
        beats.abort();
        drop(beats.await);
        drop(shared(directory.path()).await.expect("it has stopped"));

        fs::write(&file, "another machine").expect("a file");
        let long_ago = clock::now() - 2 * OLD;
        fs::File::options().write(true).open(&file).and_then(|file| file.set_modified(long_ago)).expect("a time");
        let begun = std::time::Instant::now();
        drop(shared(directory.path()).await.expect("it was long ago"));
        assert!(begun.elapsed() < WATCHED, "nothing to watch");
    }

    #[tokio::test]
    async fn gateways_share_a_directory_and_a_copy_has_it_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let (one, two) =
            (shared(directory.path()).await.expect("free"), shared(directory.path()).await.expect("shared"));
        let alone = async || claim(directory.path(), Use::Alone).await;
        assert!(matches!(alone().await, Err(InUse::Served(_))));
        drop(one);
        assert!(matches!(alone().await, Err(InUse::Served(_))), "the other one still runs");
        drop(two);
        let copy = alone().await.expect("free");
        assert!(matches!(shared(directory.path()).await, Err(InUse::Copied(_))));
        assert!(matches!(alone().await, Err(InUse::Served(_))), "another copy");
        drop(copy);
        shared(directory.path()).await.expect("free");
    }
}
