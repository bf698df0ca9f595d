//! The configuration: what a flag or the environment says, else what the file says, else the default.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`mod@admin`] | where the operator's own calls are taken |
//! | [`choice`] | what flags and the file choose among by a word |
//! | [`mod@compat`] | whose expectations are met beyond UCP |
//! | [`mod@directory`] | the directory of merchants, with the files it refers to |
//! | [`document`] | the file as it was written: where each key stands, and which keys there are |
//! | [`mod@file`] | the shape of the file |
//! | [`mod@flags`] | the flags, each of which can be set in the environment too |
//! | [`mod@payment`] | how buyers can pay, with the secrets that takes |
//! | [`platform`] | the registered platforms, with the files and secrets they refer to |
//! | [`mod@shown`] | the settings for people to read |
//! | [`mod@upstream`] | the commerce API behind the gateway, with the token it asks for |
//!
//! [`Settings`] are complete and checked: whatever they name was there and could be read, so that nothing of it can fail
//! any more once the gateway runs. No file is needed; `docs/gateway.example.toml` shows all of it.

mod admin;
mod choice;
mod compat;
mod directory;
mod document;
mod file;
mod flags;
pub(crate) mod payment;
mod platform;
mod shown;
pub(crate) mod upstream;

use std::{
    ffi::OsString,
    fmt, fs,
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use ucp_net::outbound::{Certificate, certificates};
use ucp_store::sample::{SAMPLES, Sample};
use ucp_trust::{
    address::Reach,
    api_key::ApiKeys,
    client::TrustedProxies,
    limit::{Quota, Quotas},
};
use url::{Host, Url};

pub(crate) use self::{
    admin::Admin,
    choice::{Anonymous, BackendKind, Check, McpErrorStatus, Policy, Signed, TokenKind, Transport},
    compat::{Compat, SimulationSecret},
    directory::Directory,
    flags::{DataOptions, ServeOptions},
    payment::Payment,
    platform::Platform,
    upstream::Upstream,
};
use self::{document::Document, file::Limit};

/// Everything that the gateway is told before it runs.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The address to listen on.
    pub(crate) listen: SocketAddr,
    /// Where operators call, if anywhere.
    pub(crate) admin: Option<Admin>,
    /// The address under which clients reach the gateway, where that is not the one it listens on.
    pub(crate) public_url: Option<Url>,
    /// Where a buyer can go on when a platform cannot be served.
    pub(crate) storefront: Option<Url>,
    /// How many connections are served at once.
    pub(crate) max_connections: usize,
    /// How many requests run at once, if that is limited.
    pub(crate) max_in_flight: Option<usize>,
    /// Who may say whom a request is forwarded for.
    pub(crate) trusted_proxies: TrustedProxies,
    /// The HTTP status of JSON-RPC errors.
    pub(crate) mcp_error_status: McpErrorStatus,
    /// The shop, or what is kept beside the upstream.
    pub(crate) data: Data,
    /// The commerce API behind the gateway, where it is not the embedded shop that is served.
    pub(crate) upstream: Option<Upstream>,
    /// What a caller's profile has to be good for.
    pub(crate) policy: Policy,
    /// What callers may use that are nobody in particular. Under [`Policy::Development`], every caller that names a profile
    /// is somebody.
    pub(crate) anonymous: Anonymous,
    /// Platform profiles.
    pub(crate) profiles: Profiles,
    /// The registered platforms.
    pub(crate) platforms: Vec<Platform>,
    /// How much a caller may send.
    pub(crate) limits: Limits,
    /// What becomes of signatures.
    pub(crate) signatures: Signatures,
    /// How buyers can pay.
    pub(crate) payments: Vec<Payment>,
    /// The directory of merchants.
    pub(crate) directory: Directory,
    /// Whose expectations are met beyond UCP.
    pub(crate) compat: Compat,
    /// What whoever simulates the course of an order has to show.
    pub(crate) simulation_secret: Option<SimulationSecret>,
}

/// The shop.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    /// The directory that holds it.
    pub(crate) dir: PathBuf,
    /// How many megabytes of products to keep in memory.
    pub(crate) cache_mb: u32,
    /// What fills the directory when there is no shop in it.
    pub(crate) sample: &'static Sample,
}

/// How platform profiles are fetched and kept.
#[derive(Debug)]
pub(crate) struct Profiles {
    /// Whether profiles may lie on this machine.
    pub(crate) reach: Reach,
    /// How long connecting may take.
    pub(crate) connect_timeout: Duration,
    /// How long a fetch may take altogether.
    pub(crate) timeout: Duration,
    /// How many profiles of unknown platforms are fetched, over all callers.
    pub(crate) fetches: Quota,
    /// Authorities to trust beside those of the system.
    pub(crate) extra_roots: Vec<Root>,
    /// How many megabytes of profiles to keep in memory.
    pub(crate) cache_mb: u32,
}

/// A file of certificates.
#[derive(Debug)]
pub(crate) struct Root {
    /// The file.
    pub(crate) path: PathBuf,
    /// What was in it.
    pub(crate) certificates: Vec<Certificate>,
}

/// How much one caller may send; where there is no quota, there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Of one network address, for its anonymous requests.
    pub(crate) anonymous: Option<Quota>,
    /// Of one platform that signs and is not registered.
    pub(crate) signed: Option<Quota>,
    /// Of one registered platform that has no limit of its own.
    pub(crate) keyed: Option<Quota>,
    /// Of one network address, for signatures that turn out wrong.
    pub(crate) unverified: Option<Quota>,
}

/// What becomes of signatures, by what a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signatures {
    /// On requests for the catalog.
    pub(crate) browsing: Check,
    /// On requests for carts and checkouts.
    pub(crate) purchase: Check,
    /// On requests for orders.
    pub(crate) order: Check,
    /// Which answers are signed.
    pub(crate) responses: Signed,
}

/// Why there are no settings: everything that is wrong, a line each.
#[derive(Debug)]
pub(crate) struct ConfigError(Vec<String>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

/// Looks a variable of the environment up.
type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Settings {
    /// What `flags` and the file that they name amount to at this time.
    pub(crate) fn resolve(flags: &ServeOptions, now: SystemTime) -> Result<Self, ConfigError> {
        Self::resolve_in(flags, &|name| std::env::var_os(name), now)
    }

    fn resolve_in(flags: &ServeOptions, environment: Environment<'_>, now: SystemTime) -> Result<Self, ConfigError> {
        let mut document = match &flags.config {
            Some(path) => Document::read(path)?,
            None => Document::default(),
        };
        let file::File {
            server,
            data,
            callers,
            profiles,
            platform,
            limits,
            signatures,
            payment,
            merchants,
            geocoder,
            upstream,
        } = document.take();
        let mut problems = Problems { document: &document, found: Vec::new() };

        let listen = flags.listen.or(server.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080)));
        let public_url = flags.public_url.clone().or(server.public_url.map(|url| url.0));
        let private = is_private(listen, public_url.as_ref());
        let compat = flags.compat.or(server.compat).unwrap_or_default();
        if compat != Compat::None && !private {
            problems.add(
                "server.compat",
                format_args!(
                    "this is for testing, and needs `server.listen` and `server.public_url` to be loopback addresses"
                ),
            );
        }
        if compat == Compat::None && flags.simulation_secret.is_some() {
            problems.add("server.compat", format_args!("a simulation secret means something with `conformance` only"));
        }
        let by_reach = if private { Policy::Development } else { Policy::Require };
        let policy = flags.policy.or(callers.policy).unwrap_or(by_reach);
        let defaults = Defaults::of(policy);
        let profiles = profiles_of(profiles, private, &mut problems);
        let limits = Limits {
            anonymous: Limit::or(limits.anonymous.as_ref(), defaults.anonymous),
            signed: Limit::or(limits.signed.as_ref(), defaults.signed),
            keyed: Limit::or(limits.keyed.as_ref(), defaults.keyed),
            unverified: Limit::or(limits.unverified.as_ref(), defaults.unverified),
        };
        let platforms = platform::resolve(platform, profiles.reach, limits.keyed, &mut problems, environment);
        let development = policy == Policy::Development;
        let (token_file, token_env) = (server.admin_token_file.as_deref(), server.admin_token_env.as_deref());
        let admin = admin::resolve(server.admin_listen, token_file, token_env, &mut problems, environment);
        let payments = payment::resolve(payment, development, private, &mut problems, environment);
        let upstream =
            upstream::resolve(&flags.upstream, upstream, public_url.as_ref(), &mut problems, environment, now);
        if compat != Compat::None && upstream.is_some() {
            problems.add("server.compat", format_args!("the suite needs the embedded shop"));
        }
        // Its merchants belong to the sample.
        let sampled = development && upstream.is_none();
        let directory = directory::resolve(merchants, &geocoder, sampled, &profiles.extra_roots, &mut problems);
        let settings = Self {
            listen,
            admin,
            payments,
            directory,
            upstream,
            compat,
            simulation_secret: flags.simulation_secret.clone(),
            storefront: server.storefront.map(|url| url.0),
            public_url,
            max_connections: flags.max_connections.or(server.max_connections.map(|most| most.0)).unwrap_or(1_024)
                as usize,
            max_in_flight: server.max_in_flight.map(|most| most.0).or(defaults.max_in_flight).map(|most| most as usize),
            trusted_proxies: TrustedProxies::new(server.trusted_proxies.into_iter().map(|network| network.0).collect()),
            mcp_error_status: flags.mcp_error_status.or(server.mcp_error_status).unwrap_or(McpErrorStatus::Fitting),
            data: Data::with(
                &flags.data,
                data.dir.map(|dir| document.relative(&dir)),
                data.cache_mb.map(|size| size.0),
                data.sample.map(|sample| sample.0),
            ),
            policy,
            anonymous: callers.anonymous.unwrap_or(Anonymous::Browsing),
            profiles,
            platforms,
            limits,
            signatures: Signatures {
                browsing: signatures.browsing.unwrap_or(Check::Verify),
                purchase: signatures.purchase.unwrap_or(Check::Verify),
                order: signatures.order.unwrap_or(Check::Verify),
                responses: signatures.responses.unwrap_or(Signed::Completing),
            },
        };
        problems.settle(settings)
    }

    /// The quotas of all callers; the registered platforms are in the order of [`Settings::platforms`].
    pub(crate) fn quotas(&self) -> Quotas {
        Quotas {
            anonymous: self.limits.anonymous,
            signed: self.limits.signed,
            platforms: self.platforms.iter().map(|platform| platform.limit).collect(),
            unverified: self.limits.unverified,
        }
    }

    /// The API keys, and the place of their platform in [`Settings::platforms`].
    pub(crate) fn api_keys(&self) -> ApiKeys<usize> {
        let of = |(index, platform): (usize, &'_ Platform)| {
            platform.api_keys.clone().into_iter().map(move |key| (key, index))
        };
        ApiKeys::new(self.platforms.iter().enumerate().flat_map(of))
    }
}

impl Data {
    fn with(flags: &DataOptions, dir: Option<PathBuf>, cache_mb: Option<u32>, sample: Option<&'static Sample>) -> Self {
        Self {
            sample: flags.sample.or(sample).unwrap_or(&SAMPLES[0]),
            dir: flags.data_dir.clone().or(dir).unwrap_or_else(|| PathBuf::from("./data")),
            cache_mb: flags.cache_mb.or(cache_mb).unwrap_or(64),
        }
    }
}

/// For commands that take no file.
impl From<&DataOptions> for Data {
    fn from(flags: &DataOptions) -> Self {
        Self::with(flags, None, None, None)
    }
}

/// What a policy implies where nothing else is said.
struct Defaults {
    anonymous: Option<Quota>,
    signed: Option<Quota>,
    keyed: Option<Quota>,
    unverified: Option<Quota>,
    max_in_flight: Option<u32>,
}

impl Defaults {
    /// In development nothing is limited: whoever calls is the developer, and benchmarks and test-suites call fast.
    const fn of(policy: Policy) -> Self {
        match policy {
            Policy::Development => {
                Self { anonymous: None, signed: None, keyed: None, unverified: None, max_in_flight: None }
            }
            Policy::Require | Policy::Lenient => Self {
                anonymous: Quota::new(50, 100),
                signed: Quota::new(100, 200),
                keyed: Quota::new(200, 400),
                unverified: Quota::new(20, 40),
                max_in_flight: Some(512),
            },
        }
    }
}

/// Whether only this machine can reach the gateway. One that has a public address is reached through a proxy, wherever it
/// listens itself.
fn is_private(listen: SocketAddr, public_url: Option<&Url>) -> bool {
    let is_loopback = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    listen.ip().to_canonical().is_loopback() && public_url.is_none_or(is_loopback)
}

fn profiles_of(said: file::Profiles, private: bool, problems: &mut Problems<'_>) -> Profiles {
    let loopback = said.loopback.unwrap_or(false);
    if loopback && !private {
        problems.add(
            "profiles.loopback",
            format_args!(
                "this is for development, and needs `server.listen` and `server.public_url` to be loopback addresses"
            ),
        );
    }
    let milliseconds =
        |said: Option<file::Milliseconds>, default| Duration::from_millis(said.map_or(default, |said| said.0.into()));
    let (connect_timeout, timeout) =
        (milliseconds(said.connect_timeout_ms, 2_000), milliseconds(said.timeout_ms, 5_000));
    if connect_timeout > timeout {
        problems
            .add("profiles.connect_timeout_ms", format_args!("this is more than all of a fetch may take, {timeout:?}"));
    }
    let mut extra_roots = Vec::new();
    for path in said.extra_roots {
        let path = problems.document.relative(&path);
        let read = fs::read(&path).map_err(|error| error.to_string());
        match read.and_then(|pem| certificates(&pem).map_err(|error| error.to_string())) {
            Ok(certificates) => extra_roots.push(Root { path, certificates }),
            Err(error) => problems.add("profiles.extra_roots", format_args!("{}: {error}", path.display())),
        }
    }
    Profiles {
        reach: if loopback { Reach::Loopback } else { Reach::Public },
        connect_timeout,
        timeout,
        fetches: said.fetches.map_or(file::FETCHES, Quota::from),
        extra_roots,
        cache_mb: said.cache_mb.map_or(64, |size| size.0),
    }
}

/// What is wrong with a file that could be read.
struct Problems<'a> {
    document: &'a Document,
    found: Vec<String>,
}

impl Problems<'_> {
    /// Something is wrong with what `key` says.
    fn add(&mut self, key: &str, problem: impl fmt::Display) {
        self.found.push(self.document.about(key, problem));
    }

    fn settle<T>(self, settings: T) -> Result<T, ConfigError> {
        if self.found.is_empty() { Ok(settings) } else { Err(ConfigError(self.found)) }
    }
}

#[cfg(test)]
mod tests;
