//! The configuration. A flag or environment variable takes precedence over the file, and the file over the default.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `sections` | the sections of the file: every key, with its documentation and its default |
//! | `value` | types of values |
//! | `choice` | enumerations of flags and the file |
//! | `flags` | the flags, each of which can be set in the environment too |
//! | [`environment`] | warnings about variables of the environment that are not read |
//! | [`schema`] | the JSON Schema of the file, and the example file |
//! | [`reference`](mod@reference) | the page of all keys |
//! | `document` | the file as written: the position of each key, and the errors found |
//! | `display` | the settings as text for operators |
//! | `admin` | the listener of the admin API |
//! | `catalog` | the copy of the shop's catalog |
//! | `search` | names that mean the same in searches, and the model, from their files |
//! | `database` | the database that gateways share |
//! | `process` | what belongs to the process and to none of its shops |
//! | `texts` | the languages of the pages |
//! | `several` | all shops of a process |
//! | `mount` | where one of several shops is reached |
//! | `directory` | the directory of merchants, with the files it refers to |
//! | `payment` | the payment handlers, with their secrets |
//! | `platform` | the registered platforms, with the files and secrets they refer to |
//! | [`first_key`] | the API key that is made at the first start |
//! | `telemetry` | where spans and events are sent, with the tokens that are asked for there |
//! | `tls` | the certificate of the listener, with the files it is read from |
//! | `upstream` | the commerce API behind the gateway, with the token it asks for |
//! | `warnings` | warnings about valid settings that are seldom wanted |
//!
//! [`Settings`] are complete and checked: every file and secret that they refer to has been read, so that none of them
//! can fail to load once the gateway runs. A configuration file is optional; `docs/gateway.example.toml` shows all of
//! its keys.

mod admin;
mod catalog;
mod choice;
mod database;
mod directory;
mod display;
mod document;
pub mod environment;
pub mod first_key;
mod flags;
mod mount;
mod payment;
mod platform;
mod process;
pub mod reference;
pub mod schema;
mod search;
mod sections;
mod several;
mod telemetry;
mod texts;
mod tls;
mod upstream;
mod value;
mod warnings;

use std::{
    collections::HashMap,
    ffi::OsString,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ipnet::IpNet;
use ucp_core::ShopId;
use ucp_net::outbound::{Certificate, certificates};
use ucp_service::body;
use ucp_shop::{Model, Synonyms};
use ucp_trust::{
    access_token::{Client, Clients},
    address::Reach,
    api_key::ApiKeys,
    certificate::Fingerprint,
    client::TrustedProxies,
    host::{undotted, without_dot},
    keyring::Keyring,
    limit::Quotas,
};
use url::{Host, Url};

#[cfg(not(feature = "directory"))]
pub use self::directory::WITHOUT;
pub use self::{
    admin::Admin,
    catalog::{CatalogCopy, FeedPlace},
    choice::{
        Anonymous, BackendKind, CatalogView, Check, FeedFormat, LogFormat, LogLevel, McpErrorStatus, Policy, Signed,
        TokenKind, Transport, WebhookId, WebhookRefusal, WebhookTimestamp,
    },
    database::database_at,
    directory::{Directory, Search},
    flags::{DataOptions, DatabaseOptions, ServeOptions, UpstreamOptions},
    payment::Payment,
    platform::{Platform, Webhook},
    process::Process,
    sections::{Catalog, Data, Pages, Profiles, Server},
    several::{Configuration, Listener, listener, shop_named},
    telemetry::Receiver,
    upstream::{Bot, Upstream, is_exposed},
    value::{DatabaseAddress, Number, listen, public_url},
};
use self::{
    choice::CatalogSource, document::Document, mount::Mount, sections::Sections, telemetry::Receivers, texts::Texts,
    value::Limit,
};

/// Complete and checked configuration of a shop.
#[derive(Debug)]
pub struct Settings {
    /// The keys of the file, completed by flags and defaults.
    pub sections: Sections,
    /// Identifier of the shop; of one of several, also its hosts and its path.
    pub mount: Mount,
    /// Settings of the process.
    pub process: Arc<Process>,
    /// Requirements on the profiles of callers.
    pub policy: Policy,
    /// Networks that profile URLs may lead to: the public Internet, or also this machine.
    pub reach: Reach,
    /// Time that requests in flight have to finish after a shutdown.
    pub drain: Duration,
    /// Certificate authorities to trust besides those of the system.
    pub extra_roots: Vec<Certificate>,
    /// Database that gateways share; `None` if everything is in the data directory.
    pub database: Option<ucp_postgres::Options>,
    /// Commerce API behind the gateway; `None` with the embedded shop.
    pub upstream: Option<Upstream>,
    /// Copy of the shop's catalog; `None` if there is none.
    pub catalog: Option<CatalogCopy>,
    /// Names that mean the same in searches.
    pub synonyms: Arc<Synonyms>,
    /// Model of which the vectors of products are made.
    pub model: Option<Arc<Model>>,
    /// The registered platforms.
    pub platforms: Vec<Platform>,
    /// Payment handlers.
    pub payments: Vec<Payment>,
    /// The directory of merchants.
    pub directory: Directory,
    /// Languages of the pages.
    pub texts: Texts,
    /// Warnings about settings that are valid and seldom wanted.
    pub(crate) warnings: Vec<String>,
    /// Number that differs where anything differs that the shop was configured with, the content of files included.
    pub fingerprint: u64,
}

/// All errors of a configuration, one line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(Vec<String>);

/// Command that makes what is missing.
const MAKE: &str = "make one with `ucp-gateway keys generate`";

/// Signing key that the settings need, and that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingKey {
    /// A key for answers.
    #[error("answers are to be signed, but there is no key; {MAKE}")]
    Answers,
    /// A key for requests to the shop.
    #[error("requests to the shop are to be signed (`upstream.sign_as_bot`), but there is no key for that; {MAKE}")]
    Requests,
}

/// Lookup of an environment variable.
type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Settings {
    /// Checks that there are the keys that have to be there. Fails with the first [`MissingKey`].
    pub fn check_keys(&self, keyring: &Keyring) -> Result<(), MissingKey> {
        if self.sections.signatures.responses == Signed::All && keyring.signer().is_none() {
            return Err(MissingKey::Answers);
        }
        let as_bot = self.upstream.as_ref().is_some_and(|upstream| matches!(upstream.bot, Bot::Own));
        if as_bot && keyring.signer().is_none_or(|key| key.algorithm().http_name().is_none()) {
            return Err(MissingKey::Requests);
        }
        Ok(())
    }

    /// Completes and checks what was read of a shop, at the time `now`. What belongs to the process is resolved too, where
    /// it is not given.
    fn complete(
        mut sections: Sections,
        mount: Mount,
        process: Option<&Arc<Process>>,
        mut document: Document<'_>,
        now: SystemTime,
    ) -> Result<Self, ConfigError> {
        let Sections {
            server,
            log,
            telemetry,
            events,
            data,
            upstream,
            catalog,
            search,
            callers,
            profiles,
            platform,
            limits,
            pages,
            payment,
            merchants,
            geocoder,
            ..
        } = &mut sections;

        several::address(server, &mount, &document);
        let public_url = server.public_url.as_ref().map(|url| &url.0);
        if let Some(Err(problem)) = public_url.map(|url| value::public_url(url.as_str())) {
            document.unfit("server.public_url", problem);
        }
        if server.storefront.as_ref().is_some_and(|url| url.0.scheme() != "https") {
            document.unfit("server.storefront", "expected an https address");
        }
        hosts(&mut server.hosts, &mut document);
        origins(&mut server.allowed_origins, &mut document);
        let public_url = server.public_url.as_ref().map(|url| &url.0);
        let private = is_private(server) && mount.is_local();
        let by_reach = if private { Policy::Development } else { Policy::Require };
        let policy = *callers.policy.get_or_insert(by_reach);
        let development = policy == Policy::Development;
        if !development {
            server.max_in_flight.get_or_insert_default();
        }
        limits.anonymous.get_or_insert_with(|| Limit::usual(development));
        limits.signed.get_or_insert_with(|| Limit::usual(development));
        limits.unverified.get_or_insert_with(|| Limit::usual(development));
        if !development {
            limits.max_open_carts.get_or_insert_default();
            limits.max_open_carts_mb.get_or_insert_default();
            limits.max_open_carts_keyed.get_or_insert_default();
            limits.max_open_carts_keyed_mb.get_or_insert_default();
        }
        let keyed = limits.keyed.get_or_insert_with(|| Limit::usual(development)).quota();
        if profiles.loopback == Some(true) && !private {
            let problem =
                "this is for development, and needs `server.listen` and `server.public_url` to be loopback addresses";
            document.add("profiles.loopback", problem);
        }
        let loopback = *profiles.loopback.get_or_insert(development && private);
        let reach = if loopback { Reach::Loopback } else { Reach::Public };
        let timeout = profiles.timeout_ms.time();
        if profiles.connect_timeout_ms.time() > timeout {
            let problem = format_args!("this is more than all of a fetch may take, {timeout:?}");
            document.add("profiles.connect_timeout_ms", problem);
        }
        let paying = payment.iter().map(|payment| payment.deadline_ms.time());
        let concluding = paying.fold(upstream.complete_timeout_ms.time(), Duration::max);
        let longest = body::DEADLINE + timeout + concluding;
        let drain = server.drain_timeout_ms.get_or_insert_with(|| Number::of_time(longest)).time();
        let extra_roots = extra_roots(profiles.ca_files.iter().map(|path| &**path), &mut document);
        let tls = process.is_none().then(|| tls::resolve(server, &mut document)).flatten();
        let database = database::resolve(data, &mut document);
        if server.tls_client_ca_file.is_none() {
            for (index, _) in platform.iter().enumerate().filter(|(_, said)| said.certificate_sha256.is_some()) {
                let key = format!("platform[{index}].certificate_sha256");
                document.add(&key, "this needs `server.tls_client_ca_file`");
            }
        }
        let mut platforms = platform::resolve(platform, reach, keyed, &mut document);
        if !mount.is_one_of_several {
            platforms.extend(platform::first(&data.dir, keyed, &mut document));
        }
        let payments = payment::resolve(payment, development, private, &mut document);
        if database.is_some() && upstream.backend == BackendKind::Embedded && catalog.source == CatalogSource::Feed {
            let problem = "with a database, products come from `ucp-gateway import`: \"feed\" needs the shop in the data directory";
            document.add("catalog.source", problem);
        }
        let catalog = catalog::resolve(catalog, upstream.backend, &mut document);
        let synonyms = search::synonyms(search, &mut document);
        let model = search::model(search, &mut document);
        let upstream = upstream::resolve(upstream, public_url, &mut document, now);
        // In development, the directory is enabled by default beside the embedded shop only: the sample merchants
        // belong to that shop's sample.
        let sampled = development && upstream.is_none();
        let known = process.map(|process| &process.search);
        let directory = directory::resolve(merchants, geocoder, sampled, &extra_roots, known, &mut document);
        let process = process.cloned().unwrap_or_else(|| {
            let receivers = telemetry::resolve(telemetry, events, document.environment(), &mut document);
            let trusted_proxies = trusted_proxies(&mut server.trusted_proxies, &mut document);
            let admin = admin::resolve(server, development, &mut document);
            let (server, log, telemetry) = (server.clone(), log.clone(), telemetry.clone());
            let (events, data) = (events.clone(), data.clone());
            let texts = Texts::resolve(pages.texts_dir.as_deref(), None, &mut document);
            let search = directory.search.clone();
            Arc::new(Process {
                config: document.path(),
                server,
                log,
                telemetry,
                events,
                data,
                trusted_proxies,
                tls,
                admin,
                receivers,
                texts,
                search,
            })
        });
        let texts = Texts::resolve(pages.texts_dir.as_deref(), Some(&process.texts), &mut document);
        let mut settings = Self {
            mount,
            process,
            policy,
            reach,
            drain,
            extra_roots,
            database,
            upstream,
            catalog,
            synonyms: Arc::new(synonyms),
            model,
            platforms,
            payments,
            directory,
            texts,
            warnings: Vec::new(),
            fingerprint: document.fingerprint(),
            sections,
        };
        warnings::add(&settings, &mut document);
        settings.warnings = document.warnings();
        document.settle(settings)
    }

    /// Returns the directory of the shop's keys and of what the operator has decided about it: the data directory, or a
    /// directory in it for one of several shops.
    pub fn dir(&self) -> PathBuf {
        shop_dir(&self.sections.data.dir, &self.mount.id)
    }

    /// Returns the directory of the shop's signing keys.
    pub fn keys(&self) -> PathBuf {
        match &self.sections.data.keys_dir {
            Some(dir) => shop_dir(dir, &self.mount.id),
            None => self.dir().join("keys"),
        }
    }

    /// Returns the URL under which clients reach the shop; those on this machine reach the listener under `local`.
    pub fn public_url(&self, local: &Url) -> Url {
        match &self.sections.server.public_url {
            Some(url) => self.mount.below(url.0.clone()),
            None => self.mount.on(local.clone()),
        }
    }

    /// Returns `true` if others can reach the gateway and nobody has a credential that it knows, nor is taken at their
    /// word.
    pub fn needs_first_key(&self) -> bool {
        let server = &self.sections.server;
        let private = is_private(server);
        !private && self.policy != Policy::Development && self.platforms.is_empty()
    }

    /// Returns `true` if the shop behind the gateway keeps the orders.
    pub fn are_orders_elsewhere(&self) -> bool {
        self.sections.upstream.backend == BackendKind::Ucp
    }

    /// Returns the quotas of all callers; the registered platforms are in the order of [`Settings::platforms`].
    pub fn quotas(&self) -> Quotas {
        let limits = &self.sections.limits;
        Quotas {
            anonymous: limits.anonymous.and_then(Limit::quota),
            signed: limits.signed.and_then(Limit::quota),
            platforms: self.platforms.iter().map(|platform| platform.limit).collect(),
            unverified: limits.unverified.and_then(Limit::quota),
        }
    }

    /// Returns the API keys, each with the index of its platform in [`Settings::platforms`].
    pub fn api_keys(&self) -> ApiKeys<usize> {
        let of = |(index, platform): (usize, &'_ Platform)| {
            platform.api_keys.clone().into_iter().map(move |key| (key, index))
        };
        ApiKeys::new(self.platforms.iter().enumerate().flat_map(of))
    }

    /// Returns the clients that may ask for access tokens of the shop at a base URL, each with the index of its platform in
    /// [`Settings::platforms`].
    pub fn clients(&self, base: &str) -> Clients<usize> {
        let of = |(platform, stated): (usize, &'_ Platform)| {
            let platform::Client { id, secrets } = stated.client.as_ref()?;
            Some(Client { id: id.clone(), secrets: secrets.clone(), platform })
        };
        Clients::new(base, self.platforms.iter().enumerate().filter_map(of).collect())
    }

    /// Returns the client certificates, each with the index of its platform in [`Settings::platforms`].
    pub fn certificates(&self) -> HashMap<Fingerprint, usize> {
        let of = |(index, platform): (usize, &'_ Platform)| {
            platform.certificates.clone().into_iter().map(move |certificate| (certificate, index))
        };
        self.platforms.iter().enumerate().flat_map(of).collect()
    }
}

/// Returns the directory of the keys and decisions of a shop in a data directory.
pub fn shop_dir(data_dir: &Path, shop: &ShopId) -> PathBuf {
    if *shop == ShopId::default() { data_dir.to_owned() } else { data_dir.join("shops").join(shop.as_str()) }
}

/// Returns `true` if only this machine can reach the gateway. One with a public URL or a host name that is not of loopback
/// is reached through a proxy, even if it listens on a loopback address.
fn is_private(server: &Server) -> bool {
    let is_local = |name: &String| Host::parse(name).is_ok_and(|host| is_loopback_host(&host));
    server.listen.0.ip().to_canonical().is_loopback()
        && server.public_url.as_ref().is_none_or(|url| is_loopback(&url.0))
        && server.hosts.iter().all(is_local)
}

/// Returns `true` if a URL is one of this machine.
pub fn is_loopback(url: &Url) -> bool {
    url.host().is_some_and(|host| is_loopback_host(&host))
}

/// Returns `true` if a host is this machine: an address of loopback, or a name below `localhost` (RFC 6761).
fn is_loopback_host<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost" || name.as_ref().ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Reads the certificates in files.
fn extra_roots<'a>(files: impl Iterator<Item = &'a Path>, document: &mut Document<'_>) -> Vec<Certificate> {
    let mut roots = Vec::new();
    for path in files {
        let pem = document.bytes(path);
        let read = pem.and_then(|pem| certificates(&pem).map_err(|error| format!("{}: {error}", path.display())));
        roots.extend(document.led("profiles.ca_files", read).into_iter().flatten());
    }
    roots
}

/// Checks host names, and normalizes them in `said`.
fn hosts(said: &mut [String], document: &mut Document<'_>) {
    for text in said {
        match Host::parse(without_dot(text)) {
            Ok(host) => *text = host.to_string(),
            Err(_) => {
                let expected = "expected a host name without port, such as ucp-gateway or shop.example.com";
                document.unfit("server.hosts", format_args!("invalid value: string {text:?}, {expected}"));
            }
        }
    }
}

/// Checks origins of web pages, and normalizes them in `said` to what browsers send.
fn origins(said: &mut [String], document: &mut Document<'_>) {
    for text in said {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).map(undotted);
        let is_origin = |url: &Url| {
            let rest = [url.path().strip_prefix('/'), url.query(), url.fragment()];
            rest.into_iter().flatten().all(str::is_empty) && url.username().is_empty() && url.password().is_none()
        };
        match url.filter(is_origin) {
            Some(url) => *text = url.origin().ascii_serialization(),
            None => {
                let expected = "expected the origin of a web page, such as https://app.example.com";
                document.unfit("server.allowed_origins", format_args!("invalid value: string {text:?}, {expected}"));
            }
        }
    }
}

/// Parses networks, written as `address/prefix` or single addresses, and normalizes them in `said`.
fn trusted_proxies(said: &mut [String], document: &mut Document<'_>) -> TrustedProxies {
    let mut networks = Vec::new();
    for text in said {
        match text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)) {
            Ok(network) => {
                *text = network.to_string();
                networks.push(network);
            }
            Err(_) => {
                let expected = "expected a network such as 10.0.0.0/8, or an address";
                document.unfit("server.trusted_proxies", format_args!("invalid value: string {text:?}, {expected}"));
            }
        }
    }
    TrustedProxies::new(networks)
}

#[cfg(test)]
mod tests;
