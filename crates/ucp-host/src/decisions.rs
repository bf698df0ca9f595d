//! Decisions of the operator while the gateway runs: shops that are paused, and platforms that are blocked. They are kept
//! in the data directory, and every decision is a line of the [audit log](crate::audit) beside them. Several gateways can
//! share the directory: each decision is added to those of the others, which come to know it within seconds.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use ucp_core::ShopId;
use ucp_service::platform::Blocked;

use crate::audit::{Actor, AuditLog};

/// File in the data directory.
const FILE: &str = "decisions.json";

/// File beside it that is locked while it is replaced.
const LOCK: &str = "decisions.lock";

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
struct Kept {
    /// Identifiers of the shops that are paused.
    paused: BTreeSet<String>,
    /// Profile URLs of the platforms that are blocked.
    blocked: BTreeSet<String>,
}

/// The decisions about a gateway. Clones share one state.
#[derive(Clone, Debug)]
pub struct Decisions {
    directory: Arc<Path>,
    kept: Arc<Mutex<Kept>>,
    /// The audit log beside them.
    pub audit: AuditLog,
    /// The platforms that are blocked.
    pub(crate) blocked: Blocked,
}

/// A decision of the operator.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Calls of the shop are refused from now on.
    Pause(ShopId),
    /// Calls of the shop are answered again.
    Resume(ShopId),
    /// Calls of the platform with this profile URL are refused from now on.
    Block(String),
    /// Calls of the platform are answered again.
    Unblock(String),
}

impl Decision {
    /// Returns the name in the audit log, and what it is about.
    fn told(&self) -> (&'static str, &str) {
        match self {
            Self::Pause(shop) => ("pause", shop.as_str()),
            Self::Resume(shop) => ("resume", shop.as_str()),
            Self::Block(profile) => ("block", profile),
            Self::Unblock(profile) => ("unblock", profile),
        }
    }
}

impl Decisions {
    /// Reads the decisions that are kept in a data directory.
    ///
    /// # Errors
    /// An error if the file is there and cannot be read: the gateway would serve whom it must not.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let kept = read(directory)?;
        let decisions = Self {
            directory: directory.into(),
            kept: Arc::new(Mutex::new(kept.clone())),
            audit: AuditLog::in_directory(directory),
            blocked: Blocked::default(),
        };
        decisions.blocked.set(kept.blocked);
        Ok(decisions)
    }

    /// Returns `true` if a shop is paused.
    pub fn is_paused(&self, shop: &ShopId) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).paused.contains(shop.as_str())
    }

    /// Returns the profile URLs of the platforms that are blocked.
    pub fn blocked(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).blocked.iter().cloned().collect()
    }

    /// Keeps a decision, and acts on it. Blocks.
    ///
    /// # Errors
    /// An error if it cannot be kept or audited; then nothing has changed.
    pub fn take(&self, actor: Actor, decision: &Decision) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (action, subject) = decision.told();
        // Makes the directory of a shop that was never open.
        self.audit.add(actor, action, subject)?;
        let _lock = self.lock()?;
        let mut next = read(&self.directory)?;
        match decision {
            Decision::Pause(shop) => next.paused.insert(shop.as_str().to_owned()),
            Decision::Resume(shop) => next.paused.remove(shop.as_str()),
            Decision::Block(profile) => next.blocked.insert(profile.clone()),
            Decision::Unblock(profile) => next.blocked.remove(profile),
        };
        self.keep(&next)?;
        self.blocked.set(next.blocked.clone());
        *kept = next;
        Ok(())
    }

    /// Reads what other gateways of the directory have decided.
    ///
    /// # Errors
    /// An error if the file cannot be read; then what is known is acted on as before.
    pub(crate) fn refresh(&self) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let next = read(&self.directory)?;
        if *kept != next {
            self.blocked.set(next.blocked.clone());
            *kept = next;
        }
        Ok(())
    }

    /// Waits until no other process replaces the file. The lock ends with the value.
    fn lock(&self) -> io::Result<File> {
        let file =
            OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(self.directory.join(LOCK))?;
        file.lock()?;
        Ok(file)
    }

    /// Replaces the file as a whole.
    fn keep(&self, kept: &Kept) -> io::Result<()> {
        let partial: PathBuf = self.directory.join(FILE).with_extension("json.partial");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&partial)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        file.sync_all()?;
        fs::rename(&partial, self.directory.join(FILE))
    }
}

/// Reads the decisions that are kept in a data directory; none if there is no file.
fn read(directory: &Path) -> io::Result<Kept> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| io::Error::other(format!("{} cannot be read: {error}", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_kept_and_audited() {
        let directory = tempfile::tempdir().expect("a directory");
        let (shop, profile) = (ShopId::default(), "https://agent.example/profile".to_owned());
        let decisions = Decisions::open(directory.path()).expect("nothing is kept");
        decisions.take(Actor::Token, &Decision::Pause(shop.clone())).expect("is kept");
        decisions.take(Actor::Token, &Decision::Block(profile.clone())).expect("is kept");
        let again = Decisions::open(directory.path()).expect("is read");
        assert!(again.is_paused(&shop) && again.blocked.contains(&profile));
        again.take(Actor::Token, &Decision::Resume(shop.clone())).expect("is kept");
        again.take(Actor::Token, &Decision::Unblock(profile.clone())).expect("is kept");
        assert!(!again.is_paused(&shop) && !again.blocked.contains(&profile));
        let audited = again.audit.newest(None, 9, |_| true).expect("is read").lines;
        let actions: Vec<_> = audited.iter().rev().map(|line| line.action.as_str()).collect();
        assert_eq!(actions, ["pause", "block", "resume", "unblock"]);

        // Those of another gateway are there, too.
        let other = Decisions::open(directory.path()).expect("is read");
        again.take(Actor::Token, &Decision::Block(profile.clone())).expect("is kept");
        other.take(Actor::Token, &Decision::Pause(shop.clone())).expect("is kept");
        assert!(other.blocked.contains(&profile) && !again.is_paused(&shop));
        again.refresh().expect("is read");
        assert!(again.is_paused(&shop) && again.blocked.contains(&profile));
        let third = Decisions::open(directory.path()).expect("is read");
        assert!(third.is_paused(&shop) && third.blocked.contains(&profile));
        fs::write(directory.path().join(FILE), "{").expect("a file");
        assert!(again.refresh().is_err() && again.is_paused(&shop), "what is known is acted on");
        assert!(Decisions::open(directory.path()).is_err(), "nobody is served whom it may have named");
    }

    #[test]
    fn decisions_that_are_there_and_cannot_be_read_are_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join(FILE)).expect("a directory in the place of the file");
        assert!(Decisions::open(directory.path()).is_err(), "nobody is served whom they may have named");
    }
}
