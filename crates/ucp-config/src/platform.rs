//! The registered platforms, with the files and secrets they refer to.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    path::{Path, PathBuf},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use ucp_core::Release;
use ucp_trust::{
    access_token::{ClientSecret, MAX_CREDENTIAL},
    address::{ProfileUrl, Reach},
    api_key::{ApiKey, KeyHash},
    certificate::Fingerprint,
    limit::Quota,
    signature::visitor,
};

use super::{
    choice::{Preset, WebhookId, WebhookRefusal, WebhookTimestamp},
    document::Document,
    first_key, sections,
    value::Limit,
};

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
    /// Client with which it asks for access tokens, if it does.
    pub client: Option<Client>,
    /// Its client certificates.
    pub certificates: Vec<Fingerprint>,
    /// Address of its keys, if it signs as a bot (Web Bot Auth).
    pub signature_agent: Option<ProfileUrl>,
    /// Customer group that it belongs to.
    pub customer_group: Option<String>,
    /// Rate limit of its requests, if it has its own.
    pub limit: Option<Quota>,
    /// How it takes the events of its orders.
    pub webhook: Webhook,
}

/// Client identifier and secrets of a platform.
#[derive(Debug)]
pub struct Client {
    pub id: String,
    /// One, or several during a rotation.
    pub secrets: Vec<ClientSecret>,
}

/// How a platform takes the events of its orders.
pub struct Webhook {
    /// URL in place of the one in its profile.
    pub url: Option<ProfileUrl>,
    /// Header fields that its events carry, which may be secrets.
    pub headers: HeaderMap,
    /// Release of the events while its profile is not known.
    pub release: Release,
    /// Form of the time of an event.
    pub timestamp: WebhookTimestamp,
    /// Identifier of an event.
    pub id: WebhookId,
    /// Meaning of an answer of 4xx.
    pub refusal: WebhookRefusal,
}
ucp_core::opaque!(Webhook { url });

impl Default for Webhook {
    fn default() -> Self {
        Self {
            url: None,
            headers: HeaderMap::new(),
            release: Release::NEWEST,
            timestamp: WebhookTimestamp::Unix,
            id: WebhookId::Event,
            refusal: WebhookRefusal::Retry,
        }
    }
}

/// Header fields of webhook events that are not the operator's to choose: those of the protocol, of the signature and of the
/// connection.
const OWN_HEADERS: [&str; 12] = [
    "connection",
    "content-digest",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "signature",
    "signature-input",
    "transfer-encoding",
    "ucp-agent",
    "webhook-id",
    "webhook-timestamp",
];

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
        client: None,
        certificates: Vec::new(),
        signature_agent: None,
        customer_group: None,
        limit,
        webhook: Webhook::default(),
    })
}

/// Values that have to be unique among the platforms.
#[derive(Default)]
struct Taken {
    names: HashSet<String>,
    profiles: HashSet<String>,
    agents: HashSet<String>,
    clients: HashSet<String>,
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
        let client = self.client(said);
        if client.as_ref().is_some_and(|client| !taken.clients.insert(client.id.clone())) {
            self.wrong("client_id", "another platform has the same client identifier");
        }
        let webhook = self.webhook(said, reach);
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
        let is_credited = !api_keys.is_empty() || client.is_some() || !certificates.is_empty();
        if !profile.is_published() && !is_credited && signature_agent.is_none() {
            let problem = "a platform must have a profile, an API key, a client, a certificate or a signature agent by which \
                           it is known";
            self.wrong("profile", problem);
        }
        if !taken.profiles.insert(profile.as_str().to_owned()) {
            self.wrong("profile", "another platform has the same profile");
        }
        let api_keys: Vec<_> = api_keys.into_iter().map(|(_, hash)| hash).collect();
        said.api_keys = counted(api_keys.len());
        said.client_secrets = counted(client.as_ref().map_or(0, |client| client.secrets.len()));
        said.webhook_headers = counted(webhook.headers.len());
        if let Some(said) = &mut said.profile {
            profile.as_str().clone_into(said);
        }
        let limit = said.limit.get_or_insert_with(|| Limit::from(limit)).quota();
        Some(Platform {
            name,
            profile,
            pinned,
            api_keys,
            client,
            certificates,
            signature_agent,
            customer_group,
            limit,
            webhook,
        })
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

    /// Returns its client identifier and secrets.
    fn client(&mut self, said: &sections::Platform) -> Option<Client> {
        let (key, text) = match (&said.client_secret_file, &said.client_secret_env) {
            (Some(path), _) => ("client_secret_file", Some(self.document.text(path))),
            (None, Some(variable)) => ("client_secret_env", Some(self.document.variable(variable))),
            (None, None) => ("client_secret_file", None),
        };
        let (id, text) = match (said.client_id.clone(), text) {
            (None, None) => return None,
            (Some(id), Some(text)) => (id, text),
            (Some(_), None) => {
                self.wrong("client_id", "a client must have a secret: `client_secret_file` or `client_secret_env`");
                return None;
            }
            (None, Some(_)) => {
                self.wrong(key, "a client secret must have its `client_id`");
                return None;
            }
        };
        if id.is_empty() || id.len() > MAX_CREDENTIAL || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.wrong("client_id", format_args!("expected 1 to {MAX_CREDENTIAL} visible ASCII characters"));
        }
        let text = self.led(key, text)?;
        let secrets = text.split_whitespace().map(str::parse::<ClientSecret>).collect::<Result<Vec<_>, _>>();
        let secrets = self.led(key, secrets)?;
        if secrets.is_empty() {
            self.wrong(key, "there is no client secret in it");
        }
        Some(Client { id, secrets })
    }

    /// Returns how the platform takes the events of its orders, and writes down what its preset says.
    fn webhook(&mut self, said: &mut sections::Platform, reach: Reach) -> Webhook {
        if said.preset == Some(Preset::Google) {
            said.webhook_release.get_or_insert_with(|| Release::V2026_04_08.date().to_owned());
            said.webhook_timestamp.get_or_insert(WebhookTimestamp::Rfc3339);
            said.webhook_id.get_or_insert(WebhookId::Entry);
            said.webhook_refusal.get_or_insert(WebhookRefusal::Park);
        }
        let usual = Webhook::default();
        let url = said.webhook_url.as_ref().map(|url| ProfileUrl::parse(url, reach)).transpose();
        let url = self.led("webhook_url", url.map_err(|rejection| format!("the address {rejection}"))).flatten();
        let release = said.webhook_release.as_deref().map_or(Some(usual.release), Release::from_date);
        if release.is_none() {
            let known: Vec<_> = Release::ALL.iter().map(|release| release.date()).collect();
            self.wrong("webhook_release", format_args!("expected one of {}", known.join(", ")));
        }
        let headers =
            said.webhook_headers_file.as_deref().map(|path| self.document.text(path).and_then(|text| headers(&text)));
        let headers = headers.and_then(|headers| self.led("webhook_headers_file", headers)).unwrap_or_default();
        Webhook {
            url,
            headers,
            release: release.unwrap_or(usual.release),
            timestamp: said.webhook_timestamp.unwrap_or(usual.timestamp),
            id: said.webhook_id.unwrap_or(usual.id),
            refusal: said.webhook_refusal.unwrap_or(usual.refusal),
        }
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

/// Returns what is said of a number of secrets.
fn counted(number: usize) -> sections::Remark {
    Some(match number {
        0 => "none".to_owned(),
        1 => "set".to_owned(),
        several => format!("{several} set"),
    })
}

/// Reads header fields, one per line. Errors name the line and do not repeat it.
fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let field = line.split_once(':').and_then(|(name, value)| {
            let name: HeaderName = name.trim().parse().ok()?;
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        let (name, value) = field.ok_or_else(|| format!("line {number} must be a header field: `Name: value`"))?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(format!("line {number} must not be `{name}`, which the gateway writes itself"));
        }
        if headers.insert(name, value).is_some() {
            return Err(format!("line {number} repeats the header field of an earlier line"));
        }
    }
    Ok(headers)
}
