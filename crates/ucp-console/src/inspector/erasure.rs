//! Deletion of recorded calls by commands, beside a gateway that may run on the same data directory.

use std::{error::Error, io, path::Path};

use ucp_core::ports::store::Store;

use super::{FOLDER, disk};

/// Deletes the recorded calls of a shop about what its store has no personal data of any more.
///
/// # Errors
/// The calls cannot be read or overwritten, or the store cannot be read.
pub async fn delete_calls(data_dir: &Path, shop: &str, store: &dyn Store) -> Result<(), Box<dyn Error>> {
    for folder in disk::folders(&data_dir.join(FOLDER)) {
        let calls = disk::read_all(&folder)?.into_iter().filter(|(_, call)| call.shop == shop);
        let calls: Vec<_> = calls.filter_map(|(place, call)| Some((place, call.subject?))).collect();
        let ids: Vec<_> = calls.iter().map(|(_, subject)| subject.clone()).collect();
        let stored = store.with_personal_data(&ids).await?;
        let gone = calls.iter().filter(|(_, subject)| !stored.contains(subject)).map(|(place, _)| *place);
        disk::erase(&folder, &gone.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Removes the recorded calls from a data directory, for a gateway that records none, but for those of others that run.
///
/// # Errors
/// They cannot be removed.
pub fn delete_all(data_dir: &Path) -> io::Result<()> {
    disk::remove(&data_dir.join(FOLDER))
}
