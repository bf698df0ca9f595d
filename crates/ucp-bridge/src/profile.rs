//! Profile of a shop: its releases, endpoints and operations (UCP overview, *Discovery*).

use serde_json::{Map, Value};
use ucp_core::{
    Operation, Release,
    operation::{SHOPPING, SupportedOperations},
    purchase::payment::Declaration,
};
use ucp_trust::{jwk::PublicKey, profile::PlatformProfile};
use ucp_wire::dialect;
use url::{Origin, Url};

use crate::platform::RELAYED;

/// Transport over which a shop is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The REST binding.
    Rest,
    /// The MCP binding, over streamable HTTP.
    Mcp,
}

impl Transport {
    /// Returns the name of the transport in profiles.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Mcp => "mcp",
        }
    }
}

/// Reason why a profile cannot be used. The texts complete "The profile of the shop …".
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The profile cannot be read.
    #[error("cannot be read: {0}")]
    Malformed(String),
    /// The shop and the gateway have no release in common.
    #[error("offers the releases {theirs}, and this gateway speaks {ours}")]
    Releases {
        /// Releases that the shop speaks.
        theirs: String,
        /// Releases that the gateway speaks or is configured to use.
        ours: String,
    },
    /// The profile has no endpoint for the transport.
    #[error("names no endpoint of `{SHOPPING}` for {0}")]
    Endpoint(&'static str),
}

/// Profile of a shop in one release.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Release of the profile; `None` if the gateway does not know it.
    pub release: Option<Release>,
    /// Release as the profile states it.
    pub stated: String,
    /// Other known releases that the shop supports, with the addresses of their profiles.
    pub supported: Vec<(Release, String)>,
    /// Public keys that the shop signs with.
    pub keys: Vec<PublicKey>,
    /// Operations and extensions that the shop offers.
    pub offering: SupportedOperations,
    /// Payment handlers of the shop.
    pub handlers: Vec<Declaration>,
    endpoints: Vec<(Transport, Url)>,
    /// Sites that the profile names besides those that are called: where buyers may be sent.
    pub(crate) sites: Vec<Origin>,
}

impl Profile {
    /// Reads a profile of any release. Fails with [`ProfileError::Malformed`] if the profile cannot be read.
    pub fn read(bytes: &[u8]) -> Result<Self, ProfileError> {
        // A business states versions, capabilities and keys as platforms do.
        let (read, notes) = match PlatformProfile::read(bytes) {
            Ok(read) => read,
            Err(refusal) => {
                let Some(wrapped) = serde_json::from_slice(bytes).ok().as_ref().and_then(wrapped) else {
                    return Err(ProfileError::Malformed(refusal.content));
                };
                tracing::warn!("upstream profile has no `ucp`; reading the members at its root instead");
                return Self::read(wrapped.to_string().as_bytes());
            }
        };
        for note in notes {
            tracing::debug!(note, "reading the upstream profile leniently");
        }
        let document: Value =
            serde_json::from_slice(bytes).map_err(|error| ProfileError::Malformed(error.to_string()))?;
        let ucp = &document["ucp"];
        let release = Release::from_date(&read.version);
        let declared = |name: &str| read.capabilities.iter().any(|capability| capability.name == name);
        let offering = release.map_or_else(SupportedOperations::default, |release| {
            let dialect = dialect(release);
            let shopping = |operation: &Operation| {
                let row = operation.row();
                row.service == SHOPPING && dialect.shapes(*operation).is_some() && declared(row.capability)
            };
            let known = |extension: &&'static str| {
                dialect.offers().iter().any(|offer| offer.known_as == *extension && declared(offer.name))
            };
            SupportedOperations {
                operations: Operation::ALL.iter().copied().filter(shopping).collect(),
                extensions: RELAYED.iter().copied().filter(known).collect(),
                sealed_in: Some(release),
            }
        });
        let supported = ucp["supported_versions"].as_object().into_iter().flatten();
        Ok(Self {
            release,
            supported: supported
                .filter_map(|(date, address)| Some((Release::from_date(date)?, address.as_str()?.to_owned())))
                .collect(),
            stated: read.version,
            keys: read.keys,
            offering,
            handlers: handlers(&document),
            endpoints: endpoints(&ucp["services"][SHOPPING]),
            sites: {
                let mut sites = Vec::new();
                add_sites(&document, &mut sites);
                sites
            },
        })
    }

    /// Returns the newest release that both sides speak.
    pub fn newest(&self) -> Option<Release> {
        self.release.into_iter().chain(self.supported.iter().map(|(release, _)| *release)).max()
    }

    /// Chooses the release to speak: that of this profile if the gateway knows it, or else the newest of the others; a
    /// `wanted` release is the only choice. Returns `None` for the release of this profile, and otherwise the address
    /// of the profile to read instead. Fails with [`ProfileError::Releases`] if there is no such release.
    pub fn choose(&self, wanted: Option<Release>) -> Result<Option<&str>, ProfileError> {
        let fits = |release: Release| wanted.is_none_or(|wanted| wanted == release);
        if self.release.is_some_and(fits) {
            return Ok(None);
        }
        let older = self.supported.iter().filter(|(release, _)| fits(*release)).max_by_key(|(release, _)| *release);
        older.map(|(_, address)| Some(address.as_str())).ok_or_else(|| {
            let supported = self.supported.iter().map(|(release, _)| release.date());
            let theirs = std::iter::once(self.stated.as_str()).chain(supported).collect::<Vec<_>>().join(", ");
            let ours = Release::ALL.iter().filter(|release| fits(**release)).map(|release| release.date());
            ProfileError::Releases { theirs, ours: ours.collect::<Vec<_>>().join(", ") }
        })
    }

    /// Returns the endpoint for the `wanted` transport, or for any, REST first. Fails with [`ProfileError::Endpoint`]
    /// if there is no such endpoint.
    pub fn endpoint(&self, wanted: Option<Transport>) -> Result<(Transport, &Url), ProfileError> {
        let of = |transport: Transport| self.endpoints.iter().find(|(kind, _)| *kind == transport);
        let found = match wanted {
            Some(transport) => of(transport),
            None => of(Transport::Rest).or_else(|| of(Transport::Mcp)),
        };
        let (transport, url) =
            found.ok_or_else(|| ProfileError::Endpoint(wanted.map_or("REST or MCP", Transport::as_str)))?;
        Ok((*transport, url))
    }
}

/// Maximum number of sites of a profile that are looked at.
const MOST_SITES: usize = 16;

/// Adds the origins of endpoints and pages, without the endpoints that only programs call.
fn add_sites(value: &Value, sites: &mut Vec<Origin>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| add_sites(element, sites)),
        Value::Object(members) => {
            let called = members.get("transport").and_then(Value::as_str);
            if called.is_some_and(|transport| matches!(transport, "rest" | "mcp" | "a2a")) {
                return;
            }
            for (name, value) in members.iter().filter(|(name, _)| !matches!(name.as_str(), "rest" | "mcp" | "a2a")) {
                let page = name == "endpoint" || name == "url" || name.ends_with("_url");
                let url = value.as_str().filter(|_| page).and_then(|url| Url::parse(url).ok());
                match url.map(|url| url.origin()).filter(Origin::is_tuple) {
                    Some(site) if sites.len() < MOST_SITES && !sites.contains(&site) => sites.push(site),
                    Some(_) => {}
                    None => add_sites(value, sites),
                }
            }
        }
        _ => {}
    }
}

/// Returns a profile whose members of `ucp` are at its root, as the sample server of 2026-01-23 publishes it, in the form
/// that every release requires; `None` if there is a `ucp`, or no doubt that this is no profile.
fn wrapped(document: &Value) -> Option<Value> {
    let root = document.as_object().filter(|root| !root.contains_key("ucp"))?;
    let profile =
        root.get("version").is_some_and(Value::is_string) && root.get("services").is_some_and(Value::is_object);
    if !profile {
        return None;
    }
    let (beside, ucp): (Map<_, _>, Map<_, _>) = root
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .partition(|(name, _)| matches!(name.as_str(), "keys" | "signing_keys" | "payment"));
    let mut wrapped = Map::from_iter([("ucp".to_owned(), Value::Object(ucp))]);
    wrapped.extend(beside);
    Some(Value::Object(wrapped))
}

/// Reads the endpoints of a service: entries that name a transport, or (2026-01-11) one member per transport.
fn endpoints(service: &Value) -> Vec<(Transport, Url)> {
    let url = |entry: &Value| Url::parse(entry["endpoint"].as_str()?).ok();
    let kinds = [Transport::Rest, Transport::Mcp];
    match service {
        Value::Array(entries) => entries
            .iter()
            .filter_map(|entry| {
                let kind = kinds.into_iter().find(|kind| entry["transport"] == kind.as_str())?;
                Some((kind, url(entry)?))
            })
            .collect(),
        Value::Object(bindings) => {
            kinds.into_iter().filter_map(|kind| Some((kind, url(bindings.get(kind.as_str())?)?))).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads the payment handlers: by name in `ucp`, or (2026-01-11) as a list beside it.
fn handlers(document: &Value) -> Vec<Declaration> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let config = |entry: &Value| entry["config"].as_object().cloned().unwrap_or_else(Map::new);
    let named = document["ucp"]["payment_handlers"].as_object().into_iter().flatten();
    let named =
        named.flat_map(|(name, entries)| entries.as_array().into_iter().flatten().map(move |entry| (name, entry)));
    let named = named.filter(|(_, entry)| entry["id"].is_string()).map(|(name, entry)| Declaration {
        name: name.clone(),
        id: text(&entry["id"]),
        version: text(&entry["version"]),
        spec: text(&entry["spec"]),
        // The sample server of 2026-01-23 kept the name that the member had before.
        schema: text(entry.get("schema").unwrap_or(&entry["config_schema"])),
        instruments: entry["available_instruments"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|kind| kind["type"].as_str().map(str::to_owned))
            .collect(),
        config: config(entry),
    });
    let listed = document["payment"]["handlers"].as_array().into_iter().flatten();
    let listed = listed.filter(|entry| entry["id"].is_string() && entry["name"].is_string()).map(|entry| Declaration {
        name: text(&entry["name"]),
        id: text(&entry["id"]),
        version: text(&entry["version"]),
        spec: text(&entry["spec"]),
        schema: text(&entry["config_schema"]),
        instruments: Vec::new(),
        config: config(entry),
    });
    named.chain(listed).collect()
}
