//! Composition of one shop: its backend, the admission control and the call handler in front of it, the bindings in
//! front of those, and its background tasks.
//!
//! A [`Shop`] owns everything that belongs to one shop. The parts that exist once per process (listener, connections,
//! runtime, clock, log) belong to no shop; requests are routed to one by [`Shops`](crate::shops::Shops).

use std::{
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use axum::{Router, body::Body, response::Response};
use futures_util::future::BoxFuture;
use http::{Method, Request};
use serde_json::Value;
use tokio::{sync::watch::Receiver, task::JoinSet};
use tracing::Span;
use ucp_agenda::{Counts, Runner, Worker};
use ucp_bridge::{Bridge, platform};
use ucp_config::{McpErrorStatus, Settings};
use ucp_core::{
    Code, Refusal, Release,
    catalog::cursor::{CursorSecret, Cursors},
    operation::{AP2_MANDATE, SupportedOperations},
    ports::{
        self, Backend, Holdings,
        agenda::{Claimed, Kind, Next},
        payment_handler::Handler,
        store::Store,
    },
    pricing::terms::Terms,
    purchase::payment::Declaration,
    sales::SalesService,
};
use ucp_handoff::Brand;
use ucp_mcp::{About, Server, http::ErrorStatus};
use ucp_net::Counters;
use ucp_rest::publication::{PROFILE_PATH, Publication, prefix};
use ucp_service::{
    CallHandler, Endpoint, Ingress,
    access::Access,
    ingress::{Origins, Rules},
    mandate::MerchantSigner,
    platform::{Business, Platforms, Policy},
    signing::CurrentKey,
};
use ucp_sync::Synchroniser;
use ucp_trust::{
    address::{ProfileUrl, Reach},
    cursor::SealedCursors,
    directory::{Directory, DirectoryOptions},
    fetch::{Fetch, FetchError, Fetched},
    jwk::PublicKey,
    keyring::{Keyring, KeyringError},
    limit::BodyLimit,
};
use ucp_webhook::dispatcher::{Attempts, WebhookDispatcher};
use url::Url;

use crate::{
    access_tokens,
    address::{audiences, base},
    backend::{self, DataDirectory, Opened, PaymentCounts},
    callers, clock,
    decisions::Decisions,
    directory as merchants,
    pages::Subject,
    payments,
    pool::Pool,
    reading::Reading,
    webhooks,
};

/// Opens the keys of a shop, in its directory.
pub fn open_keyring(settings: &Settings) -> Result<Keyring, KeyringError> {
    Keyring::open(&settings.keys())
}

/// Interval at which the keys in the data directory are read again.
const KEY_INTERVAL: Duration = Duration::from_secs(5);

/// Time after which callers of a paused shop may try again, in seconds.
const PAUSED_SECONDS: u32 = 60;

/// Interval at which expired rows are removed.
const PRUNING_INTERVAL: Duration = Duration::from_secs(600);

/// A shop that is being served. Its background tasks end when it is dropped; each of their steps is one transaction.
#[derive(Debug)]
pub struct Shop {
    /// Display name of the shop.
    pub name: String,
    /// Routes of the shop: REST, MCP, the documents of each release, the page that shows them, the pages for buyers,
    /// and those of the backend.
    pub router: Router,
    /// Profile at the root; `None` for a shop that is absent.
    pub profile: Option<Arc<RootProfile>>,
    /// Store of its orders and webhook events.
    pub store: Arc<dyn Store>,
    /// Sales service, if the gateway itself carries out purchases.
    sales: Option<SalesService>,
    /// Counters of the calls to a remote shop; `None` for the embedded shop.
    pub counters: Option<Arc<Counters>>,
    /// Numbers of the results of the payment handlers.
    pub payments: Arc<PaymentCounts>,
    /// Numbers of tasks that were carried out.
    pub agenda: Arc<Counts>,
    /// Synchronization of the copy of the catalog, if there is one.
    pub synchroniser: Option<Synchroniser>,
    /// Results of the attempts to deliver webhook events.
    pub webhooks: Arc<Attempts>,
    /// Bytes of request bodies that are held, and known profiles of platforms; `None` for a shop that is absent.
    pub held: Option<(BodyLimit, Platforms)>,
    /// `true` unless the shop was down when it was opened.
    pub ready: bool,
    /// Source of its documents, unless that changes while it is open.
    pub(crate) statement: Option<Arc<Statement>>,
    /// Holdings of the directory when the shop was opened, and its current ones; `None` without a directory.
    pub(crate) directory: Option<(Holdings, Receiver<Holdings>)>,
    _tasks: JoinSet<()>,
}

/// The profile at the root of a shop, which platforms ask for most: it is answered as its route does, without a look at the
/// routes.
pub struct RootProfile {
    publication: Publication,
    reading: Reading,
}

impl fmt::Debug for RootProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RootProfile").field(&self.publication).finish()
    }
}

impl RootProfile {
    /// Returns `true` if a request is one for the profile.
    pub fn is_asked_for(request: &Request<Body>) -> bool {
        request.method() == Method::GET && request.uri().path() == PROFILE_PATH
    }

    /// Answers a request for the profile.
    pub async fn answer(&self, request: Request<Body>) -> Response {
        let answer = async |request: Request<Body>| self.publication.profile(request.headers());
        // Without a span: nothing on this way writes a line that it would belong to.
        ucp_rest::guarded(request, |_| Span::none(), |request| self.reading.limited(request, answer)).await
    }
}

/// Source of the documents of a shop.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Display name of the shop.
    pub(crate) name: String,
    pub(crate) offering: SupportedOperations,
    /// Payment handlers that buyers can use.
    pub(crate) handlers: Arc<[Declaration]>,
}

impl Shop {
    /// Opens the shop whose public URL is `public_url`, and starts its background tasks. A remote shop that is down is
    /// opened with what it stated last, unless `live` is `true`. Fails with [`Down`](backend::Down) if a remote shop is
    /// down, and another error if the backend cannot be opened, the store cannot be read, a pinned profile is
    /// malformed, or the clients for profiles and webhooks cannot be built.
    #[expect(clippy::too_many_arguments, reason = "a shop is put together from all of them, in one place")]
    pub(crate) async fn open(
        data: &DataDirectory,
        settings: &Settings,
        public_url: &Url,
        keyring: Keyring,
        decisions: &Decisions,
        pool: &Pool,
        rules: &Arc<Rules>,
        live: bool,
    ) -> Result<Self, Box<dyn Error>> {
        let base = base(public_url);
        let store = data.store();
        let signing_key = Arc::clone(&rules.signing_key);
        use_keys(&signing_key, &keyring);
        let opened = backend::open(data, &store, settings, &base, &signing_key, &pool.bodies, live).await?;
        let ready = opened.statement.as_ref().is_none_or(|statement| statement().is_some());
        let Opened {
            name,
            shop,
            handlers,
            sales,
            pages,
            bridge,
            counters,
            payments,
            synchroniser,
            router: own,
            mut tasks,
            ..
        } = opened;
        let merchants::Opened { directory: merchants, holdings, changes } =
            merchants::open(data.sqlite(), &settings.directory)?;
        let offering = merchants::beside(shop.offering(), &settings.directory, holdings);
        let (operations, names) = (&offering.operations, merchants::names(&settings.directory));
        let home = settings.sections.server.storefront.as_ref().map(|url| url.0.to_string());
        let merchant_signer = MerchantSigner { keys: Arc::clone(&signing_key), audiences: audiences(public_url) };
        let business = Arc::new(Business::under(&names, &offering, home).sealing(merchant_signer));
        let fetcher = callers::fetcher(settings, &base, &signing_key)?;
        let bots = callers::bots(settings, callers::fetcher(settings, &base, &signing_key)?);
        let directory = callers::directory(&business, fetcher, &settings.sections.profiles);
        callers::register(&directory, &settings.platforms)?;
        let platforms = Platforms::new(business, callers::policy(settings), settings.reach, directory)
            .refusing(decisions.blocked.clone())
            .grouped(callers::customer_groups(&settings.platforms));
        let ingress = Ingress::new(Arc::clone(rules), bots, platforms.clone());
        let about = Arc::new(about(&name, settings, &shop, data));
        let handler = CallHandler::new(
            Backend { shop, directory: merchants, cursors: cursors(data.cursor_secret()) },
            platforms.clone(),
            callers::access(settings),
        )
        .viewing(callers::view(settings))
        .allowing(callers::allowances(settings));

        let error_status = match settings.sections.server.mcp_error_status {
            McpErrorStatus::Auto => ErrorStatus::Auto,
            McpErrorStatus::Always => ErrorStatus::Always,
        };
        let keys = keyring.published(clock::now());
        let subject = Subject { settings, public_url, name: &name, operations };
        let pages_about = pool.pages.about(&subject, Some(platforms.directory()));
        let reading = pool.reading(rules);
        let pictures = settings.upstream.is_none().then(backend::embedded::pictures).unwrap_or_default();
        let published = pool.pages.manual(&subject).merge(pages_about).merge(pictures);
        let mut router = reading.over(published).merge(own);
        let mut publications = Vec::new();
        for endpoint in endpoints() {
            let publication = Publication::new(endpoint, &offering, &names, &base, &keys, &handlers);
            let openrpc = publication.openrpc();
            let server = Server::new(handler.clone(), endpoint, operations, openrpc.bytes(), Arc::clone(&about), false);
            let prefix = prefix(endpoint);
            router = router
                .merge(ucp_rest::router(&handler, &ingress, endpoint, operations, &prefix))
                .merge(reading.over(publication.router()))
                .merge(ucp_mcp::http::router(server, ingress.clone(), error_status, &prefix));
            publications.push(publication);
        }
        // Documents that change by themselves are those of the shop while it is open.
        let is_fixed = bridge.is_none() && changes.is_none() && ready;
        let statement = is_fixed.then(|| {
            Arc::new(Statement { name: name.clone(), offering: offering.clone(), handlers: Arc::clone(&handlers) })
        });
        let profile = publications.first().cloned().map(|publication| Arc::new(RootProfile { publication, reading }));
        let followed = bridge.clone();
        let publications = Publications { all: Arc::new(Mutex::new(publications)), offering, bridge };
        publications.publish(&keys);
        publications.follow(&signing_key);
        if let Some(sales) = &sales {
            let plain = settings.policy == ucp_config::Policy::Development;
            let options = page_options(settings, sales.clone(), ingress.clone(), public_url, plain);
            router = router.merge(pages_of(options, pages));
        }
        if let Some(sales) = sales.as_ref().filter(|sales| !sales.handlers.is_empty()) {
            router = router.merge(payments::router(sales.clone(), settings, &pool.bodies));
        }
        if !rules.clients.is_empty() {
            router = router.merge(access_tokens::router(rules, settings, &pool.bodies));
        }
        let origins = ingress.hosts().origins.clone();
        let router = ucp_rest::surrounded(router, move |_| origins.clone());
        let (webhooks, held) = (Arc::new(Attempts::default()), Some((pool.bodies.clone(), platforms.clone())));
        let (store_of, tracer) = (Arc::clone(&store), pool.tracer.clone());
        let dispatcher = webhooks::dispatcher(store_of, platforms, settings, &signing_key, &base, &webhooks, tracer)?;
        let agenda = Arc::new(Counts::default());
        let runner = Runner {
            agenda: Arc::clone(&store) as _,
            worker: Arc::new(Errands { sales: sales.clone(), bridge: followed, store: Arc::clone(&store), dispatcher }),
            clock: Arc::new(clock::timestamp),
            random: Arc::new(clock::jitter),
            claimant: uuid::Uuid::new_v4().to_string(),
            counts: Arc::clone(&agenda),
        };
        tasks.spawn(runner.run());
        let decisions = decisions.clone();
        let background = Upkeep { keyring, signing_key, publications, store: Arc::clone(&store), decisions };
        tasks.spawn(background.run());
        Ok(Self {
            name,
            router,
            profile,
            store,
            sales,
            counters,
            payments,
            agenda,
            synchroniser,
            webhooks,
            held,
            ready,
            statement,
            directory: changes.map(|changes| (holdings, changes)),
            _tasks: tasks,
        })
    }

    /// Returns the terms of sale that the shop was opened with; `None` if the gateway does not sell by itself.
    pub(crate) fn terms(&self) -> Option<&Arc<Terms>> {
        self.sales.as_ref().map(|sales| &sales.terms)
    }

    /// Returns the payment handlers of the gateway itself.
    pub fn handlers(&self) -> &[Arc<dyn Handler>] {
        self.sales.as_ref().map_or(&[], |sales| &sales.handlers)
    }

    /// Returns the place of a remote shop that is down and of which nothing is known. Every call is refused; it may be
    /// repeated after the time in seconds that `pause` returns.
    pub(crate) fn absent(
        name: String,
        data: &DataDirectory,
        origins: Origins,
        pause: impl Fn() -> u32 + Clone + Send + Sync + 'static,
    ) -> Self {
        let content =
            "The shop cannot be reached at the moment. The gateway tries again, and serves it as soon as it answers.";
        let router = refusing(origins, move || Refusal::unavailable(content, pause()));
        let store = data.store();
        let (webhooks, _tasks) = (Arc::default(), JoinSet::new());
        Self {
            name,
            router,
            profile: None,
            store,
            sales: None,
            counters: None,
            payments: Arc::default(),
            agenda: Arc::default(),
            synchroniser: None,
            webhooks,
            held: None,
            ready: false,
            statement: None,
            directory: None,
            _tasks,
        }
    }
}

/// Returns what agents are told about the shop.
fn about(name: &str, settings: &Settings, shop: &ports::ShopPort, data: &DataDirectory) -> About {
    let ucp_config::Pages { name: own, logo_url, description, .. } = &settings.sections.pages;
    let catalog = match shop {
        ports::ShopPort::Facts { catalog, .. } => Some(Arc::clone(catalog)),
        ports::ShopPort::Upstream(_) => None,
    };
    let products = data.products().map(|products| Arc::new(products.clone()) as _);
    About::new(own.as_deref().unwrap_or(name))
        .with_icon(logo_url.as_ref().map(|url| url.0.as_str()))
        .described(description.as_deref())
        .selling(catalog, products)
}

/// Returns the pages on which buyers go on if `all` is `true`, otherwise those of orders: a shop behind another API need have
/// none.
fn pages_of(options: ucp_handoff::Options, all: bool) -> Router {
    if all { ucp_handoff::router(options) } else { ucp_handoff::order_router(options) }
}

/// Returns the options of the pages of a shop; `plain` allows them over http.
fn page_options(
    settings: &Settings,
    sales: SalesService,
    ingress: Ingress,
    public_url: &Url,
    plain: bool,
) -> ucp_handoff::Options {
    let ucp_config::Pages { name, color, logo_url, .. } = &settings.sections.pages;
    let color = color.as_ref().map(|color| color.color);
    ucp_handoff::Options {
        sales,
        ingress,
        name: name.clone(),
        home: settings.sections.server.storefront.as_ref().map(|url| url.0.to_string()),
        languages: settings.texts.languages.clone(),
        brand: Brand::new(color, logo_url.as_ref().map(|url| url.0.clone())),
        public_url: public_url.clone(),
        plain,
    }
}

/// Returns the routes of a shop that is paused.
pub fn paused(origins: Origins) -> Router {
    let content = "The operator of this shop has paused it for now.";
    refusing(origins, move || Refusal::unavailable(content, PAUSED_SECONDS))
}

/// Worker for the tasks of a shop. A shop that is a UCP business elsewhere has no sales of its own.
struct Errands {
    sales: Option<SalesService>,
    bridge: Option<Bridge>,
    store: Arc<dyn Store>,
    dispatcher: WebhookDispatcher,
}

#[async_trait]
impl Worker for Errands {
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal> {
        match (task.kind, &self.sales, &self.bridge) {
            (Kind::Tell, ..) => Ok(self.dispatcher.tell(task).await),
            (_, Some(sales), _) => sales.carry_out(task).await,
            (Kind::FollowOrder, None, Some(bridge)) => backend::ucp::look_after(bridge, &*self.store, task).await,
            (_, None, _) => Ok(Next::Done),
        }
    }

    async fn rests(&self, kind: Kind) -> bool {
        match kind {
            Kind::Tell => self.dispatcher.rests().await,
            Kind::FollowOrder => self.sales.is_none() && self.bridge.is_none(),
            _ => self.sales.is_none(),
        }
    }
}

/// Returns the routes of a host and path at which no shop is. They tell nothing of the shops that there are.
pub fn nowhere() -> Router {
    let content = "Nothing is served under this host and path.";
    refusing(Origins::default(), move || {
        Refusal::new(Code::OriginForbidden, content).accepting("the host and path of a shop's public URL")
    })
}

/// Returns the routes of a shop of which every call is refused. Pages of `origins` may read that.
pub(crate) fn refusing(origins: Origins, refusal: impl Fn() -> Refusal + Clone + Send + Sync + 'static) -> Router {
    let mut router = Router::new();
    for endpoint in endpoints() {
        router = router.merge(ucp_mcp::http::refusing(endpoint.release(), refusal.clone(), &prefix(endpoint)));
    }
    ucp_rest::refusing(router, origins, refusal)
}

/// Returns the endpoints of a shop: the root, and that of each release.
pub(crate) fn endpoints() -> impl Iterator<Item = Endpoint> {
    std::iter::once(Endpoint::Root).chain(Release::ALL.iter().copied().map(Endpoint::Of))
}

/// Periodic tasks of a shop.
#[derive(Debug)]
struct Upkeep {
    keyring: Keyring,
    signing_key: Arc<CurrentKey>,
    publications: Publications,
    store: Arc<dyn Store>,
    decisions: Decisions,
}

impl Upkeep {
    /// Repeats every task at its interval. The first round starts at once.
    async fn run(mut self) {
        let [mut keys, mut rest] = [KEY_INTERVAL, PRUNING_INTERVAL].map(tokio::time::interval);
        loop {
            tokio::select! {
                _ = rest.tick() => self.prune().await,
                _ = keys.tick() => {
                    if let Err(error) = self.refresh_keys() {
                        tracing::error!(%error, "reloading the keys failed, keeping the previous ones");
                    }
                    if let Err(error) = self.decisions.refresh() {
                        tracing::error!(%error, "reloading the operator's decisions failed, keeping the previous ones");
                    }
                }
            }
        }
    }

    /// Removes expired rows.
    async fn prune(&self) {
        if let Err(error) = self.store.prune(clock::timestamp()).await {
            tracing::error!(error = &error as &dyn Error, "removing expired rows failed");
        }
    }

    /// Reloads the keys, publishes them, and signs with the newest one that is not retired. Retired keys leave the
    /// profile when their publication period is over.
    fn refresh_keys(&mut self) -> Result<(), KeyringError> {
        self.keyring.reload()?;
        use_keys(&self.signing_key, &self.keyring);
        let keys = self.keyring.published(clock::now());
        self.publications.publish(&keys);
        Ok(())
    }
}

/// Published documents of the gateway, and the keys in them.
#[derive(Debug)]
struct Publications {
    /// Publications of all endpoints. [`Self::publish`] and the listener of [`Self::follow`] hold the lock while they
    /// read each other's keys and publish, so that outdated keys never replace newer ones.
    all: Arc<Mutex<Vec<Publication>>>,
    offering: SupportedOperations,
    /// Bridge to a shop that speaks UCP, whose signed answers are relayed.
    bridge: Option<Bridge>,
}

impl Publications {
    /// Publishes the gateway's own keys `own`, and those of the shop behind it.
    fn publish(&self, own: &[Value]) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = self.bridge.as_ref().map(Bridge::sealing_keys).unwrap_or_default();
        publish(&all, &self.offering, own, &theirs);
    }

    /// Publishes the keys of the shop behind the gateway whenever they change.
    fn follow(&self, own: &Arc<CurrentKey>) {
        let Some(bridge) = &self.bridge else { return };
        let (all, offering, own) = (Arc::clone(&self.all), self.offering.clone(), Arc::clone(own));
        bridge.whenever_keys_change(move |theirs| {
            let all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let own: Vec<_> = own.published().iter().filter_map(PublicKey::to_jwk).collect();
            publish(&all, &offering, &own, &theirs);
        });
    }
}

/// Replaces the keys in all publications. The keys `theirs` of a shop behind the gateway are published beside the
/// gateway's `own` in those releases in which the shop's signed answers are relayed unchanged, because a platform looks
/// for their keys in the profile that it knows. A gateway without a key of its own publishes none of `theirs`, because
/// it does not offer the capability that needs them.
fn publish(publications: &[Publication], offering: &SupportedOperations, own: &[Value], theirs: &[Value]) {
    for publication in publications {
        let sealed = !own.is_empty() && offering.extends(AP2_MANDATE, publication.release());
        let theirs = theirs.iter().filter(|_| sealed).cloned();
        publication.set_keys(&platform::beside(own.to_vec(), theirs));
    }
}

/// Makes the keyring's signer the current signing key, and its public keys the published ones.
fn use_keys(current: &CurrentKey, keyring: &Keyring) {
    current.set(keyring.signer().cloned(), keyring.mandate_signer().cloned());
    current.publish(keyring.public_keys(clock::now()).cloned().collect());
}

/// A shop that is served to the agent that started this process, which is taken at its word.
pub struct Desktop {
    /// MCP server for the agent.
    pub server: Server,
    /// Pages on which buyers continue, or those of their orders alone if the shop has its own.
    pub pages: Option<Router>,
    _tasks: JoinSet<()>,
}

impl Desktop {
    /// Opens the shop, with the buyers' pages below `public_url`. Fails with `backend::Down` if a remote shop is down,
    /// and another error if the backend or the store cannot be opened.
    pub async fn open(
        data: &DataDirectory,
        settings: &Settings,
        public_url: &Url,
        keyring: &Keyring,
    ) -> Result<Self, Box<dyn Error>> {
        let base = base(public_url);
        let store = data.store();
        let pool = Pool::new(&settings.sections.server, None, Arc::new(()));
        let rules = Arc::new(callers::rules(settings, public_url, &pool));
        let signing_key = Arc::clone(&rules.signing_key);
        use_keys(&signing_key, keyring);
        let opened = backend::open(data, &store, settings, &base, &signing_key, &pool.bodies, false).await?;
        let Opened { name, shop, handlers, sales, pages, tasks, .. } = opened;
        let merchants::Opened { directory: merchants, holdings, .. } =
            merchants::open(data.sqlite(), &settings.directory)?;
        let offering = merchants::beside(shop.offering(), &settings.directory, holdings);
        let names = merchants::names(&settings.directory);
        let home = settings.sections.server.storefront.as_ref().map(|url| url.0.to_string());
        let business = Arc::new(Business::under(&names, &offering, home));
        let negotiator = Arc::clone(&business);
        let directory =
            Directory::new(Offline, DirectoryOptions::default(), move |profile| negotiator.negotiated_profile(profile));
        let platforms = Platforms::new(business, Policy::Development, Reach::Public, directory);
        let publication = Publication::new(Endpoint::Root, &offering, &names, &base, &[], &handlers);
        let about = Arc::new(about(&name, settings, &shop, data));
        let backend = Backend { shop, directory: merchants, cursors: cursors(data.cursor_secret()) };
        let handler = CallHandler::new(backend, platforms.clone(), Access::OPEN)
            .viewing(callers::view(settings))
            .allowing(callers::allowances(settings));
        let openrpc = publication.openrpc();
        let server = Server::new(handler, Endpoint::Root, &offering.operations, openrpc.bytes(), about, true);
        let pages = sales.map(|sales| {
            let bots = Directory::new(Offline, DirectoryOptions::default(), |_| ());
            let ingress = Ingress::new(rules, bots, platforms);
            let plain = public_url.scheme() != "https";
            let options = page_options(settings, sales, ingress, public_url, plain);
            ucp_rest::surrounded(pages_of(options, pages), |_| Origins::default())
        });
        Ok(Self { server, pages, _tasks: tasks })
    }
}

/// Returns the cursors of a shop, sealed with the secret of its store.
fn cursors(secret: &CursorSecret) -> Arc<dyn Cursors> {
    Arc::new(SealedCursors::new(secret.clone()))
}

/// Fetcher that always fails: a process that serves its parent process fetches no profiles.
struct Offline;

impl Fetch for Offline {
    fn fetch<'a>(&'a self, _: &'a ProfileUrl) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(std::future::ready(Err(FetchError::Connection)))
    }
}

#[cfg(test)]
mod tests;
