//! The embedded shop: its goods, and the sales service at which they are sold.

use std::{error::Error, sync::Arc};

use axum::Router;
use tokio::task::JoinSet;
use ucp_core::{
    port::{self, Catalog as _},
    purchase::{payment::Handler, sales_service::SalesService},
};
use ucp_net::outbound::Certificate;
use ucp_payment::{
    Sandbox,
    processor::{self, Processor},
    sandbox,
};
use ucp_shop::{Options, Shop};
use ucp_sqlite::StoreError;

use super::Opened;
use crate::{
    clock,
    config::{self, Data, Settings, payment::Kind},
    directory,
};

/// Opens the shop in a data directory, or fills the directory with a sample.
pub(crate) fn open_shop(data: &Data) -> Result<Shop, StoreError> {
    let options = Options { cache_bytes: data.cache_mb.bytes(), ..Options::new(&*data.dir) };
    Shop::open_or_create(&options, || directory::sample(data.sample.0))
}

/// The shop, ready to be asked at `base`.
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
        router: Router::new(),
        tasks: JoinSet::new(),
    })
}

/// The ports of a shop that sells at a sales service.
pub(crate) fn selling(shop: &Shop, sales: &SalesService) -> port::Shop {
    port::Shop::Facts { catalog: Arc::new(shop.clone()), sales: Arc::new(sales.clone()) }
}

/// Where an embedded shop sells, at the pages below `base`.
pub(crate) fn sales(shop: &Shop, handlers: Handlers, base: &str) -> SalesService {
    SalesService {
        catalog: Arc::new(shop.clone()),
        ledger: Arc::new(shop.database().store().clone()),
        terms: shop.database().terms(),
        remote_carts: None,
        handlers,
        pages: base.to_owned(),
        clock: Arc::new(clock::timestamp),
        random: Arc::new(|| uuid::Uuid::new_v4().into_bytes()),
    }
}

/// What moves the money.
pub(crate) type Handlers = Arc<[Arc<dyn Handler>]>;

/// The payment handlers of the configuration.
fn handlers(payments: &[config::Payment], roots: &[Certificate]) -> Result<Handlers, Box<dyn std::error::Error>> {
    let clock: ucp_payment::Clock = Arc::new(clock::timestamp);
    let handler = |payment: &config::Payment| -> Result<Arc<dyn Handler>, Box<dyn std::error::Error>> {
        let declaration = payment.declaration.clone();
        Ok(match &payment.kind {
            Kind::Sandbox => Arc::new(Sandbox::new(declaration, Arc::clone(&clock), sandbox::SLOW)),
            Kind::Processor(provider) => Arc::new(Processor::new(processor::Options {
                formerly: provider.formerly.clone(),
                connect_timeout: provider.connect_timeout,
                request_timeout: provider.timeout,
                deadline: provider.deadline,
                roots: roots.to_vec(),
                ..processor::Options::new(
                    declaration,
                    provider.endpoint.clone(),
                    provider.api_key.clone(),
                    provider.signing_key_id.clone(),
                    provider.signing_secret.clone(),
                    Arc::clone(&clock),
                )
            })?),
        })
    };
    payments.iter().map(handler).collect()
}
