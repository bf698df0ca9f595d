//! The copy of a shop's catalog: opened, kept up to date, and put in front of the shop.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use jiff::{SignedDuration, Timestamp};
use ucp_config::{Catalog, CatalogCopy, FeedFormat, FeedPlace, Settings};
use ucp_contract::{
    ContractShop,
    changes::{self, CHANGES_PATH},
    event,
    http::SigningSecret,
};
use ucp_core::{
    Refusal,
    catalog::market::Market,
    money::Currency,
    ports::{self, Catalog as _},
};
use ucp_postgres::{PostgresStore, events::Changed};
use ucp_shop::{Database, EmbeddedShop, import::Format};
use ucp_sqlite::SqliteStore;
use ucp_sync::{EventsError, Feed, Options, SharedChanges, SharedEvents, Source, SynchronisedCatalog, Synchroniser};
use ucp_trust::limit::BodyLimit;

use super::{NO_SHOP, Opened, RemotePlace};
use crate::{
    clock,
    progress::indexing,
    webhook_ingress::{WebhookIngress, answered},
};

/// Maximum number of events that are verified and stored at the same time.
const EVENTS: usize = 8;

/// A copy of a catalog that is open.
pub(super) struct Copy {
    pub(super) catalog: SynchronisedCatalog,
    synchroniser: Synchroniser,
    /// Shop that the copy is of, whose answers are kept for a while, too.
    shop: Option<ContractShop>,
    secret: Option<SigningSecret>,
}

impl Copy {
    /// Has the copy kept up to date, and its shop's events taken.
    pub(super) fn keep(self, opened: &mut Opened, settings: &Settings, bodies: &BodyLimit) {
        let Self { synchroniser, shop, secret, .. } = self;
        opened.tasks.spawn(synchroniser.clone().keep());
        if let Some(secret) = secret {
            let router = std::mem::take(&mut opened.router);
            let told = Told { synchroniser: Some(synchroniser.clone()), shop };
            opened.router = router.merge(events(secret, told, settings, bodies));
        }
        opened.synchroniser = Some(synchroniser);
    }
}

/// Returns the market of a new embedded shop whose products come from a feed.
pub(super) fn market(said: &Catalog) -> Market {
    Market {
        name: said.name.clone().unwrap_or_else(|| "Shop".to_owned()),
        currency: said.currency.unwrap_or(Currency::USD),
        currencies: Vec::new(),
        language: said.language.clone().unwrap_or_else(|| "en".to_owned()),
        languages: Vec::new(),
        countries: Default::default(),
        by_country: false,
        rates: Default::default(),
        links: Vec::new(),
    }
}

/// Opens the copy that the embedded shop sells from.
pub(super) fn of_embedded(
    shop: &EmbeddedShop,
    settings: &Settings,
    copy: &CatalogCopy,
) -> Result<Copy, Box<dyn Error>> {
    let source = source(settings, copy, None)?;
    let synchroniser = Synchroniser::new(Arc::clone(shop.database()), source, runs(settings, None))?;
    let catalog = SynchronisedCatalog::new(shop.clone(), None, synchroniser.clone());
    Ok(Copy { catalog, synchroniser, shop: None, secret: secret(copy) })
}

/// Puts a copy of its catalog in front of a shop behind the contract.
pub(super) async fn before_shop(
    opened: &mut Opened,
    place: &RemotePlace<'_>,
    copy: &CatalogCopy,
    shop: ContractShop,
    upstream_secret: Option<SigningSecret>,
) -> Result<(), Box<dyn Error>> {
    let Some((store, products)) = place.data.copy() else { return Err(NO_SHOP.into()) };
    let market = shop.market();
    let products = match products.get() {
        Some(products) => {
            if products.market() != market {
                tracing::warn!("upstream market changed; the copy of its catalog follows at the next start");
            }
            products.clone()
        }
        None => {
            let (store, options) = (store.clone(), options(place.settings));
            // Building a large index takes its time.
            let made = tokio::task::spawn_blocking(move || EmbeddedShop::of_market(store, &market, &options)).await??;
            products.get_or_init(|| made).clone()
        }
    };
    products.use_synonyms(&place.settings.synonyms);
    let source = source(place.settings, copy, Some(&shop))?;
    let shared = place.data.database.as_ref().map(|database| Shared(database.store().clone()));
    let shared = shared.map(|shared| Arc::new(shared) as Arc<dyn SharedEvents>);
    let synchroniser = Synchroniser::new(Arc::clone(products.database()), source, runs(place.settings, shared))?;
    let catalog = SynchronisedCatalog::new(products, Some(shop.clone()), synchroniser.clone());
    if let ports::ShopPort::Facts { catalog: own, .. } = &mut opened.shop {
        *own = Arc::new(catalog.clone());
    }
    let secret = secret(copy).or(upstream_secret);
    Copy { catalog, synchroniser, shop: Some(shop), secret }.keep(opened, place.settings, place.bodies);
    Ok(())
}

/// Returns the state of the synchronization, without asking the shop.
pub fn stored(settings: &Settings) -> Result<ucp_sync::State, Box<dyn Error>> {
    if settings.catalog.is_none() {
        return Err("the configuration copies no catalog; see `catalog.source`".into());
    }
    let store = SqliteStore::open(&settings.sections.data.dir).and_then(|store| store.of(settings.mount.id.clone()));
    match store.and_then(Database::of) {
        Ok(database) => Ok(ucp_sync::synchroniser::stored(&database)?),
        Err(ucp_sqlite::StoreError::Missing { .. }) => Ok(ucp_sync::State::default()),
        Err(error) => Err(error.into()),
    }
}

fn secret(copy: &CatalogCopy) -> Option<SigningSecret> {
    copy.webhook_secret.as_ref().map(|secret| SigningSecret::new(secret.reveal()))
}

/// Returns the synchronization of the products in a database, from a feed or from `shop`.
pub(super) fn synchroniser(
    database: Database,
    settings: &Settings,
    copy: &CatalogCopy,
    shop: Option<&ContractShop>,
) -> Result<Synchroniser, Box<dyn Error>> {
    Ok(Synchroniser::new(Arc::new(database), source(settings, copy, shop)?, runs(settings, None))?)
}

fn source(settings: &Settings, copy: &CatalogCopy, shop: Option<&ContractShop>) -> Result<Source, Box<dyn Error>> {
    let said = &settings.sections.catalog;
    let format = said.format.map(|format| match format {
        FeedFormat::Jsonl => Format::Jsonl,
        FeedFormat::Shopify => Format::ShopifyCsv,
        FeedFormat::GoogleXml => Format::GoogleXml,
        FeedFormat::GoogleTsv => Format::GoogleTsv,
    });
    // Every shop has a directory of its own, for shops of one data directory download at the same time.
    let (bytes, dir) = (said.max_feed_mb.bytes(), settings.dir());
    Ok(match (&copy.feed, shop) {
        (Some(FeedPlace::File(path)), _) => Source::Feed(Feed::file(path.clone(), format, bytes)),
        (Some(FeedPlace::Web(url)), _) => {
            let timeout = std::time::Duration::from_secs(said.feed_timeout_s.count() as u64);
            Source::Feed(Feed::web(url.clone(), format, &settings.extra_roots, &dir, bytes, timeout)?)
        }
        (None, Some(shop)) => Source::Shop(shop.clone()),
        (None, None) => return Err(NO_SHOP.into()),
    })
}

/// Returns the options of a shop. Building a large index shows its progress.
pub(super) fn options(settings: &Settings) -> ucp_shop::Options {
    let data = &settings.sections.data;
    ucp_shop::Options {
        data_dir: data.dir.to_path_buf(),
        shop: settings.mount.id.clone(),
        cache_bytes: data.cache_mb.bytes(),
        model: settings.model.clone(),
        progress: indexing(),
    }
}

fn runs(settings: &Settings, shared: Option<Arc<dyn SharedEvents>>) -> Options {
    let said = &settings.sections.catalog;
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Options {
        data_dir: settings.dir(),
        interval: SignedDuration::from_secs(whole(said.interval_s.count())),
        full_interval: SignedDuration::from_hours(whole(said.full_interval_hours.count())),
        max_loss_percent: said.max_loss_percent.count() as u64,
        page_size: said.page_size.count(),
        now: Arc::new(clock::timestamp),
        shared,
    }
}

/// Events in the database that gateways share, for the copies of all of them.
struct Shared(PostgresStore);

#[async_trait]
impl SharedEvents for Shared {
    async fn add(&self, ids: &[String], at: Timestamp) -> Result<(), EventsError> {
        Ok(self.0.add_changed(ids, at).await?)
    }

    async fn after(&self, number: Option<i64>) -> Result<SharedChanges, EventsError> {
        let Changed { ids, number, missed } = self.0.changed_after(number).await?;
        Ok(SharedChanges { ids, number, missed })
    }
}

/// State of the endpoint for events about products that changed.
struct Events {
    secret: SigningSecret,
    told: Told,
    webhook_ingress: WebhookIngress,
}

/// Those who are told which products changed.
struct Told {
    synchroniser: Option<Synchroniser>,
    shop: Option<ContractShop>,
}

/// Returns the route for events about products of a shop without a copy, whose answers are forgotten then.
pub(super) fn events_of(shop: ContractShop, secret: SigningSecret, place: &RemotePlace<'_>) -> Router {
    events(secret, Told { synchroniser: None, shop: Some(shop) }, place.settings, place.bodies)
}

fn events(secret: SigningSecret, told: Told, settings: &Settings, bodies: &BodyLimit) -> Router {
    let events = Events { secret, told, webhook_ingress: WebhookIngress::new(settings, bodies, EVENTS) };
    Router::new().route(CHANGES_PATH, post(changed)).with_state(Arc::new(events))
}

impl Events {
    /// Accepts an event. What was kept of the products that it names is forgotten, and with a copy of the catalog they are
    /// on disk when this returns. Fails with [`Refusal`] if a limit is
    /// exceeded, the event is not the shop's or cannot be read, or it cannot be stored.
    async fn take(&self, request: Request) -> Result<(), Refusal> {
        let opened = self.webhook_ingress.take(request, |notice| {
            event::verify(&self.secret, clock::timestamp(), CHANGES_PATH, notice)?;
            Ok(changes::read(notice.body))
        });
        let (products, _place) = opened.await?;
        let products = products?;
        if let Some(shop) = &self.told.shop {
            shop.forget(&products);
        }
        let Some(synchroniser) = &self.told.synchroniser else { return Ok(()) };
        match synchroniser.changed(products).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::unavailable("Too many changed products are waiting to be fetched.", 60)),
            Err(error) => {
                tracing::error!(error = &error as &dyn Error, "storing changed products failed");
                Err(Refusal::unavailable("The changed products cannot be stored at the moment.", 5))
            }
        }
    }
}

async fn changed(State(events): State<Arc<Events>>, request: Request) -> Response {
    let taken = events.take(request).await;
    if let Err(refusal) = &taken {
        tracing::warn!(code = %refusal.code, reason = refusal.content, "product event rejected");
    }
    answered(&taken)
}
