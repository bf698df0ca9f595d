//! Discovery of the shop by its profile, and comparison with an earlier one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use serde_json::Value;
use tokio::time::Instant;
use ucp_core::{
    Operation, Release,
    operation::{AP2_MANDATE, SupportedOperations},
    ports::Trace,
};
use ucp_trust::jwk::PublicKey;
use url::Url;

use super::{
    Options, SetupError,
    introduction::{introduce, sign},
    platform::profile_path,
    profile::{Profile, ProfileError, Transport},
    response,
};
use ucp_net::{CallKind, Clock, Random, Upstream, UpstreamRequest};

/// Path of the profile of a business.
const WELL_KNOWN: &str = "/.well-known/ucp";

/// Result of the discovery of a shop.
pub(super) struct KnownProfile {
    pub(super) profile: Profile,
    pub(super) release: Release,
    /// Newest release that both sides speak.
    newest: Option<Release>,
    pub(super) transport: Transport,
    pub(super) endpoint: Url,
    pub(super) line: Upstream,
    /// The profile as the shop sent it.
    pub(super) document: Bytes,
    /// Time of the fetch; `None` if the profile is the [last one known](Options::last) from an earlier process.
    pub(super) since: Option<Instant>,
}

impl KnownProfile {
    /// Returns `true` if the shop offers the operation.
    pub(super) fn offers(&self, operation: Operation) -> bool {
        self.profile.offering.operations.contains(&operation)
    }

    /// Returns the JSON Web Keys with which the shop signs what is forwarded unchanged; empty if mandates are not
    /// offered.
    pub(super) fn sealing_keys(&self) -> Vec<Value> {
        let seals = self.profile.offering.extends(AP2_MANDATE, self.release);
        self.profile.keys.iter().filter(|_| seals).filter_map(PublicKey::to_jwk).collect()
    }

    /// Logs for the operator what has changed since `before`. `chosen` is `true` if the release is configured.
    pub(super) fn compare(&self, before: &Self, chosen: bool) {
        let names = |offering: &SupportedOperations| -> Vec<&str> {
            let operations = offering.operations.iter().map(|operation| operation.row().name);
            operations.chain(offering.extensions.iter().copied()).collect()
        };
        let (old, new) = (names(&before.profile.offering), names(&self.profile.offering));
        let only = |those: &[&str], others: &[&str]| -> String {
            let only: Vec<_> = those.iter().copied().filter(|name| !others.contains(name)).collect();
            only.join(", ")
        };
        let (lost, gained) = (only(&old, &new), only(&new, &old));
        if !lost.is_empty() {
            tracing::warn!(
                lost,
                "upstream stopped offering a capability; calls that need it are rejected until it is back"
            );
        }
        if !gained.is_empty() {
            tracing::warn!(gained, "upstream offers a new capability; restart the gateway to use it");
        }
        if self.profile.handlers != before.profile.handlers {
            tracing::warn!("upstream changed its payment handlers; restart the gateway to publish them");
        }
        if self.newest > before.newest && !chosen {
            let (asked, newest) = (self.release.date(), self.newest.map(Release::date));
            tracing::warn!(asked, newest, "upstream supports a newer release; restart the gateway to use it");
        }
    }
}

/// Upstreams by origin: that of the shop's profile, and that of its endpoint.
#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<url::Origin, Upstream>>);

impl Lines {
    fn to(&self, url: &Url, options: &Options, clock: &Clock, random: &Random) -> Result<Upstream, SetupError> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&url.origin()) {
            return Ok(line.clone());
        }
        let call = ucp_net::Options { address: url.clone(), ..options.call.clone() };
        let line = Upstream::new(&call, response::judged, Arc::clone(clock), Arc::clone(random))?;
        lines.insert(url.origin(), line.clone());
        Ok(line)
    }
}

/// Returns the address of a business's profile; `address` may be that of the profile itself.
pub(super) fn profile_address(address: &Url) -> Url {
    let mut url = address.clone();
    if !url.path().ends_with(WELL_KNOWN) {
        url.set_path(&format!("{}{WELL_KNOWN}", address.path().trim_end_matches('/')));
    }
    url
}

/// Discovers the shop by its profile, in the newest release that both sides speak, or in the one that is `wanted`.
pub(super) async fn discover(
    address: &Url,
    wanted: Option<Release>,
    lines: &Lines,
    options: &Options,
    clock: &Clock,
    random: &Random,
) -> Result<KnownProfile, SetupError> {
    let since = clock();
    let mut document = fetch(address, wanted, lines, options, clock, random).await?;
    let mut profile = Profile::read(&document)?;
    let newest = profile.newest();
    if let Some(leaf) = profile.choose(wanted)? {
        let leaf = Url::parse(leaf)
            .map_err(|error| ProfileError::Malformed(format!("{leaf:?} must be an address: {error}")))?;
        document = fetch(&leaf, wanted, lines, options, clock, random).await?;
        profile = Profile::read(&document)?;
        if profile.choose(wanted)?.is_some() {
            return Err(ProfileError::Malformed("a profile of an older release is about another one".to_owned()).into());
        }
    }
    let line = |endpoint: &Url| lines.to(endpoint, options, clock, random);
    known((document, profile), newest, Some(since), options.transport, line)
}

/// Reads a profile that the shop sent to an earlier process.
pub(super) fn recall(
    document: Bytes,
    lines: &Lines,
    options: &Options,
    clock: &Clock,
    random: &Random,
) -> Result<KnownProfile, SetupError> {
    let profile = Profile::read(&document)?;
    let newest = profile.newest();
    if profile.choose(options.release)?.is_some() {
        return Err(ProfileError::Malformed("it is about another release".to_owned()).into());
    }
    let line = |endpoint: &Url| lines.to(endpoint, options, clock, random);
    known((document, profile), newest, None, options.transport, line)
}

fn known(
    (document, profile): (Bytes, Profile),
    newest: Option<Release>,
    since: Option<Instant>,
    transport: Option<Transport>,
    line: impl FnOnce(&Url) -> Result<Upstream, SetupError>,
) -> Result<KnownProfile, SetupError> {
    let release = profile.release.ok_or_else(|| ProfileError::Malformed("it has no known release".to_owned()))?;
    let (transport, endpoint) = profile.endpoint(transport)?;
    let endpoint = endpoint.clone();
    let line = line(&endpoint)?;
    Ok(KnownProfile { profile, release, newest, transport, endpoint, line, document, since })
}

async fn fetch(
    url: &Url,
    wanted: Option<Release>,
    lines: &Lines,
    options: &Options,
    clock: &Clock,
    random: &Random,
) -> Result<Bytes, SetupError> {
    let mut upstream_request = UpstreamRequest::new(CallKind::Read, Method::GET, url.clone())
        .header(header::ACCEPT, HeaderValue::from_static("application/json"));
    let own = format!("{}{}", options.base, profile_path(wanted.unwrap_or(Release::NEWEST), None));
    introduce(&mut upstream_request.headers, &own, &Trace::default());
    sign(&mut upstream_request, wanted, options);
    let received = lines.to(url, options, clock, random)?.call(upstream_request).await?;
    if !received.status.is_success() {
        return Err(SetupError::Status(received.status.as_u16()));
    }
    Ok(received.body)
}
