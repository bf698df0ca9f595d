//! Cache of products and identifiers that were read from the database, in the form in which callers get them.
//!
//! An entry never outlives the data it was made from: every insertion states when its data was read, and data read
//! before a [change](Cache::change) is not accepted after it. Names and products are cached separately, so a reader can
//! see a name from before a change with a product from after it, and has to check that the product still has the name.

use std::sync::{Arc, PoisonError, RwLock};

use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache as Bounded, DefaultLifecycle},
};
use ucp_core::{
    catalog::product::{Product, Variant},
    money::Currency,
};

use crate::products::Found;

/// Maximum length of a cached identifier, in bytes; longer ones are looked up every time.
const LONGEST_NAME: usize = 256;

/// Capacity for identifiers that name something, in bytes.
const NAMES: u64 = 8 << 20;
/// Capacity for identifiers that name nothing, in bytes.
const NOTHINGS: u64 = 1 << 20;

/// Approximate memory of a cached name besides its text, in bytes.
const NAME_OVERHEAD: usize = 96;

/// Cache key: a product in one language and currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// `seq` of the product in the database.
    pub(crate) seq: i64,
    /// Index of the language: 0 for the market's default language, then its further ones.
    pub(crate) language: u16,
    /// Requested currency.
    pub(crate) currency: Currency,
}

#[derive(Clone)]
struct Entry {
    product: Arc<Product>,
    /// Length of the product's document, in bytes.
    length: usize,
}

impl Entry {
    /// Estimates the memory of the product, in bytes: its structures, its texts, and as many bytes again for the texts
    /// of answers.
    fn weight(&self) -> u64 {
        let structures = size_of::<Product>() + self.product.variants.len() * (size_of::<Variant>() + 256);
        (structures + 2 * self.length) as u64
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Entry> for Weight {
    fn weight(&self, _: &Key, entry: &Entry) -> u64 {
        entry.weight()
    }
}

impl Weighter<Box<str>, Arc<[Found]>> for Weight {
    fn weight(&self, name: &Box<str>, found: &Arc<[Found]>) -> u64 {
        (name.len() + NAME_OVERHEAD + size_of_val::<[Found]>(found)) as u64
    }
}

impl Weighter<Box<str>, ()> for Weight {
    fn weight(&self, name: &Box<str>, (): &()) -> u64 {
        (name.len() + NAME_OVERHEAD) as u64
    }
}

/// Time of a read, as the number of changes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadAt(u64);

/// The caches of one shop.
pub(crate) struct Cache {
    products: Bounded<Key, Entry, Weight>,
    names: Bounded<Box<str>, Arc<[Found]>, Weight>,
    nothings: Bounded<Box<str>, (), Weight>,
    /// Number of changes so far. Locked for reading while the cache is filled, for writing while it is invalidated.
    changes: RwLock<u64>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("products", &self.products.len()).field("bytes", &self.products.weight()).finish()
    }
}

impl Cache {
    /// Creates a cache that holds about `bytes` of products.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            products: bounded(bytes, 8 << 10),
            names: bounded(NAMES, 128),
            nothings: bounded(NOTHINGS, 128),
            changes: RwLock::new(0),
        }
    }

    /// Returns the time of a read. Has to be called before reading data that will be [kept](Self::keep_product).
    pub(crate) fn now(&self) -> ReadAt {
        ReadAt(*self.changes.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn product(&self, key: &Key) -> Option<Arc<Product>> {
        self.products.get(key).map(|entry| entry.product)
    }

    /// Returns what a name refers to: an empty list if it is known to refer to nothing, `None` if it is not cached.
    pub(crate) fn name(&self, name: &str) -> Option<Arc<[Found]>> {
        if name.len() > LONGEST_NAME {
            return None;
        }
        self.names.get(name).or_else(|| self.nothings.get(name).map(|()| Arc::default()))
    }

    /// Keeps a product whose document has `length` bytes.
    pub(crate) fn keep_product(&self, read_at: ReadAt, key: Key, product: &Arc<Product>, length: usize) {
        let entry = Entry { product: Arc::clone(product), length };
        self.keep(read_at, || self.products.insert(key, entry));
    }

    pub(crate) fn keep_name(&self, read_at: ReadAt, name: &str, found: &[Found]) {
        if name.len() > LONGEST_NAME {
            return;
        }
        self.keep(read_at, || {
            if found.is_empty() {
                self.nothings.insert(name.into(), ());
            } else {
                self.names.insert(name.into(), found.into());
            }
        });
    }

    fn keep(&self, read_at: ReadAt, insert: impl FnOnce()) {
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        if *changes == read_at.0 {
            insert();
        }
    }

    /// Invalidates the entries that a change to the products at `seqs` (ascending; `None` for all) has outdated.
    pub(crate) fn change(&self, seqs: Option<&[i64]>) {
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        *changes += 1;
        match seqs {
            Some(seqs) => self.products.retain(|key, _| seqs.binary_search(&key.seq).is_err()),
            None => self.products.clear(),
        }
        // The previous names of a product are not known here, and names are quick to find again.
        self.names.clear();
        self.nothings.clear();
    }
}

fn bounded<K: Eq + std::hash::Hash, V: Clone>(bytes: u64, entry: u64) -> Bounded<K, V, Weight>
where
    Weight: Weighter<K, V>,
{
    // Few shards: an entry can be no larger than its shard, and one product may be large.
    let options = OptionsBuilder::new()
        .shards(4)
        .weight_capacity(bytes)
        .estimated_items_capacity(usize::try_from(bytes / entry).unwrap_or(usize::MAX).max(64))
        .build();
    match options {
        Ok(options) => {
            Bounded::with_options(options, Weight, DefaultHashBuilder::default(), DefaultLifecycle::default())
        }
        Err(_) => Bounded::with_weighter(64, bytes, Weight),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use ucp_core::{catalog::record::Record, ports::Target};

    use super::*;

    fn product(id: &str) -> Arc<Product> {
        let record: Record = serde_json::from_value(json!({
            "id": id, "title": id, "description": {"plain": id},
            "variants": [{"id": format!("{id}-v"), "price": {"amount": 1, "currency": "USD"}}],
        }))
        .expect("a record");
        let currency = "USD".parse().expect("a currency");
        Arc::new(record.present(&ucp_core::catalog::market::Presentation {
            language: "en".into(),
            currency,
            country: None,
            customer_group: None,
        }))
    }

    fn key(seq: i64) -> Key {
        Key { seq, language: 0, currency: "USD".parse().expect("a currency") }
    }

    const FOUND: Found = Found { seq: 1, target: Target::Product };

    #[test]
    fn reads_from_before_a_change_are_not_cached_after_it() {
        let cache = Cache::new(1 << 20);
        let before = cache.now();
        cache.keep_product(before, key(1), &product("a"), 100);
        cache.keep_product(before, key(2), &product("b"), 100);
        cache.keep_name(before, "a", &[FOUND]);
        cache.keep_name(before, "x", &[]);
        assert!(cache.product(&key(1)).is_some() && cache.product(&key(2)).is_some());
        assert_eq!(cache.name("a").as_deref(), Some(&[FOUND][..]));
        assert_eq!(cache.name("x").as_deref(), Some(&[][..]));

        cache.change(Some(&[1]));
        assert!(cache.product(&key(1)).is_none() && cache.product(&key(2)).is_some());
        assert!(cache.name("a").is_none() && cache.name("x").is_none());
        cache.keep_product(before, key(1), &product("a"), 100);
        cache.keep_name(before, "a", &[FOUND]);
        cache.keep_name(before, "x", &[]);
        assert!(cache.product(&key(1)).is_none() && cache.name("a").is_none() && cache.name("x").is_none());

        cache.keep_product(cache.now(), key(1), &product("a"), 100);
        cache.change(None);
        assert!(cache.product(&key(1)).is_none() && cache.product(&key(2)).is_none());
    }

    #[test]
    fn products_weigh_what_answers_will_add_to_them() {
        let cache = Cache::new(1 << 20);
        let product = product("a");
        let weight = |length: usize| Entry { product: Arc::clone(&product), length }.weight();
        assert_eq!(weight(1_000) - weight(0), 2_000);
        for seq in 0..1_000 {
            cache.keep_product(cache.now(), key(seq), &product, 1_000);
        }
        assert!(cache.products.len() < 1_000);
        assert!(cache.products.weight() <= 1 << 20 && cache.products.weight() > 1 << 19);
    }

    #[test]
    fn the_cache_is_bounded_whatever_is_asked_for() {
        let cache = Cache::new(1 << 20);
        let (now, product) = (cache.now(), product("a"));
        for seq in 0..10_000 {
            cache.keep_product(now, key(seq), &product, 10_000);
            cache.keep_name(now, &format!("{seq}{}", "x".repeat(200)), &[]);
            cache.keep_name(now, &format!("y{seq}{}", "x".repeat(200)), &[FOUND; 20]);
        }
        assert!(
            cache.products.weight() <= 1 << 20 && cache.nothings.weight() <= NOTHINGS && cache.names.weight() <= NAMES
        );
        cache.keep_name(now, &"z".repeat(LONGEST_NAME + 1), &[]);
        assert!(cache.name(&"z".repeat(LONGEST_NAME + 1)).is_none());
    }
}
