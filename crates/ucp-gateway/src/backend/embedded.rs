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
use tokio::task::JoinSet;
use ucp_core::{
    port::{self, Catalog as _},
    purchase::{payment::Handler, sales_service::SalesService},
};
use ucp_net::outbound::Certificate;
use ucp_shop::{Options, Shop};
use ucp_sqlite::StoreError;

use super::Opened;
use crate::{
    clock,
    config::{self, Data, Settings},
    directory,
};

/// Opens the shop in a data directory, or creates it from the configured sample if there is none.
pub(crate) fn open_shop(data: &Data) -> Result<Shop, StoreError> {
    let options = Options { cache_bytes: data.cache_mb.bytes(), ..Options::new(&*data.dir) };
    Shop::open_or_create(&options, || directory::sample(data.sample.0))
}

/// Opens the embedded shop as a backend, with the buyers' pages below the base URL `base`.
pub(super) fn open(shop: &Shop, settings: &Settings, base: &str) -> Result<Opened, Box<dyn Error>> {
    let sales = sales(shop, handlers(&settings.payments, &settings.extra_roots)?, base);
    shop.show_pictures_below(&format!("{base}{PICTURES}"));
    Ok(Opened {
        name: shop.market().name.clone(),
        shop: selling(shop, &sales),
        handlers: sales.declarations(),
        sales: Some(sales),
        pages: true,
        bridge: None,
        counters: None,
        statement: None,
        router: Router::new().route(&format!("{PICTURES}{{file}}"), get(picture)),
        tasks: JoinSet::new(),
    })
}

/// Path below which the pictures of the sample goods are served.
const PICTURES: &str = "/pictures/";

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

/// Returns the ports of a shop whose goods `sales` sells.
pub(crate) fn selling(shop: &Shop, sales: &SalesService) -> port::Shop {
    port::Shop::Facts { catalog: Arc::new(shop.clone()), sales: Arc::new(sales.clone()) }
}

/// Builds the sales service of an embedded shop, with the buyers' pages below the base URL `base`.
pub(crate) fn sales(shop: &Shop, handlers: Handlers, base: &str) -> SalesService {
    SalesService {
        catalog: Arc::new(shop.clone()),
        ledger: Arc::new(shop.database().store().clone()),
        terms: shop.database().terms(),
        remote_carts: None,
        order_inbox: None,
        handlers,
        shop_handlers: Arc::new([]),
        pages: base.to_owned(),
        clock: Arc::new(clock::timestamp),
        random: Arc::new(|| uuid::Uuid::new_v4().into_bytes()),
    }
}

/// Payment handlers of a shop.
pub(crate) type Handlers = Arc<[Arc<dyn Handler>]>;

/// Opens the configured payment handlers.
fn handlers(payments: &[config::Payment], roots: &[Certificate]) -> Result<Handlers, Box<dyn Error>> {
    payments.iter().map(|payment| payment.open(Arc::new(clock::timestamp), roots)).collect()
}
