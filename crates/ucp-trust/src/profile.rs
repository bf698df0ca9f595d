//! Profiles of platforms (UCP overview, *Platform Advertisement*; rules AGT-04, DISC-13).
//!
//! Published profiles are sloppy (trap T-44): entries with nothing but a version, versions that are not dates, empty
//! lists of parents. So the parser reads what it can and notes the rest. It requires only what the rules of negotiation
//! and of signatures need: a dated `ucp.version`, and that each member has a type that it has in some release.
//!
//! Only the parts of a document that a rule refers to are kept, so that thousands of profiles fit into memory. No
//! address in it is followed, neither here nor by callers without a check: they are texts.

use serde_json::{Map, Value};
use ucp_core::{
    Code, Refusal,
    json::{self, Limits},
    negotiation::Declaration,
};

use crate::jwk::{self, MAX_KEYS, PublicKey};

#[cfg(test)]
mod tests;

/// Limits on the JSON of a profile.
const LIMITS: Limits = Limits { depth: 32, values: 20_000 };

/// Maximum number of capability entries in one profile.
const MAX_DECLARATIONS: usize = 256;

/// Maximum number of capabilities that one capability may extend.
const MAX_PARENTS: usize = 16;

/// Maximum length of the name of a capability, in bytes: that of a DNS name.
const MAX_NAME: usize = 253;

/// Maximum length of the version of a capability, in bytes. A date has ten.
const MAX_VERSION: usize = 32;

/// Maximum length of a webhook address, in bytes.
const MAX_WEBHOOK: usize = 2_048;

/// Maximum number of notes about one profile.
const MAX_NOTES: usize = 32;

/// Memory that an allocator spends on a text or a list, in bytes.
const ALLOCATION: usize = 16;

/// Capability that states where a platform receives events about orders.
const ORDER: &str = "dev.ucp.shopping.order";

/// Capability that states how a platform can show deliveries.
const FULFILLMENT: &str = "dev.ucp.shopping.fulfillment";

/// Content of a platform's profile that the gateway uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformProfile {
    /// Release of the protocol that the platform speaks, `YYYY-MM-DD`.
    pub version: String,
    /// Capabilities that it declares, one declaration for each version, in the order of the document.
    pub capabilities: Vec<Declaration>,
    /// Keys with which it signs; no two have the same `kid`.
    pub keys: Vec<PublicKey>,
    /// Address for events about orders: `config.webhook_url` of the newest `dev.ucp.shopping.order`. It is a text of
    /// unknown origin: senders have to check it first.
    pub order_webhook: Option<String>,
    /// `true` if it can show several groups per fulfillment method: `config.supports_multi_group` of
    /// `dev.ucp.shopping.fulfillment` (rule FUL-02).
    pub multi_group: bool,
}

impl PlatformProfile {
    /// Parses a profile in the form of any release: capabilities as a map of names to entries, or as a list of entries
    /// with names (2026-01-11); keys as `keys` (2026-08-25), `signing_keys`, or both, in which case those of `keys`
    /// take precedence.
    ///
    /// Also returns notes on tolerated faults, each with its place. These texts quote the profile only in escaped and
    /// shortened form; they are for the log. Fails with [`Code::ProfileMalformed`] with the JSONPath of the fault in
    /// the profile.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<String>), Refusal> {
        let document = json::parse(bytes, LIMITS).map_err(|refusal| Refusal {
            code: Code::ProfileMalformed,
            content: format!("The platform's profile cannot be read. {}", refusal.content),
            ..refusal
        })?;
        let Value::Object(root) = &document else {
            return Err(malformed("$", "must be an object", "a JSON object with the member `ucp`"));
        };
        let Some(Value::Object(ucp)) = root.get("ucp") else {
            return Err(malformed("$.ucp", "is missing or no object", "an object with the member `version`"));
        };
        let version = match ucp.get("version") {
            Some(Value::String(version)) if is_date(version) => version.clone(),
            _ => return Err(malformed("$.ucp.version", "is missing or no date", "a release as `YYYY-MM-DD`")),
        };
        let mut reading = Reading::default();
        match ucp.get("capabilities") {
            None => {}
            Some(Value::Null) => reading.note("$.ucp.capabilities", "is null"),
            Some(Value::Object(map)) => reading.map(map)?,
            Some(Value::Array(list)) => reading.list(list)?,
            Some(_) => {
                let accepted = "an object of names and entries";
                return Err(malformed("$.ucp.capabilities", "is neither an object nor an array", accepted));
            }
        }
        for (path, member) in [("$.keys", root.get("keys")), ("$.signing_keys", root.get("signing_keys"))] {
            reading.keys(path, member)?;
        }
        for (path, member) in [("$.ucp.keys", ucp.get("keys")), ("$.ucp.signing_keys", ucp.get("signing_keys"))] {
            if member.is_some() {
                reading.note(path, "belongs to the root of the profile");
                reading.keys(path, member)?;
            }
        }
        Ok(reading.finish(version))
    }

    /// Parses the keys that a bot publishes (Web Bot Auth), as a profile that has nothing else. Fails with
    /// [`Code::ProfileMalformed`] if it is not an object with the array `keys`.
    pub fn read_directory(bytes: &[u8]) -> Result<(Self, Vec<String>), Refusal> {
        let unreadable = |content: &str| {
            Refusal::new(Code::ProfileMalformed, format!("The keys of the bot cannot be read. {content}"))
                .accepting("an object with the array `keys`, of JSON Web Keys")
        };
        let document = json::parse(bytes, LIMITS).map_err(|refusal| unreadable(&refusal.content))?;
        let keys = document.get("keys").filter(|keys| keys.is_array());
        let mut keys = keys.ok_or_else(|| unreadable("`$.keys` must be an array."))?.clone();
        // Signatures of bots name keys by their thumbprint, whatever the directory calls them.
        for jwk in keys.as_array_mut().into_iter().flatten() {
            let members = jwk.as_object().cloned().map(|mut members| {
                members.insert("kid".to_owned(), "unnamed".into());
                Value::Object(members)
            });
            let thumbprint = members.and_then(|named| PublicKey::read(&named, "", &mut Vec::new()).ok()?.thumbprint());
            if let (Some(thumbprint), Some(members)) = (thumbprint, jwk.as_object_mut()) {
                members.insert("kid".to_owned(), thumbprint.into());
            }
        }
        let mut reading = Reading::default();
        reading.keys("$.keys", Some(&keys))?;
        Ok(reading.finish(String::new()))
    }

    /// Returns the key with this `kid`.
    pub fn key(&self, kid: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.kid() == kid)
    }

    /// Returns the memory that the profile takes, in bytes, including its own size.
    pub fn weight(&self) -> usize {
        let declarations = self.capabilities.iter().map(declaration_weight).sum::<usize>();
        let keys = self.keys.iter().map(|key| ALLOCATION + key.weight()).sum::<usize>();
        size_of::<Self>()
            + text_weight(&self.version)
            + declarations
            + keys
            + self.order_webhook.as_ref().map_or(0, text_weight)
    }
}

fn declaration_weight(declaration: &Declaration) -> usize {
    // Profiles of platforms state no requirements; only schemas do.
    let parents = declaration.extends.iter().map(|name| size_of::<String>() + text_weight(name)).sum::<usize>();
    size_of::<Declaration>() + text_weight(&declaration.name) + text_weight(&declaration.version) + ALLOCATION + parents
}

/// Returns the memory that a text takes besides its own size, in bytes.
fn text_weight(text: &String) -> usize {
    ALLOCATION + text.capacity()
}

/// State of the parser.
#[derive(Default)]
struct Reading {
    capabilities: Vec<Declaration>,
    keys: Vec<PublicKey>,
    /// Version of the order capability, and the address that it states.
    webhook: Option<(String, String)>,
    multi_group: bool,
    entries: usize,
    notes: Vec<String>,
}

impl Reading {
    /// Reads capabilities as a map. A name leads to an array of entries, one per version, or to a single entry.
    fn map(&mut self, map: &Map<String, Value>) -> Result<(), Refusal> {
        for (name, entries) in map {
            let mut path = String::from("$.ucp.capabilities");
            json::push_name(&mut path, name);
            match entries {
                Value::Object(entry) => self.entry(&path, name, entry)?,
                Value::Array(entries) => {
                    for (index, entry) in entries.iter().enumerate() {
                        let path = format!("{path}[{index}]");
                        self.entry(&path, name, object(&path, entry)?)?;
                    }
                }
                _ => return Err(malformed(path, "is neither an array nor an object", "an array of entries")),
            }
        }
        Ok(())
    }

    /// Reads capabilities as a list of entries with names.
    fn list(&mut self, list: &[Value]) -> Result<(), Refusal> {
        for (index, entry) in list.iter().enumerate() {
            let path = format!("$.ucp.capabilities[{index}]");
            let entry = object(&path, entry)?;
            match entry.get("name") {
                Some(Value::String(name)) => self.entry(&path, name, entry)?,
                None | Some(Value::Null) => self.note(&path, "has no name and was left out"),
                Some(_) => return Err(malformed(path + ".name", "must be a string", "the name of a capability")),
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &str, name: &str, entry: &Map<String, Value>) -> Result<(), Refusal> {
        self.entries += 1;
        if self.entries > MAX_DECLARATIONS {
            let accepted = format!("at most {MAX_DECLARATIONS} entries");
            return Err(malformed("$.ucp.capabilities", "has too many entries", accepted));
        }
        let version = match entry.get("version") {
            Some(Value::String(version)) => version,
            None | Some(Value::Null) => {
                self.note(path, "has no version and was left out");
                return Ok(());
            }
            Some(_) => return Err(malformed(format!("{path}.version"), "must be a string", "a date as `YYYY-MM-DD`")),
        };
        let extends = self.parents(path, entry.get("extends"))?;
        if !is_name(name) {
            self.note(path, "is not a name in reverse-domain form and was left out");
            return Ok(());
        }
        if version.len() > MAX_VERSION {
            self.note(path, "has an overlong version and was left out");
            return Ok(());
        }
        if !is_date(version) {
            self.note(path, "has a version that is not a date");
        }
        if name == ORDER {
            self.webhook(path, version, entry);
        }
        if name == FULFILLMENT {
            let groups = entry.get("config").and_then(|config| config.get("supports_multi_group"));
            self.multi_group |= groups == Some(&Value::Bool(true));
        }
        self.capabilities.push(Declaration {
            name: name.to_owned(),
            version: version.clone(),
            extends,
            ..Declaration::default()
        });
        Ok(())
    }

    /// Reads the capabilities that an entry extends: a name, or a list of names.
    fn parents(&mut self, path: &str, extends: Option<&Value>) -> Result<Vec<String>, Refusal> {
        let path = format!("{path}.extends");
        let names = match extends {
            None => return Ok(Vec::new()),
            Some(Value::Null) => {
                self.note(&path, "is null");
                return Ok(Vec::new());
            }
            Some(name @ Value::String(_)) => std::slice::from_ref(name),
            Some(Value::Array(names)) => names,
            Some(_) => return Err(malformed(path, "is neither a text nor an array", "the names of capabilities")),
        };
        if names.is_empty() {
            self.note(&path, "is empty");
        }
        if names.len() > MAX_PARENTS {
            return Err(malformed(path, "names too many capabilities", format!("at most {MAX_PARENTS} names")));
        }
        let mut parents = Vec::with_capacity(names.len());
        for name in names {
            match name {
                Value::String(name) if name.len() <= MAX_NAME => parents.push(name.clone()),
                Value::String(_) => return Err(malformed(path, "has an overlong name", "the names of capabilities")),
                _ => return Err(malformed(path, "holds something else than names", "the names of capabilities")),
            }
        }
        Ok(parents)
    }

    /// Keeps the webhook of the newest version. A broken one is ignored: it costs the platform its notifications, not
    /// its other operations.
    fn webhook(&mut self, path: &str, version: &str, entry: &Map<String, Value>) {
        let Some(address) = entry.get("config").and_then(|config| config.get("webhook_url")) else { return };
        match address {
            Value::String(address) if address.len() <= MAX_WEBHOOK => {
                if self.webhook.as_ref().is_none_or(|(known, _)| known.as_str() < version) {
                    self.webhook = Some((version.to_owned(), address.clone()));
                }
            }
            _ => self.note(&format!("{path}.config.webhook_url"), "must be a string of acceptable length"),
        }
    }

    fn keys(&mut self, path: &str, set: Option<&Value>) -> Result<(), Refusal> {
        let set = match set {
            None => return Ok(()),
            Some(Value::Null) => {
                self.note(path, "is null");
                return Ok(());
            }
            Some(set @ Value::Array(keys)) if keys.len() <= MAX_KEYS => set,
            Some(Value::Array(_)) => {
                return Err(malformed(path, "has too many keys", format!("at most {MAX_KEYS} keys")));
            }
            Some(_) => return Err(malformed(path, "must be an array", "an array of public keys (JWK)")),
        };
        let mut notes = Vec::new();
        for key in jwk::read_set(set, &mut notes) {
            // A platform that publishes both forms repeats its keys.
            if self.keys.iter().all(|known| known.kid() != key.kid()) {
                self.keys.push(key);
            }
        }
        if self.keys.len() > MAX_KEYS {
            return Err(malformed(path, "adds up to too many keys", format!("at most {MAX_KEYS} keys in one profile")));
        }
        for note in notes {
            self.note(path, &note);
        }
        Ok(())
    }

    fn note(&mut self, path: &str, what: &str) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(format!("{path} {what}"));
        }
    }

    fn finish(mut self, version: String) -> (PlatformProfile, Vec<String>) {
        self.capabilities.shrink_to_fit();
        self.keys.shrink_to_fit();
        let order_webhook = self.webhook.map(|(_, address)| address);
        let Self { capabilities, keys, multi_group, notes, .. } = self;
        (PlatformProfile { version, capabilities, keys, order_webhook, multi_group }, notes)
    }
}

fn object<'a>(path: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Refusal> {
    value.as_object().ok_or_else(|| malformed(path, "must be an object", "an object with the member `version`"))
}

/// Returns a refusal about the part of the profile at `path`.
fn malformed(path: impl Into<String>, what: &str, accepted: impl Into<String>) -> Refusal {
    let path = path.into();
    Refusal::new(Code::ProfileMalformed, format!("The platform's profile is malformed: `{path}` {what}."))
        .at(path)
        .accepting(accepted)
}

/// Returns `true` if a text has the form `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Returns `true` if a text is a name in reverse-domain form. The grammar is the widest of all releases, that of
/// 2026-08-25.
fn is_name(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = |label: &[u8]| {
        label.first().is_some_and(u8::is_ascii_lowercase)
            && label.last().is_some_and(|last| alphanumeric(*last))
            && label.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
    };
    let other = |label: &[u8]| {
        label.first().is_some_and(|first| alphanumeric(*first))
            && label.last().is_some_and(|last| alphanumeric(*last) || *last == b'_')
            && label.iter().all(|byte| alphanumeric(*byte) || matches!(byte, b'-' | b'_'))
    };
    let mut labels = text.split('.').map(str::as_bytes);
    text.len() <= MAX_NAME && text.contains('.') && labels.next().is_some_and(first) && labels.all(other)
}
