//! The registered platforms, with the files and secrets they refer to.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::{Path, PathBuf},
};

use ucp_trust::{
    address::{ProfileUrl, Reach},
    api_key::{ApiKey, KeyHash},
    certificate::Fingerprint,
    limit::Quota,
    signature::visitor,
};

use super::{document::Document, first_key, sections, value::Limit};

/// Maximum length of a platform's name, in bytes.
const MAX_NAME: usize = 100;

/// Maximum size of a pinned profile, in bytes: that of a fetched one.
const MAX_PROFILE: usize = 256 * 1024;

/// A platform that the operator registered.
#[derive(Debug)]
pub struct Platform {
    /// Name given by the operator.
    pub name: String,
    /// URL of its profile, which identifies it, or the identity of a platform that publishes none.
    pub profile: ProfileUrl,
    /// Its profile, if it is read from a file instead of fetched.
    pub pinned: Option<Pinned>,
    /// Hashes of its API keys.
    pub api_keys: Vec<KeyHash>,
    /// Its client certificates.
    pub certificates: Vec<Fingerprint>,
    /// Address of its keys, if it signs as a bot (Web Bot Auth).
    pub signature_agent: Option<ProfileUrl>,
    /// Customer group that it belongs to.
    pub customer_group: Option<String>,
    /// Rate limit of its requests, if it has its own.
    pub limit: Option<Quota>,
}

/// A profile from a file.
pub struct Pinned {
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: Vec<u8>,
}
ucp_core::opaque!(Pinned);

/// Checks the configured platforms and fills in their defaults.
pub(super) fn resolve(
    said: &mut [sections::Platform],
    reach: Reach,
    limit: Option<Quota>,
    document: &mut Document<'_>,
) -> Vec<Platform> {
    let mut taken = Taken::default();
    let complete =
        |(index, said)| Entry { at: format!("platform[{index}]"), document }.complete(said, reach, limit, &mut taken);
    said.iter_mut().enumerate().filter_map(complete).collect()
}

/// Returns the platform of the API key that was made when the gateway was first started, if it was.
pub(super) fn first(data_dir: &Path, limit: Option<Quota>, document: &mut Document<'_>) -> Option<Platform> {
    let hash = document.led("data.dir", first_key::read(data_dir))??;
    let name = first_key::FILE.to_owned();
    let profile = ProfileUrl::unpublished(&name).ok()?;
    Some(Platform {
        name,
        profile,
        pinned: None,
        api_keys: vec![hash],
        certificates: Vec::new(),
        signature_agent: None,
        customer_group: None,
        limit,
    })
}

/// Values that have to be unique among the platforms.
#[derive(Default)]
struct Taken {
    names: HashSet<String>,
    profiles: HashSet<String>,
    agents: HashSet<String>,
    /// Each with its entry: one platform may state the same key in two ways.
    keys: HashMap<KeyHash, String>,
    certificates: HashMap<Fingerprint, String>,
}

/// One entry of the file.
struct Entry<'a, 'b> {
    /// Path of the entry: `platform[0]`.
    at: String,
    document: &'a mut Document<'b>,
}

impl Entry<'_, '_> {
    fn complete(
        mut self,
        said: &mut sections::Platform,
        reach: Reach,
        limit: Option<Quota>,
        taken: &mut Taken,
    ) -> Option<Platform> {
        let name = said.name.clone();
        let is_named = |text: &str| !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control);
        let customer_group = said.customer_group.clone();
        if customer_group.as_ref().is_some_and(|group| !is_named(group)) {
            self.wrong("customer_group", format_args!("expected a name of 1 to {MAX_NAME} printable characters"));
        }
        if !is_named(&name) {
            self.wrong("name", format_args!("expected a name of 1 to {MAX_NAME} printable characters"));
        } else if !taken.names.insert(name.clone()) {
            self.wrong("name", "another platform has the same name");
        }
        let pinned = said.profile_file.as_deref().and_then(|path| self.pinned(path));
        let api_keys = self.api_keys(said);
        for (key, hash) in &api_keys {
            if taken.keys.insert(*hash, self.at.clone()).is_some_and(|other| other != self.at) {
                self.wrong(key, "another platform has the same key");
            }
        }
        let certificates = self.certificates(said);
        for certificate in &certificates {
            if taken.certificates.insert(*certificate, self.at.clone()).is_some_and(|other| other != self.at) {
                self.wrong("certificate_sha256", "another platform has the same certificate");
            }
        }
        let profile = said
            .profile
            .as_ref()
            .map_or_else(|| ProfileUrl::unpublished(&name), |profile| ProfileUrl::parse(profile, reach));
        let profile = self.led("profile", profile.map_err(|rejection| format!("the address {rejection}")))?;
        let stated = said.signature_agent.as_deref().map(|agent| visitor::known_address(agent, reach));
        let stated = stated.transpose().map_err(|problem| format!("the address {problem}"));
        let signature_agent = self.led("signature_agent", stated)?;
        if signature_agent.as_ref().is_some_and(|agent| !taken.agents.insert(agent.as_str().to_owned())) {
            self.wrong("signature_agent", "another platform has the same");
        }
        if !profile.is_published() && api_keys.is_empty() && certificates.is_empty() && signature_agent.is_none() {
            let problem =
                "a platform must have a profile, an API key, a certificate or a signature agent by which it is known";
            self.wrong("profile", problem);
        }
        if !taken.profiles.insert(profile.as_str().to_owned()) {
            self.wrong("profile", "another platform has the same profile");
        }
        let api_keys: Vec<_> = api_keys.into_iter().map(|(_, hash)| hash).collect();
        said.api_keys = Some(match api_keys.len() {
            0 => "none".to_owned(),
            1 => "set".to_owned(),
            several => format!("{several} set"),
        });
        if let Some(said) = &mut said.profile {
            profile.as_str().clone_into(said);
        }
        let limit = said.limit.get_or_insert_with(|| Limit::from(limit)).quota();
        Some(Platform { name, profile, pinned, api_keys, certificates, signature_agent, customer_group, limit })
    }

    fn wrong(&mut self, key: &str, problem: impl fmt::Display) {
        self.document.add(&format!("{}.{key}", self.at), problem);
    }

    fn led<T>(&mut self, key: &str, result: Result<T, impl fmt::Display>) -> Option<T> {
        self.document.led(&format!("{}.{key}", self.at), result)
    }

    fn pinned(&mut self, path: &Path) -> Option<Pinned> {
        match self.document.bytes(path) {
            Ok(bytes) if bytes.len() <= MAX_PROFILE => return Some(Pinned { path: path.to_owned(), bytes }),
            Ok(_) => self.wrong("profile_file", format_args!("{} is larger than {MAX_PROFILE} bytes", path.display())),
            Err(error) => self.wrong("profile_file", error),
        }
        None
    }

    /// Returns the hashes of all API keys, each with the configuration key that it comes from.
    fn api_keys(&mut self, said: &mut sections::Platform) -> Vec<(&'static str, KeyHash)> {
        let mut hashes = Vec::new();
        if let Some(hash) = said.api_key_hash.take() {
            hashes.extend(self.led("api_key_hash", hash.parse()).map(|hash| ("api_key_hash", hash)));
        }
        if let Some(path) = &said.api_key_file {
            let text = self.document.text(path);
            self.secrets("api_key_file", text, &mut hashes);
        }
        if let Some(variable) = &said.api_key_env {
            let text = self.document.variable(variable);
            self.secrets("api_key_env", text, &mut hashes);
        }
        hashes
    }

    /// Returns the fingerprints of its certificates: one, or several during rotation.
    fn certificates(&mut self, said: &sections::Platform) -> Vec<Fingerprint> {
        let Some(text) = &said.certificate_sha256 else { return Vec::new() };
        let certificates = text.split_whitespace().map(str::parse::<Fingerprint>).collect::<Result<_, _>>();
        self.led("certificate_sha256", certificates).unwrap_or_default()
    }

    /// Reads API keys or hashes from a secret: one, or several during rotation. Errors do not repeat the secret.
    fn secrets(&mut self, key: &'static str, text: Result<String, String>, hashes: &mut Vec<(&'static str, KeyHash)>) {
        let Some(text) = self.led(key, text) else { return };
        if text.trim().is_empty() {
            self.wrong(key, "there is no API key in it");
        }
        for secret in text.split_whitespace() {
            let hash = secret.parse().or_else(|_| secret.parse::<ApiKey>().map(|api_key| api_key.hash()));
            hashes.extend(self.led(key, hash).map(|hash| (key, hash)));
        }
    }
}
