//! The one machine whose gateways use a data directory.
//!
//! Any number of gateways share a directory on one machine, because SQLite's locks and its shared memory hold there. Over a
//! network they do not. So whoever serves from a directory writes in it on which machine it runs, again and again, and a
//! gateway on another machine that sees that happen does not start.

use std::{
    collections::BTreeSet,
    fs,
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
const WATCHED: Duration = Duration::from_secs(10);

/// Age from which on nobody has written it for a long time, whatever the clocks of two machines say.
const OLD: Duration = Duration::from_secs(600);

/// A data directory that gateways on another machine use.
#[derive(Debug, thiserror::Error)]
#[error(
    "a gateway on another machine uses {}: SQLite's locks do not hold over a network. Let gateways on several machines share a \
     PostgreSQL database instead (--database)",
    .0.display()
)]
pub struct InUse(PathBuf);

/// The data directories that this machine uses.
#[derive(Debug, Default)]
pub struct Claims(Mutex<BTreeSet<PathBuf>>);

impl Claims {
    /// Notes that this machine uses these directories for as long as the process runs. Fails with [`InUse`] if
    /// gateways on another machine use one of them.
    pub async fn add<'a>(&self, directories: impl IntoIterator<Item = &'a Path>) -> Result<(), InUse> {
        let mut claimed = self.0.lock().await;
        for directory in directories {
            if !claimed.contains(directory) {
                claim(directory).await?;
                claimed.insert(directory.to_owned());
            }
        }
        Ok(())
    }
}

/// Notes that this machine uses a data directory, and keeps doing so until the task ends.
async fn claim(data_dir: &Path) -> Result<Option<JoinHandle<()>>, InUse> {
    // All containers of a machine have the same; it changes with every boot.
    let own = match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(own) => own,
        Err(error) => {
            tracing::warn!(
                %error,
                data_dir = %data_dir.display(),
                "cannot tell this machine from others: a gateway on another machine that uses the data directory goes unnoticed"
            );
            return Ok(None);
        }
    };
    let file = data_dir.join(FILE);
    if is_elsewhere(&file, &own) && is_written(&file).await {
        return Err(InUse(data_dir.to_owned()));
    }
    // What keeps the directory from being written is told by whoever opens it next.
    if fs::create_dir_all(data_dir).and_then(|()| fs::write(&file, &own)).is_err() {
        return Ok(None);
    }
    Ok(Some(tokio::spawn(async move {
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
    })))
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

    fn stop(beat: Option<JoinHandle<()>>) {
        beat.into_iter().for_each(|beat| beat.abort());
    }

    #[tokio::test]
    async fn a_directory_that_another_machine_uses_is_refused_and_one_that_it_used_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(FILE);
        stop(claim(directory.path()).await.expect("nobody uses it"));
        stop(claim(directory.path()).await.expect("so does this machine"));

        fs::write(&file, "another machine").expect("a file");
        let other = file.clone();
        let beats = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                fs::write(&other, "another machine").expect("a file");
            }
        });
        let refused = claim(directory.path()).await.expect_err("the other one uses it").to_string();
        assert!(refused.contains("another machine") && refused.contains("--database"), "{refused}");
        beats.abort();
        drop(beats.await);
        stop(claim(directory.path()).await.expect("it has stopped"));

        fs::write(&file, "another machine").expect("a file");
        let long_ago = clock::now() - 2 * OLD;
        fs::File::options().write(true).open(&file).and_then(|file| file.set_modified(long_ago)).expect("a time");
        let begun = std::time::Instant::now();
        stop(claim(directory.path()).await.expect("it was long ago"));
        assert!(begun.elapsed() < WATCHED, "nothing to watch");
    }
}
