//! Backend of the embedded shop: its catalog in the data directory, and the sales service that sells its goods.

use std::{error::Error, sync::Arc};

use axum::Router;
use tokio::task::JoinSet;
use ucp_core::{
    port::{self, Catalog},
    purchase::{ledger::Ledger, payment::Handler, sales_service::SalesService},
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

/// Opens the embedded shop as a backend, with the buyers' pages below the base URL `base`. Its products are read from `catalog` and its
/// sales kept in `ledger`.
pub(super) fn open(
    shop: &Shop,
    catalog: Arc<dyn Catalog>,
    ledger: Arc<dyn Ledger>,
    settings: &Settings,
    base: &str,
) -> Result<Opened, Box<dyn Error>> {
    let handlers = handlers(&settings.payments, &settings.extra_roots)?;
    let sales = sales(shop, &catalog, ledger, handlers, base);
    Ok(Opened {
        name: shop.market().name.clone(),
        shop: selling(catalog, &sales),
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
fn selling(catalog: Arc<dyn Catalog>, sales: &SalesService) -> port::Shop {
    port::Shop::Facts { catalog, sales: Arc::new(sales.clone()) }
}

/// Builds the sales service of an embedded shop, with the buyers' pages below the base URL `base`.
fn sales(
    shop: &Shop,
    catalog: &Arc<dyn Catalog>,
    ledger: Arc<dyn Ledger>,
    handlers: Handlers,
    base: &str,
) -> SalesService {
    SalesService {
        catalog: Arc::clone(catalog),
        ledger,
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
type Handlers = Arc<[Arc<dyn Handler>]>;

/// Opens the configured payment handlers.
fn handlers(payments: &[config::Payment], roots: &[Certificate]) -> Result<Handlers, Box<dyn Error>> {
    payments.iter().map(|payment| payment.open(Arc::new(clock::timestamp), roots)).collect()
}
