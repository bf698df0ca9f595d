//! The rules of the store port, on a real server.

mod catalogs;
mod cuts;
mod encryption;
mod erasure;
mod plans;
mod strangers;
mod versions;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use ucp_core::{
    ShopId,
    ports::shared::{SharedProduct, SharedShop, SharedStock},
};
use ucp_testkit::{postgres, store::StoreUnderTest, store_suite};

use crate::{
    Options, PostgresStore,
    catalog::{Catalog, Publication, Published},
};

/// Shops in a database that other tests use too.
struct Shops {
    prefix: String,
}

/// Returns options for the database of the tests.
pub(crate) fn options() -> Options {
    let mut options: Options = postgres::database().expect("available").parse().expect("an address");
    options.connections = 4;
    options
}

/// Returns the beginning of identifiers of shops that no other test uses, in this process or another.
pub(crate) fn prefix() -> String {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    format!("{:x}-{}", uuid::Uuid::new_v4().as_u128() >> 80, TESTS.fetch_add(1, Ordering::Relaxed))
}

impl StoreUnderTest for Shops {
    type Store = PostgresStore;

    fn is_available() -> bool {
        postgres::database().is_some()
    }

    async fn create() -> Self {
        Self { prefix: prefix() }
    }

    async fn open_shop(&self, shop: ShopId) -> Arc<PostgresStore> {
        let shop = format!("{}-{shop}", self.prefix).parse().expect("valid");
        Arc::new(PostgresStore::open(&options(), shop).await.expect("opens"))
    }

    async fn count(&self, goods: &[(&str, u64)]) {
        count(&*self.open().await, goods).await;
    }
}

store_suite!(Shops);

/// Puts a product of one variant into the store for each count.
pub(crate) async fn count(store: &PostgresStore, goods: &[(&str, u64)]) {
    let shop = SharedShop { identity: "i".into(), market: "{}".into(), terms: "{}".into(), synonyms: String::new() };
    let catalog = Catalog { shop, number: 0, edition: 0 };
    let base = store.found(&catalog, &[]).await.expect("founds").edition;
    let product = |(place, (variant, quantity)): (i64, &(&str, u64))| SharedProduct {
        id: format!("product of {variant}"),
        place,
        number: 0,
        document: "{}".into(),
        stock: vec![stock(variant, i64::try_from(*quantity).expect("small"))],
    };
    let products: Vec<_> = (1..).zip(goods).map(product).collect();
    assert_eq!(
        store.publish(base, &products, Publication::Statement).await.expect("publishes"),
        Published::Under(base + 1)
    );
}

/// Stock of a variant as of the beginning of time.
pub(crate) fn stock(variant: &str, number: i64) -> SharedStock {
    SharedStock { variant: variant.to_owned(), quantity: number, owed: 0, stated: Some(number), stated_at: Some(0) }
}
