//! Backend of the embedded shop: its catalog in the data directory, and the sales service that sells its goods.

use std::{error::Error, sync::Arc};

use axum::Router;
use tokio::task::JoinSet;
use ucp_core::{
    ShopId,
    port::{self, Catalog as _},
    purchase::{payment::Handler, sales_service::SalesService},
};
use ucp_net::outbound::Certificate;
use ucp_shop::{Options, Shop};
use ucp_sqlite::{SqliteStore, StoreError};

use super::Opened;
use crate::{
    clock,
    config::{self, Data, Settings},
    directory,
};

/// Opens a shop in the file of its data directory, or creates it from the configured sample if there is none.
pub(super) fn open_shop(file: &SqliteStore, data: &Data, shop: ShopId) -> Result<Shop, StoreError> {
    let options = Options { cache_bytes: data.cache_mb.bytes(), shop, ..Options::new(&*data.dir) };
    Shop::open_in(file, &options, || directory::sample(data.sample.0))
}

/// Opens the embedded shop as a backend, with the buyers' pages below the base URL `base`.
pub(super) fn open(shop: &Shop, settings: &Settings, base: &str) -> Result<Opened, Box<dyn Error>> {
    let sales = sales(shop, handlers(&settings.payments, &settings.extra_roots)?, base);
    Ok(Opened {
        name: shop.market().name.clone(),
        shop: selling(shop, &sales),
        handlers: sales.declarations(),
        sales: Some(sales),
        pages: true,
        bridge: None,
        counters: None,
        statement: None,
        router: Router::new(),
        tasks: JoinSet::new(),
    })
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
