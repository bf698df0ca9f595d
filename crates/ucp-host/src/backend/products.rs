//! The products of the embedded shop between a data directory and the database that gateways share: founded, followed, published
//! and moved.

use std::{
    collections::HashMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use ucp_config::Data;
use ucp_core::ports::shared::{SharedProduct, SharedStock};
use ucp_postgres::{
    PostgresStore,
    catalog::{Catalog, Publication, Published, TOGETHER},
};
use ucp_shop::{
    Database as Products,
    replica::{adopt, begin_places_at},
};
use ucp_sqlite::{SqliteStore, StoreError};

use crate::directory;

/// Returns the catalog in the database. Where there is none, it is the shop that is in the data directory already, or else the
/// configured sample.
pub(super) async fn founded(
    store: &PostgresStore,
    local: &SqliteStore,
    data: &Data,
) -> Result<Catalog, Box<dyn Error>> {
    if let Some(catalog) = store.catalog().await? {
        return Ok(catalog);
    }
    let (products, folder) = match Products::of(local.clone()) {
        Ok(products) => (products, None),
        Err(StoreError::Missing { .. }) => {
            let folder = Scratch::new(&data.dir)?;
            let local = SqliteStore::open_or_create(&folder.0)?;
            begin_places_at(&local, first_place())?;
            (Products::of_or_create(local, || directory::sample(data.sample.0))?, Some(folder))
        }
        Err(error) => return Err(error.into()),
    };
    let catalog = found(store, &products).await?;
    drop(folder);
    Ok(catalog)
}

/// Makes a shop the catalog in the database, unless there is one. Returns the one that there is.
pub(super) async fn found(store: &PostgresStore, products: &Products) -> Result<Catalog, Box<dyn Error>> {
    let all = products.shared_products()?;
    // The copy that it is made of has followed that far.
    let number = products.followed()?;
    let catalog = Catalog { shop: products.shared()?, number, edition: number };
    Ok(store.found(&catalog, &all).await?)
}

/// Returns the place before that of the first product of a new shop. Shops whose products lie in one file have no place in
/// common.
pub(super) fn first_place() -> i64 {
    let random = uuid::Uuid::new_v4().into_bytes();
    i64::from(u32::from_be_bytes([random[0] >> 1, random[1], random[2], random[3]])) << 31
}

/// Follows the database up to its newest change.
pub(super) async fn follow(store: &PostgresStore, products: &Products) -> Result<i64, Box<dyn Error + Send + Sync>> {
    let mut followed = products.followed()?;
    loop {
        let changes = store.changes(followed).await?;
        let Some(last) = changes.last() else { return Ok(followed) };
        followed = last.number;
        products.replicate(changes).await?;
    }
}

/// Returns `true` if a copy has followed changes that the database does not have: that was restored as it was before.
pub(super) async fn is_ahead(store: &PostgresStore, products: &Products) -> Result<bool, Box<dyn Error>> {
    let (number, followed) = products.last_followed()?;
    let ids: Vec<_> = followed.keys().map(String::as_str).collect();
    let there = store.documents(&ids).await?;
    let is_same = |(id, document): (&String, &String)| {
        there.get(id).is_some_and(|(stored, other)| *stored > number || (*stored == number && other == document))
    };
    Ok(!followed.iter().all(is_same))
}

/// A directory that is removed with it.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(data_dir: &Path) -> std::io::Result<Self> {
        let folder = data_dir.join(format!(".scratch-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is in nobody's way.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Returns `true` if a database holds no other shop than a directory.
pub async fn fits_database(from: &SqliteStore, to: &PostgresStore) -> Result<bool, Box<dyn Error>> {
    let Some(catalog) = to.catalog().await? else { return Ok(true) };
    is_of(in_directory(from)?.as_ref(), &catalog)
}

/// Returns `true` if a directory holds no other shop than a database.
pub async fn fits_directory(from: &PostgresStore, to: &SqliteStore) -> Result<bool, Box<dyn Error>> {
    let Some(products) = in_directory(to)? else { return Ok(true) };
    from.catalog().await?.map_or(Ok(false), |catalog| is_of(Some(&products), &catalog))
}

/// Returns the number of products that a directory and a database have, if they are the same.
pub async fn in_common(directory: &SqliteStore, database: &PostgresStore) -> Result<Option<usize>, Box<dyn Error>> {
    let here = match in_directory(directory)? {
        Some(products) => comparable(products.shared_products()?),
        None => HashMap::new(),
    };
    let there = comparable(all(database).await?);
    Ok((here == there).then_some(here.len()))
}

fn is_of(products: Option<&Products>, catalog: &Catalog) -> Result<bool, Box<dyn Error>> {
    products.map_or(Ok(false), |products| Ok(products.shared()?.identity == catalog.shop.identity))
}

/// Returns the products of a directory. A gateway in front of a remote shop has none.
fn in_directory(store: &SqliteStore) -> Result<Option<Products>, Box<dyn Error>> {
    match Products::of(store.clone()) {
        Ok(products) => Ok(Some(products)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Copies the products of a directory into a database. Returns their number, also those that were there.
pub async fn to_database(from: &SqliteStore, to: &PostgresStore) -> Result<usize, Box<dyn Error>> {
    if let Some(products) = in_directory(from)? {
        let catalog = found(to, &products).await?;
        let before = all(to).await?;
        publish(to, &before, catalog.edition, &products, Publication::Copy).await?;
    }
    in_common(from, to).await?.ok_or_else(|| DIFFERENT.into())
}

const DIFFERENT: &str = "products differ: they were changed meanwhile; copy again while nothing runs";

/// Copies the products of a database into a directory. Returns their number, also those that were there.
pub async fn to_directory(from: &PostgresStore, to: &SqliteStore) -> Result<usize, Box<dyn Error>> {
    let Some(catalog) = from.catalog().await? else { return Ok(0) };
    adopt(to, &catalog.shop)?;
    let products = Products::of(to.clone())?;
    follow(from, &products).await.map_err(|error| error as Box<dyn Error>)?;
    // Goods that were sold without being sold out have changed under no number.
    let known = comparable(products.shared_products()?);
    let mut changed = all(from).await?;
    changed.retain(|product| known.get(&product.id) != Some(&(product.document.clone(), product.stock.clone())));
    products.replicate(changed).await?;
    in_common(to, from).await?.ok_or_else(|| DIFFERENT.into())
}

/// Returns all products in a database.
async fn all(store: &PostgresStore) -> Result<Vec<SharedProduct>, Box<dyn Error>> {
    let (mut all, mut after) = (Vec::new(), i64::MIN);
    loop {
        let changes = store.changes(after).await?;
        let Some(last) = changes.last() else { return Ok(all) };
        after = last.number;
        all.extend(changes);
    }
}

/// Publishes the products that differ from those in the database before, of the edition `edition`.
pub(super) async fn publish(
    store: &PostgresStore,
    before: &[SharedProduct],
    mut edition: i64,
    products: &Products,
    publication: Publication,
) -> Result<(), Box<dyn Error>> {
    let shop = products.shared()?;
    store.set_terms(&shop.terms).await?;
    store.set_synonyms(&shop.synonyms).await?;
    let known = comparable(before.to_vec());
    let mut changed = products.shared_products()?;
    changed.retain(|product| known.get(&product.id) != Some(&(product.document.clone(), product.stock.clone())));
    for part in changed.chunks(TOGETHER) {
        match store.publish(edition, part, publication).await? {
            Published::Under(number) => edition = number,
            Published::Overtaken => {
                return Err("others have changed the products in the database meanwhile; do it again".into());
            }
        }
    }
    Ok(())
}

/// Returns what two stores have in common of each product.
fn comparable(products: Vec<SharedProduct>) -> HashMap<String, (String, Vec<SharedStock>)> {
    products.into_iter().map(|product| (product.id, (product.document, product.stock))).collect()
}
