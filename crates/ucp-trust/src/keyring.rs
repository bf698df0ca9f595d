//! Signing keys of this gateway: one file each, in a directory that only its owner may read.
//!
//! The newest key that is not retired signs. A retired key signs nothing more, but stays published until its grace
//! period is over, so that its signatures can still be verified. Files are written completely under a temporary name
//! first: a crash leaves the old state or the new one.
//!
//! Any process may change the directory at any time. A running server sees it through [`Keyring::reload`], which reads
//! the few small files again and is meant to be called periodically.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    jwk::{Algorithm, PublicKey},
    signature::key::{KeyError, SigningKey},
};

/// Default time for which a retired key stays published: the shortest time that UCP recommends.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Extension of the names of key files.
const EXTENSION: &str = "json";

/// Reason why the keys cannot be used. Names files, never their content.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The directory cannot be read or created.
    #[error("the directory of the keys cannot be used")]
    Directory(#[source] io::Error),
    /// A file cannot be read or written.
    #[error("the key file {name} cannot be read or written")]
    File {
        /// Name of the file within the directory.
        name: String,
        /// Error of the file system.
        #[source]
        error: io::Error,
    },
    /// A file was not written by this module, or is damaged.
    #[error("the file {name} among the keys is not a key of this gateway: {why}; restore it or move it away")]
    Foreign {
        /// Name of the file within the directory.
        name: String,
        /// Description of the fault.
        why: String,
    },
    /// A key could not be generated or exported.
    #[error("no key could be made")]
    Generate(#[source] KeyError),
}

/// A key of the gateway, with the times of its life.
#[derive(Clone, Debug)]
pub struct OwnKey {
    /// The key pair.
    pub key: Arc<SigningKey>,
    /// Time at which it was generated, in seconds since 1970.
    pub created: u64,
    /// Retirement of the key; `None` for a key in service.
    pub retired: Option<Retired>,
}

/// Retirement of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Time from which it signs nothing more, in seconds since 1970.
    pub at: u64,
    /// Time until which it stays published, in seconds since 1970.
    pub publish_until: u64,
}

/// Keys in a directory, newest first.
#[derive(Clone, Debug)]
pub struct Keyring {
    directory: PathBuf,
    keys: Vec<OwnKey>,
}

/// Content of a key file: the private key as a JWK, with the times of the key beside the registered members. Never
/// printed.
#[derive(Serialize, Deserialize)]
struct KeyFile {
    #[serde(flatten)]
    jwk: serde_json::Map<String, Value>,
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retired_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    publish_until: Option<u64>,
}

impl Keyring {
    /// Reads the keys in a directory. A directory that does not exist holds no keys. Fails with [`KeyringError`] if the
    /// directory or a file cannot be read, or a file is not a key.
    pub fn open(directory: &Path) -> Result<Self, KeyringError> {
        let mut keys = Vec::new();
        for name in key_files(directory)? {
            match OwnKey::read(directory, &name) {
                Ok(own) => keys.push(own),
                // Another process has removed the file since.
                Err(KeyringError::File { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let mut keyring = Self { directory: directory.to_owned(), keys };
        keyring.sort();
        Ok(keyring)
    }

    /// Reads the directory again, and returns `true` if anything has changed. Fails as [`Self::open`]; the keys are
    /// then left unchanged.
    pub fn reload(&mut self) -> Result<bool, KeyringError> {
        let now = Self::open(&self.directory)?;
        let changed = !self.keys.iter().map(OwnKey::state).eq(now.keys.iter().map(OwnKey::state));
        if changed {
            *self = now;
        }
        Ok(changed)
    }

    /// Generates a key that signs from now on. The others are not retired and stay published beside it. Fails with
    /// [`KeyringError`] if no key can be generated or written, or a key whose publication is over cannot be removed.
    pub fn generate(&mut self, algorithm: Algorithm, now: SystemTime) -> Result<&OwnKey, KeyringError> {
        self.sweep(now)?;
        let key = SigningKey::generate(algorithm).map_err(KeyringError::Generate)?;
        // Two keys of the same second would leave open which one is newer.
        let newest = self.keys.first().map_or(0, |newest| newest.created);
        let own = OwnKey { key: Arc::new(key), created: unix(now).max(newest + 1), retired: None };
        make_directory(&self.directory)?;
        own.write(&self.directory)?;
        self.keys.insert(0, own);
        Ok(&self.keys[0])
    }

    /// Generates a key, with the algorithm of the one that signs now (ES256 if there is none) unless another is named,
    /// and retires all others. They stay published for at most `grace`; if it is zero, they are removed at once, as
    /// they have to be when they may have leaked. Fails with [`KeyringError`] if a key cannot be generated, written or
    /// removed. The new key is stored before an old one changes.
    pub fn rotate(
        &mut self,
        algorithm: Option<Algorithm>,
        grace: Duration,
        now: SystemTime,
    ) -> Result<&OwnKey, KeyringError> {
        let algorithm =
            algorithm.or_else(|| self.signer().map(|signer| signer.algorithm())).unwrap_or(Algorithm::Es256);
        self.generate(algorithm, now)?;
        let until = unix(now).saturating_add(grace.as_secs());
        for own in &mut self.keys[1..] {
            let retired = match own.retired {
                None => Retired { at: unix(now), publish_until: until },
                Some(retired) => Retired { publish_until: retired.publish_until.min(until), ..retired },
            };
            if own.retired != Some(retired) {
                let changed = OwnKey { retired: Some(retired), ..own.clone() };
                changed.write(&self.directory)?;
                *own = changed;
            }
        }
        self.sweep(now)?;
        Ok(&self.keys[0])
    }

    /// Returns the keys, newest first; those whose publication is over stay until the next change.
    pub fn list(&self) -> &[OwnKey] {
        &self.keys
    }

    /// Returns the key that signs now; `None` if no key is in service.
    pub fn signer(&self) -> Option<&Arc<SigningKey>> {
        self.keys.iter().find(|key| key.retired.is_none()).map(|own| &own.key)
    }

    /// Returns the newest key in service with which AP2 mandates can be signed; `None` if there is none.
    pub fn mandate_signer(&self) -> Option<&Arc<SigningKey>> {
        let signs = |own: &&OwnKey| own.retired.is_none() && Algorithm::MANDATE.contains(&own.key.algorithm());
        self.keys.iter().find(signs).map(|own| &own.key)
    }

    /// Returns what the profile publishes: the public halves of the keys as JWKs, newest first.
    pub fn published(&self, now: SystemTime) -> Vec<Value> {
        self.public_keys(now).filter_map(PublicKey::to_jwk).collect()
    }

    /// Returns the public halves of the keys that the profile publishes at this time, newest first, with which
    /// signatures of this gateway are verified when they come back.
    pub fn public_keys(&self, now: SystemTime) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(move |own| own.is_published(now)).map(|own| own.key.public())
    }

    /// Removes the keys whose publication is over.
    fn sweep(&mut self, now: SystemTime) -> Result<(), KeyringError> {
        while let Some(over) = self.keys.iter().position(|own| !own.is_published(now)) {
            let name = self.keys[over].file_name();
            match fs::remove_file(self.directory.join(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(KeyringError::File { name, error });
                }
                _ => drop(self.keys.remove(over)),
            }
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.keys.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.kid().cmp(b.kid())));
    }
}

impl OwnKey {
    /// Returns the name under which the key is published.
    pub fn kid(&self) -> &str {
        self.key.public().kid()
    }

    /// Returns `true` if the profile publishes the key at this time.
    pub fn is_published(&self, now: SystemTime) -> bool {
        self.retired.is_none_or(|retired| unix(now) < retired.publish_until)
    }

    fn state(&self) -> (&str, u64, Option<Retired>) {
        (self.kid(), self.created, self.retired)
    }

    fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", self.kid())
    }

    fn read(directory: &Path, name: &str) -> Result<Self, KeyringError> {
        let foreign = |why: &str| KeyringError::Foreign { name: name.to_owned(), why: why.to_owned() };
        let path = directory.join(name);
        let file = |error| KeyringError::File { name: name.to_owned(), error };
        let bytes = fs::read(&path).map_err(file)?;
        if others_may_read(&fs::metadata(&path).map_err(file)?) {
            tracing::warn!(file = name, "private key readable by other users; its mode should be 0600");
        }
        // The message of the parser would quote the file.
        let KeyFile { jwk, created, retired_at, publish_until } =
            serde_json::from_slice(&bytes).map_err(|_| foreign("it is not a JWK with the time it was made"))?;
        let key = SigningKey::from_jwk(&Value::Object(jwk)).map_err(|error| foreign(&error.to_string()))?;
        let retired = match (retired_at, publish_until) {
            (None, None) => None,
            (Some(at), Some(publish_until)) => Some(Retired { at, publish_until }),
            _ => return Err(foreign("it has only one of retired_at and publish_until")),
        };
        let read = Self { key: Arc::new(key), created, retired };
        if read.key.public().thumbprint().as_deref() != Some(read.kid()) {
            return Err(foreign("its kid is not its thumbprint"));
        }
        if read.file_name() != name {
            return Err(foreign("its name is not its kid"));
        }
        Ok(read)
    }

    /// Writes the file of the key, completely or not at all.
    fn write(&self, directory: &Path) -> Result<(), KeyringError> {
        let Some(Value::Object(mut jwk)) = self.key.public().to_jwk() else {
            return Err(KeyringError::Generate(KeyError::Library));
        };
        jwk.insert("d".to_owned(), self.key.private_member().map_err(KeyringError::Generate)?.into());
        let file = KeyFile {
            jwk,
            created: self.created,
            retired_at: self.retired.map(|retired| retired.at),
            publish_until: self.retired.map(|retired| retired.publish_until),
        };
        let name = self.file_name();
        let written =
            serde_json::to_vec_pretty(&file).map_err(io::Error::from).and_then(|text| replace(directory, &name, &text));
        written.map_err(|error| KeyringError::File { name, error })
    }
}

/// Returns the names of the files that have to be keys. Names that begin with a dot are skipped: they belong to
/// temporary files, and to those that file systems and editors keep.
fn key_files(directory: &Path) -> Result<Vec<String>, KeyringError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(KeyringError::Directory(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(KeyringError::Directory)?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    Ok(names)
}

/// Creates the directory for its owner alone. Missing parent directories are created with the default mode.
fn make_directory(directory: &Path) -> Result<(), KeyringError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = directory.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| builder.create(directory));
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(KeyringError::Directory),
    }
}

/// Creates a file, or replaces the one with this name, so that it survives a crash.
fn replace(directory: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let temporary = directory.join(format!(".{name}.{}", std::process::id()));
    // A crash may have left this file.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    let written = io::Write::write_all(&mut file, text)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, directory.join(name)));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    #[cfg(unix)]
    fs::File::open(directory)?.sync_all()?;
    Ok(())
}

#[cfg(unix)]
fn others_may_read(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn others_may_read(_: &fs::Metadata) -> bool {
    false
}

/// Returns the seconds since 1970.
fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn kids(keyring: &Keyring, now: u64) -> Vec<String> {
        let kid = |jwk: Value| jwk["kid"].as_str().map(str::to_owned).unwrap_or_default();
        keyring.published(at(now)).into_iter().map(kid).collect()
    }

    #[test]
    fn a_directory_that_is_not_there_holds_no_keys() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("data/keys");
        let mut keyring = Keyring::open(&directory).unwrap();
        assert!(keyring.signer().is_none() && keyring.published(at(0)).is_empty());
        assert!(!directory.exists());
        keyring.generate(Algorithm::Es256, at(1)).unwrap();
        assert_eq!(Keyring::open(&directory).unwrap().list().len(), 1);
    }

    #[test]
    fn the_newest_key_signs_and_a_retired_one_stays_published_for_its_grace() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        let first = keyring.generate(Algorithm::Es384, at(100)).unwrap().kid().to_owned();
        let second = keyring.rotate(None, DEFAULT_GRACE, at(200)).unwrap().kid().to_owned();
        assert_eq!(keyring.signer().unwrap().public().kid(), second);
        assert_eq!(keyring.signer().unwrap().algorithm(), Algorithm::Es384);
        let end = 200 + 7 * DAY;
        for now in [200, end - 1] {
            assert_eq!(kids(&keyring, now), [&*second, &*first]);
        }
        assert_eq!(kids(&keyring, end), [&*second]);
        assert_eq!(keyring.list()[1].retired, Some(Retired { at: 200, publish_until: end }));
        // A key whose publication is over is removed with the next change, not before.
        assert_eq!(Keyring::open(root.path()).unwrap().list().len(), 2);
        let third = keyring.generate(Algorithm::Es256, at(end)).unwrap().kid().to_owned();
        let read = Keyring::open(root.path()).unwrap();
        assert_eq!(kids(&read, end), [&*third, &*second]);
        assert_eq!(read.signer().unwrap().public().kid(), third);
    }

    #[test]
    fn rotation_without_grace_leaves_nothing_of_the_old_keys() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        keyring.rotate(None, DEFAULT_GRACE, at(100)).unwrap();
        keyring.rotate(None, DEFAULT_GRACE, at(100)).unwrap();
        let last = keyring.rotate(None, Duration::ZERO, at(100)).unwrap().kid().to_owned();
        assert_eq!(kids(&keyring, 100), [&*last]);
        let files: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, [&*format!("{last}.json")]);
    }

    #[test]
    fn mandates_are_signed_with_the_newest_key_that_may() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        keyring.generate(Algorithm::Ed25519, at(100)).unwrap();
        assert!(keyring.signer().is_some() && keyring.mandate_signer().is_none());
        let second = keyring.generate(Algorithm::Es384, at(200)).unwrap().kid().to_owned();
        keyring.generate(Algorithm::Ed25519, at(300)).unwrap();
        let read = Keyring::open(root.path()).unwrap();
        assert_eq!(read.signer().map(|key| key.algorithm()), Some(Algorithm::Ed25519));
        assert_eq!(read.mandate_signer().map(|key| key.public().kid()), Some(&*second));
        assert_eq!(read.published(at(400)).len(), 3);
        // A rotation keeps the algorithm of the key that signs.
        keyring.rotate(None, DEFAULT_GRACE, at(400)).unwrap();
        assert_eq!(keyring.signer().map(|key| key.algorithm()), Some(Algorithm::Ed25519));
        keyring.rotate(Some(Algorithm::Es384), DEFAULT_GRACE, at(500)).unwrap();
        assert_eq!(keyring.signer().map(|key| key.algorithm()), Some(Algorithm::Es384));
        let before = keyring.published(at(600)).into_iter().filter(|jwk| jwk["kty"] == "OKP").count();
        assert_eq!(before, 3, "what was signed before can still be verified");
    }

    #[test]
    fn a_longer_grace_does_not_bring_a_retired_key_back() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        keyring.generate(Algorithm::Es256, at(100)).unwrap();
        keyring.rotate(None, Duration::from_secs(50), at(100)).unwrap();
        keyring.rotate(None, DEFAULT_GRACE, at(120)).unwrap();
        assert_eq!(keyring.list()[2].retired, Some(Retired { at: 100, publish_until: 150 }));
    }

    #[test]
    fn a_running_server_sees_what_changed() {
        let root = tempfile::tempdir().unwrap();
        let mut server = Keyring::open(root.path()).unwrap();
        assert!(!server.reload().unwrap());
        let mut operator = Keyring::open(root.path()).unwrap();
        operator.generate(Algorithm::Es256, at(1)).unwrap();
        assert!(server.reload().unwrap() && !server.reload().unwrap());
        operator.rotate(None, DEFAULT_GRACE, at(2)).unwrap();
        assert!(server.reload().unwrap());
        assert_eq!(server.signer().unwrap().public(), operator.signer().unwrap().public());
        // A damaged file leaves the keys of a running server unchanged.
        fs::write(root.path().join("x.json"), "{").unwrap();
        assert!(server.reload().is_err());
        assert_eq!(server.list().len(), 2);
    }

    #[test]
    fn errors_name_the_file_and_nothing_that_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        let own = keyring.generate(Algorithm::Es256, at(1)).unwrap();
        let (name, secret) = (own.file_name(), own.key.private_member().unwrap());
        let text = fs::read_to_string(root.path().join(&name)).unwrap();
        let other = SigningKey::generate(Algorithm::Es256).unwrap().private_member().unwrap();
        for (name, text) in [
            (name.as_str(), text.replace("\"created\": 1", "\"created\": \"secret\"")),
            (&name, text.replace("\"created\": 1", "\"created\": 1, \"retired_at\": 2")),
            (&name, text.replace("\"P-256\"", "\"P-384\"")),
            (&name, text.replace(&secret, &other)),
            (&name, text.replace(&name[..43], "a")),
            (&name, text[..text.len() / 2].to_owned()),
            (&name, secret.clone()),
            ("other.json", text.clone()),
            ("notes.txt", secret.clone()),
        ] {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join(name), text).unwrap();
            let error = Keyring::open(root.path()).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(name), "{shown}");
            assert!(!shown.contains(&secret) && !shown.contains(&other) && !shown.contains("secret"), "{shown}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_keys_and_nothing_prints_them() {
        use std::os::unix::fs::PermissionsExt as _;

        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("keys");
        let mut keyring = Keyring::open(&directory).unwrap();
        keyring.generate(Algorithm::Es256, at(1)).unwrap();
        keyring.rotate(None, DEFAULT_GRACE, at(2)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        let mut secrets = Vec::new();
        for own in keyring.list() {
            assert_eq!(mode(&directory.join(own.file_name())), 0o600);
            secrets.push(own.key.private_member().unwrap());
        }
        let shown = format!("{keyring:?} {keyring:#?} {:?}", keyring.published(at(2)));
        assert!(secrets.iter().all(|secret| !shown.contains(secret)) && !shown.contains("\"d\""), "{shown}");
    }

    #[test]
    fn leftovers_of_a_crash_are_no_keys() {
        let root = tempfile::tempdir().unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        let name = keyring.generate(Algorithm::Es256, at(1)).unwrap().file_name();
        fs::write(root.path().join(format!(".{name}.{}", std::process::id())), "{").unwrap();
        let mut keyring = Keyring::open(root.path()).unwrap();
        assert_eq!(keyring.list().len(), 1);
        keyring.rotate(None, DEFAULT_GRACE, at(2)).unwrap();
        assert_eq!(Keyring::open(root.path()).unwrap().list().len(), 2);
    }
}
