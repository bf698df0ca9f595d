//! The owner of a data directory. A command that root runs leaves what it writes there to that user, as whom the gateway runs.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, lchown},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::process::geteuid;

use crate::terminal::shown;

/// Directories that the command writes into, with their owners.
static DIRECTORIES: Mutex<Vec<(PathBuf, Owner)>> = Mutex::new(Vec::new());

/// User and group of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Self { user: metadata.uid(), group: metadata.gid() })
    }
}

/// Takes note of a directory that the command may write into. One that is not there yet gets the owner of the directory that
/// it is made in.
pub(crate) fn keep(dir: &Path) {
    if !geteuid().is_root() {
        return;
    }
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let owner = absolute.ancestors().find_map(|there| Owner::of(there).ok());
    if let Some(owner) = owner.filter(|owner| owner.user != geteuid().as_raw()) {
        DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner).push((absolute, owner));
    }
}

/// Gives what root wrote into these directories to their owners, when it is dropped.
#[derive(Debug)]
#[must_use = "files change hands when this is dropped"]
pub(crate) struct Handover;

impl Drop for Handover {
    fn drop(&mut self) {
        for (dir, owner) in DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if let Err(error) = hand_over(&dir, owner) {
                let text = format!(
                    "{} has files of root now ({error}); a gateway that runs as its owner cannot open them until `chown -R \
                     {}:{} {}`",
                    dir.display(),
                    owner.user,
                    owner.group,
                    dir.display()
                );
                eprintln!("{}", shown(&text));
            }
        }
    }
}

/// Gives what belongs to root in a directory, and the directory itself, to an owner. Links are not followed.
fn hand_over(path: &Path, owner: Owner) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if metadata.uid() == geteuid().as_raw() {
        lchown(path, Some(owner.user), Some(owner.group))?;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            hand_over(&entry?.path(), owner)?;
        }
    }
    Ok(())
}
