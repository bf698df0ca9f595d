//! Backend of the embedded shop: its catalog in the data directory, and the sales service that sells its goods.

use std::{error::Error, sync::Arc};

use axum::{
    Router,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{
    HeaderName, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
    },
};
use ucp_config::Settings;
use ucp_core::{
    ports::{self, Catalog, ledger::Ledger, payment_handler::Handler},
    pricing::terms::Terms,
    sales::SalesService,
};
use ucp_net::outbound::Certificate;
use ucp_shop::{EmbeddedShop, Opening};
use ucp_sqlite::{SqliteStore, StoreError};
use ucp_trust::limit::BodyLimit;

use super::{Opened, PaymentCounts, counted::CountedHandler, synchronised};
use crate::{clock, directory};

/// Opens a shop in the file of its data directory, or creates it if there is none: from the configured sample, or empty if its
/// products come from a feed.
pub(crate) fn open_shop(file: &SqliteStore, settings: &Settings) -> Result<EmbeddedShop, StoreError> {
    EmbeddedShop::open_in(file, &synchronised::options(settings), || match &settings.catalog {
        Some(_) => Opening::of(synchronised::market(&settings.sections.catalog)),
        None => directory::sample(settings.sections.data.sample.0),
    })
}

/// Opens the embedded shop as a backend, with the buyers' pages below the base URL `base`. Its products are read from
/// `catalog`, sold on the `terms`, and its sales kept in `ledger`.
pub(super) fn open(
    shop: &EmbeddedShop,
    catalog: Arc<dyn Catalog>,
    ledger: Arc<dyn Ledger>,
    terms: Terms,
    settings: &Settings,
    base: &str,
    bodies: &BodyLimit,
) -> Result<Opened, Box<dyn Error>> {
    shop.show_pictures_below(&format!("{base}{PICTURES}"));
    shop.use_synonyms(&settings.synonyms);
    let payments = Arc::default();
    let handlers = handlers(&settings.payments, &settings.extra_roots, &payments)?;
    let mut sales = SalesService {
        catalog,
        ledger,
        terms: Arc::new(terms),
        remote_carts: None,
        order_inbox: None,
        handlers,
        shop_handlers: Arc::new([]),
        pages: base.to_owned(),
        clock: Arc::new(clock::timestamp),
        random: Arc::new(|| uuid::Uuid::new_v4().into_bytes()),
    };
    let copy =
        settings.catalog.as_ref().map(|catalog| synchronised::of_embedded(shop, settings, catalog)).transpose()?;
    if let Some(copy) = &copy {
        // What is sold is what the feed says, and as of when is told.
        sales.catalog = Arc::new(copy.catalog.clone());
    }
    let catalog = Arc::clone(&sales.catalog);
    let (name, handlers) = (shop.market().name.clone(), sales.declarations());
    let facts = ports::ShopPort::Facts { catalog, sales: Arc::new(sales.clone()) };
    let mut opened = Opened { sales: Some(sales), pages: true, payments, ..Opened::new(name, facts, handlers) };
    if let Some(copy) = copy {
        copy.keep(&mut opened, settings, bodies);
    }
    Ok(opened)
}

/// Path below which the pictures of the sample goods are served.
const PICTURES: &str = "/pictures/";

/// Returns the route of the pictures.
pub(crate) fn pictures() -> Router {
    Router::new().route(&format!("{PICTURES}{{file}}"), get(picture))
}

/// Answers with the picture of a sample product.
async fn picture(file: Result<Path<String>, PathRejection>, uri: Uri) -> Response {
    let Some(drawn) = file.ok().and_then(|Path(file)| ucp_shop::sample::picture(&file)) else {
        return ucp_rest::unknown_path(&uri);
    };
    let headers = [
        (CONTENT_TYPE, "image/svg+xml"),
        // The same for every release of the gateway, but for better ones.
        (CACHE_CONTROL, "public, max-age=86400"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // For the page of any agent that shows goods.
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    (headers, drawn).into_response()
}

/// Payment handlers of a shop.
type Handlers = Arc<[Arc<dyn Handler>]>;

/// Opens the configured payment handlers, whose results are counted in `counts`.
pub fn handlers(
    payments: &[ucp_config::Payment],
    roots: &[Certificate],
    counts: &Arc<PaymentCounts>,
) -> Result<Handlers, Box<dyn Error>> {
    let open = |payment: &ucp_config::Payment| -> Result<Arc<dyn Handler>, Box<dyn Error>> {
        let handler = payment.open(Arc::new(clock::timestamp), roots)?;
        Ok(Arc::new(CountedHandler::new(handler, Arc::clone(counts))))
    };
    payments.iter().map(open).collect()
}
