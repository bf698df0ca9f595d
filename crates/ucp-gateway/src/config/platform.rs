//! The registered platforms, with the files and secrets they refer to.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
};

use ucp_trust::{
    address::{ProfileUrl, Reach},
    api_key::{ApiKey, KeyHash},
    limit::Quota,
};

use super::{
    Environment, Problems,
    file::{self, Limit},
};

/// How long the name of a platform may be.
const MAX_NAME: usize = 100;

/// How large a pinned profile may be: as large as a fetched one.
const MAX_PROFILE: usize = 256 * 1024;

/// A platform that the operator knows.
#[derive(Debug)]
pub(crate) struct Platform {
    /// What the operator calls it.
    pub(crate) name: String,
    /// The address of its profile, which is who it is.
    pub(crate) profile: ProfileUrl,
    /// Its profile, where that is not fetched.
    pub(crate) pinned: Option<Pinned>,
    /// The hashes of its API keys.
    pub(crate) api_keys: Vec<KeyHash>,
    /// How much it may send.
    pub(crate) limit: Option<Quota>,
}

/// A profile from a file.
pub(crate) struct Pinned {
    /// The file.
    pub(crate) path: PathBuf,
    /// What was in it.
    pub(crate) bytes: Vec<u8>,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({})", self.path.display())
    }
}

/// Completes what the file says about platforms.
pub(super) fn resolve(
    said: Vec<file::Platform>,
    reach: Reach,
    limit: Option<Quota>,
    problems: &mut Problems<'_>,
    environment: Environment<'_>,
) -> Vec<Platform> {
    let mut taken = Taken::default();
    let complete = |(index, said)| {
        Entry { at: format!("platform[{index}]"), problems }.complete(said, reach, limit, environment, &mut taken)
    };
    said.into_iter().enumerate().filter_map(complete).collect()
}

/// What no two platforms share.
#[derive(Default)]
struct Taken {
    names: HashSet<String>,
    profiles: HashSet<String>,
    /// With the entry that has it: one platform may come by the same key in two ways.
    keys: HashMap<KeyHash, String>,
}

/// One entry of the file.
struct Entry<'a, 'b> {
    /// Where it stands: `platform[0]`.
    at: String,
    problems: &'a mut Problems<'b>,
}

impl Entry<'_, '_> {
    fn complete(
        mut self,
        said: file::Platform,
        reach: Reach,
        limit: Option<Quota>,
        environment: Environment<'_>,
        taken: &mut Taken,
    ) -> Option<Platform> {
        let name = said.name;
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            self.wrong("name", format_args!("expected a name of 1 to {MAX_NAME} printable characters"));
        } else if !taken.names.insert(name.clone()) {
            self.wrong("name", "another platform has the same name");
        }
        let pinned = said.profile_file.and_then(|path| self.pinned(&path));
        let api_keys = self.api_keys(said.api_key_hash, said.api_key_file, said.api_key_env, environment);
        for (key, hash) in &api_keys {
            if taken.keys.insert(*hash, self.at.clone()).is_some_and(|other| other != self.at) {
                self.wrong(key, "another platform has the same key");
            }
        }
        let profile = match ProfileUrl::parse(&said.profile, reach) {
            Ok(profile) => profile,
            Err(rejection) => {
                self.wrong("profile", format_args!("the address {rejection}"));
                return None;
            }
        };
        if !taken.profiles.insert(profile.as_str().to_owned()) {
            self.wrong("profile", "another platform has the same profile");
        }
        let api_keys = api_keys.into_iter().map(|(_, hash)| hash).collect();
        Some(Platform { name, profile, pinned, api_keys, limit: Limit::or(said.limit.as_ref(), limit) })
    }

    fn wrong(&mut self, key: &str, problem: impl fmt::Display) {
        self.problems.add(&format!("{}.{key}", self.at), problem);
    }

    fn pinned(&mut self, path: &Path) -> Option<Pinned> {
        let path = self.problems.document.relative(path);
        match fs::read(&path) {
            Ok(bytes) if bytes.len() <= MAX_PROFILE => return Some(Pinned { path, bytes }),
            Ok(_) => self.wrong("profile_file", format_args!("{} is larger than {MAX_PROFILE} bytes", path.display())),
            Err(error) => self.wrong("profile_file", format_args!("cannot read {}: {error}", path.display())),
        }
        None
    }

    /// The hashes of all keys, each with the key of the file that led to it.
    fn api_keys(
        &mut self,
        hash: Option<String>,
        path: Option<PathBuf>,
        variable: Option<String>,
        environment: Environment<'_>,
    ) -> Vec<(&'static str, KeyHash)> {
        let mut hashes = Vec::new();
        if let Some(hash) = hash {
            match hash.parse() {
                Ok(hash) => hashes.push(("api_key_hash", hash)),
                Err(error) => self.wrong("api_key_hash", error),
            }
        }
        if let Some(path) = path {
            let path = self.problems.document.relative(&path);
            match fs::read_to_string(&path) {
                Ok(text) => self.secrets("api_key_file", &text, &mut hashes),
                Err(error) => self.wrong("api_key_file", format_args!("cannot read {}: {error}", path.display())),
            }
        }
        if let Some(variable) = variable {
            match environment(&variable).map(OsString::into_string) {
                Some(Ok(text)) => self.secrets("api_key_env", &text, &mut hashes),
                Some(Err(_)) => self.wrong("api_key_env", format_args!("the value of `{variable}` is not UTF-8")),
                None => self.wrong("api_key_env", format_args!("the environment has no variable `{variable}`")),
            }
        }
        hashes
    }

    /// Reads keys or hashes out of a secret: one, or several while keys change. What is wrong there is not repeated.
    fn secrets(&mut self, key: &'static str, text: &str, hashes: &mut Vec<(&'static str, KeyHash)>) {
        if text.trim().is_empty() {
            self.wrong(key, "there is no API key in it");
        }
        for secret in text.split_whitespace() {
            match secret.parse().or_else(|_| secret.parse::<ApiKey>().map(|api_key| api_key.hash())) {
                Ok(hash) => hashes.push((key, hash)),
                Err(error) => self.wrong(key, error),
            }
        }
    }
}
