//! Conversion of the settings into the options of admission control: how profiles are fetched and cached, and what
//! callers may do.

use std::{collections::HashMap, sync::Arc};

use http::HeaderMap;
use ucp_config::{Anonymous, CatalogView, Check, Number, Profiles, Settings, Signed};
use ucp_core::Refusal;
use ucp_rest::publication::PROFILE_PATH;
use ucp_service::{
    Allowances,
    access::{Access, CallerQuota, SignatureRule},
    header::UCP_AGENT,
    ingress::{Hosts, Origins, Rules, SignedAnswers},
    negotiated_profile::NegotiatedProfile,
    platform::{Business, Policy},
    signing::CurrentKey,
};
use ucp_trust::{
    directory::{Directory, DirectoryOptions},
    fetch::{FetchOptions, Fetcher},
    host::without_dot,
    limit::{Quota, RateLimits},
    profile::PlatformProfile,
    signature::{RequestLine, sign_request},
};
use ucp_wire::view::View;
use url::Url;

use crate::{
    address::{base, scheme},
    clock,
    pool::Pool,
};

/// Builds the fetcher of profiles. Its requests name the gateway's own profile in `UCP-Agent`, and are signed if there
/// is a signing key.
pub(crate) fn fetcher(
    settings: &Settings,
    base: &str,
    signing_key: &Arc<CurrentKey>,
) -> Result<Fetcher, Box<dyn std::error::Error>> {
    let agent = http::HeaderValue::from_str(&format!("profile=\"{base}{PROFILE_PATH}\""))?;
    let signing_key = Arc::clone(signing_key);
    let introduce = move |headers: &mut HeaderMap, url: &Url| {
        headers.insert(UCP_AGENT, agent.clone());
        let (scheme, authority) = (scheme(url), url.authority().to_owned());
        let line = RequestLine { method: "GET", scheme, authority: &authority, path: url.path(), query: url.query() };
        if let Some(key) = signing_key.get()
            && let Err(error) = sign_request(line, headers, &[], &[], &key, clock::now())
        {
            tracing::error!(%error, "signing a request failed");
        }
    };
    Ok(Fetcher::new(FetchOptions { sign: Some(Arc::new(introduce)), ..fetch_options(settings) })?)
}

/// Returns the profile URL of example calls: one that calls can name as it is, or a placeholder if the policy requires
/// that the profile exists.
pub fn example_profile(policy: ucp_config::Policy) -> &'static str {
    match policy {
        ucp_config::Policy::Require => "https://YOUR-PLATFORM/profile.json",
        ucp_config::Policy::Lenient | ucp_config::Policy::Development => "https://agent.example.com/profile.json",
    }
}

/// Returns the options of requests to platforms: the networks that may be reached, timeouts, and additional certificate
/// authorities.
pub fn fetch_options(settings: &Settings) -> FetchOptions {
    let profiles = &settings.sections.profiles;
    FetchOptions {
        reach: settings.reach,
        connect_timeout: profiles.connect_timeout_ms.time(),
        deadline: profiles.timeout_ms.time(),
        roots: settings.extra_roots.clone(),
        ..FetchOptions::default()
    }
}

/// Returns the customer groups of platforms by the URL of the profile, or by the identity of one that publishes none.
pub(crate) fn customer_groups(platforms: &[ucp_config::Platform]) -> HashMap<String, String> {
    let group = |platform: &ucp_config::Platform| {
        Some((platform.profile.as_str().to_owned(), platform.customer_group.clone()?))
    };
    platforms.iter().filter_map(group).collect()
}

/// Builds the directory of platforms, which fetches the profiles that are not cached.
pub(crate) fn directory(
    business: &Arc<Business>,
    fetcher: Fetcher,
    profiles: &Profiles,
) -> Directory<NegotiatedProfile> {
    let business = Arc::clone(business);
    Directory::new(fetcher, directory_options(profiles), move |profile| business.negotiated_profile(profile))
}

fn directory_options(profiles: &Profiles) -> DirectoryOptions {
    let Quota { per_second, burst } = profiles.fetches.into();
    DirectoryOptions {
        capacity: profiles.cache_mb.bytes(),
        fetches_per_second: per_second.get(),
        fetch_burst: burst.get(),
        ..DirectoryOptions::default()
    }
}

/// Waits in the background for the first fetch of what a registered platform publishes. If it fails, `log` is called with
/// the name of the platform and the reason.
fn watch(
    first: impl Future<Output = Result<(), Refusal>> + Send + 'static,
    platform: &ucp_config::Platform,
    log: fn(&str, &str),
) {
    let platform = platform.name.clone();
    tokio::spawn(async move {
        if let Err(refusal) = first.await {
            log(&platform, &refusal.content);
        }
    });
}

/// Builds the directory of bots that identify themselves by keys that they publish (Web Bot Auth), under the same limits as
/// that of platforms. The keys of registered ones are kept fresh.
pub(crate) fn bots(settings: &Settings, fetcher: Fetcher) -> Directory<()> {
    let read = PlatformProfile::read_directory;
    let options = DirectoryOptions { read, ..directory_options(&settings.sections.profiles) };
    let bots = Directory::new(fetcher, options, |_| ());
    for platform in &settings.platforms {
        if let Some(address) = &platform.signature_agent {
            watch(bots.pin_url(address.clone()), platform, |platform, reason| {
                tracing::warn!(platform, reason, "fetching the keys of a registered bot failed");
            });
        }
    }
    bots
}

/// Adds the registered platforms to the directory, so that their calls need not wait for a fetch. A profile that is
/// configured as a file is never fetched; the others are fetched in the background from now on, and may still be
/// missing when the first calls arrive. Fails with a message if a pinned profile is malformed.
pub(crate) fn register(
    directory: &Directory<NegotiatedProfile>,
    platforms: &[ucp_config::Platform],
) -> Result<(), Box<dyn std::error::Error>> {
    for platform in platforms {
        let url = platform.profile.clone();
        match &platform.pinned {
            Some(pinned) => {
                let unreadable = |refusal: Refusal| {
                    format!(
                        "the profile of platform {} in {} cannot be used: {}",
                        platform.name,
                        pinned.path.display(),
                        refusal.content
                    )
                };
                let (profile, notes) = PlatformProfile::read(&pinned.bytes).map_err(unreadable)?;
                for note in notes {
                    tracing::warn!(platform = platform.name, note, "reading a pinned profile leniently");
                }
                directory.pin(url, profile);
            }
            None if !url.is_published() => {}
            None => watch(directory.pin_url(url), platform, |platform, reason| {
                tracing::warn!(platform, reason, "fetching a registered profile failed");
            }),
        }
    }
    Ok(())
}

/// Returns the origins of pages of other sites that may call the gateway.
pub fn origins(settings: &Settings) -> Origins {
    Origins(settings.sections.server.allowed_origins.iter().filter_map(|origin| origin.parse().ok()).collect())
}

/// Returns the rules by which requests are admitted, without a signing key.
pub(crate) fn rules(settings: &Settings, public_url: &Url, pool: &Pool) -> Rules {
    let agents = settings.platforms.iter().enumerate();
    let stated = settings.mount.hosts.iter().chain(&settings.sections.server.hosts).cloned();
    let names = public_url.host_str().map(str::to_owned).into_iter().chain(stated);
    Rules {
        agents: agents.filter_map(|(index, it)| Some((it.signature_agent.clone()?, index))).collect(),
        hosts: Hosts { names: names.map(|name| without_dot(&name).to_owned()).collect(), origins: origins(settings) },
        scheme: scheme(public_url),
        trusted_proxies: settings.process.trusted_proxies.clone(),
        registered: settings.platforms.iter().map(|platform| platform.profile.clone()).collect(),
        api_keys: settings.api_keys(),
        clients: settings.clients(&base(public_url)),
        certificates: settings.certificates(),
        limits: RateLimits::new(&settings.quotas()),
        documents: RateLimits::new(&settings.quotas()),
        in_flight: pool.places.clone(),
        bodies: pool.bodies.clone(),
        verifies: access(settings).verifies(),
        signed_answers: match settings.sections.signatures.responses {
            Signed::Completing => SignedAnswers::Concluding,
            Signed::All => SignedAnswers::All,
            Signed::None => SignedAnswers::None,
        },
        signing_key: Arc::default(),
        clock: clock::now,
    }
}

/// Returns the treatment of platforms whose profile cannot be fetched.
pub(crate) fn policy(settings: &Settings) -> Policy {
    match settings.policy {
        ucp_config::Policy::Require => Policy::Require,
        ucp_config::Policy::Lenient => Policy::Lenient,
        ucp_config::Policy::Development => Policy::Development,
    }
}

/// Returns the times that calls may take in which the shop behind the gateway is asked, if there is one.
pub(crate) fn allowances(settings: &Settings) -> Option<Allowances> {
    let upstream = &settings.sections.upstream;
    settings.upstream.as_ref().map(|_| Allowances {
        browse: upstream.read_timeout_ms.time(),
        purchase: upstream.write_timeout_ms.time(),
        // The cart is priced once more before the order is placed.
        complete: upstream.write_timeout_ms.time() + upstream.complete_timeout_ms.time(),
    })
}

/// Returns the view of answers to callers that choose none.
pub(crate) fn view(settings: &Settings) -> View {
    match settings.sections.callers.view {
        CatalogView::Standard => View::Standard,
        CatalogView::Full => View::Full,
        CatalogView::Compact => View::Compact,
    }
}

/// Returns the access requirements and the signature rules of each class of operations.
pub(crate) fn access(settings: &Settings) -> Access {
    let rule = |check| match check {
        Check::Off => SignatureRule::Off,
        Check::Verify => SignatureRule::Verify,
        Check::Enforce => SignatureRule::Enforce,
    };
    let limits = &settings.sections.limits;
    let held = |open: Option<u64>, bytes: Option<u64>| {
        let is_limited = open.is_some() || bytes.is_some();
        is_limited.then(|| CallerQuota { open: open.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) })
    };
    Access {
        held: held(limits.max_open_carts.map(|held| held.count() as u64), limits.max_open_carts_mb.map(Number::bytes)),
        keyed_quota: held(
            limits.max_open_carts_keyed.map(|held| held.count() as u64),
            limits.max_open_carts_keyed_mb.map(Number::bytes),
        ),
        anonymous_purchases: settings.policy == ucp_config::Policy::Development
            || settings.sections.callers.anonymous == Anonymous::Everything,
        browsing: rule(settings.sections.signatures.browsing),
        purchase: rule(settings.sections.signatures.purchase),
        order: rule(settings.sections.signatures.order),
    }
}
