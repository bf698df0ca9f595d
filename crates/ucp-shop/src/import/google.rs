//! Product feeds of Google Merchant Center, as XML (RSS 2.0 or Atom) or as tab-separated text.
//!
//! An item of the feed is one variant. The items of one `item_group_id` are the variants of one product, wherever they
//! stand in a file; in a stream, which can be read only once, they have to follow each other. Attributes are known by
//! their names with or without the prefix `g:`, with spaces or underscores.
//!
//! | in the feed | in the shop |
//! | :-- | :-- |
//! | `id` | the variant |
//! | `item_group_id`, else `id` | the product is `prod_<item_group_id>` or `prod_<id>` |
//! | `title`, `item_group_title` | the title; of a group its own title, else that of its first item |
//! | `description` | `description.plain` |
//! | `link`, `image_link`, `additional_image_link` | `url` and `media` |
//! | `price`, `sale_price` with `sale_price_effective_date` | `price`, and `list_price` while a lower sale price holds |
//! | `availability` | `in_stock`, `backorder` and `preorder` can be bought, `out_of_stock` not |
//! | `gtin`, `mpn` | `barcodes`; a GTIN when its check digit is right |
//! | `brand`, `condition`, `age_group`, `gender` | `metadata` |
//! | `color`, `size`, `material`, `pattern` | options, as far as every item of the product states them |
//! | `google_product_category`, `product_type` | `categories` of the taxonomies `google_product_category` and `merchant` |
//! | `shipping_weight` | `weight_grams` |
//! | `expiration_date` | items whose date has passed are skipped |
//!
//! Variants that differ in none of these options get an option `Item` whose values are their titles or identifiers. All
//! other attributes are passed over.

mod build;
mod item;
#[cfg(test)]
mod tests;
mod tsv;
mod xml;

use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    io::BufRead,
};

use jiff::Timestamp;
use ucp_core::catalog::market::Market;
use ucp_import::{BadRow, Verdict};

use self::item::FeedItem;
use super::{ImportedProduct, Unimportable, finish};

/// Maximum size of an item, in bytes.
const LONGEST_ITEM: usize = 1 << 20;

/// Maximum number of items of a product.
const MOST_ITEMS: usize = 2_048;

/// Maximum size of all items that wait for others of their groups, in bytes.
const MOST_WAITING: usize = 64 << 20;

/// Kind of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// RSS 2.0 or Atom.
    Xml,
    /// Tab-separated text with a header.
    Tsv,
}

/// Returns `true` if a line is the header of a tab-separated feed.
pub(super) fn recognises(header: &[u8]) -> bool {
    let header = String::from_utf8_lossy(header);
    let names: Vec<_> = header.split('\t').map(|name| item::name(name.trim_matches('"'))).collect();
    names.len() > 2 && ["id", "title", "price"].iter().all(|needed| names.iter().any(|name| name == needed))
}

type Items = Box<dyn Iterator<Item = Result<FeedItem, BadRow>> + Send>;

fn items(reader: impl BufRead + Send + 'static, kind: Kind) -> Result<Items, Unimportable> {
    let fit = |item: Result<FeedItem, BadRow>| item.and_then(FeedItem::fit);
    Ok(match kind {
        Kind::Xml => Box::new(xml::Items::new(reader).map(fit)),
        Kind::Tsv => Box::new(tsv::Items::new(reader)?.map(fit)),
    })
}

/// Number of items of each group, by the hash of its identifier. Two groups with one hash wait for each other and then
/// for the end of the feed.
pub(super) type GroupSizes = HashMap<u64, u32>;

/// Counts the items of each group in a feed.
pub(super) fn group_sizes(reader: impl BufRead + Send + 'static, kind: Kind) -> Result<GroupSizes, Unimportable> {
    let mut sizes = GroupSizes::new();
    // Items that cannot be read are reported when the products are.
    for item in items(reader, kind)? {
        match item {
            Ok(item) => {
                if let Some(group) = item.get("item_group_id") {
                    *sizes.entry(hashed(group)).or_default() += 1;
                }
            }
            // Of a feed that breaks off, no group is known to be whole.
            Err(bad) if bad.verdict == Verdict::Unreadable => sizes.values_mut().for_each(|size| *size = u32::MAX),
            Err(_) => {}
        }
    }
    Ok(sizes)
}

fn hashed(group: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    group.hash(&mut hasher);
    hasher.finish()
}

/// The products of a feed.
pub(super) struct Products {
    items: Items,
    market: Market,
    now: Timestamp,
    /// Sizes of the groups; `None` if they are not known, and the items of a group follow each other.
    sizes: Option<GroupSizes>,
    waiting: BTreeMap<String, Group>,
    /// Size of everything that waits, in bytes.
    waiting_bytes: usize,
    /// Groups that were given up, so that the rest of their items is passed over.
    given_up: HashSet<String>,
    ended: bool,
    fault: Option<BadRow>,
}

/// Items of a group that were read so far.
#[derive(Default)]
struct Group {
    items: Vec<FeedItem>,
    bytes: usize,
}

impl Products {
    /// Reads a feed as of `now`, which decides about sale prices and expired items.
    pub(super) fn new(
        reader: impl BufRead + Send + 'static,
        kind: Kind,
        market: Market,
        now: Timestamp,
        sizes: Option<GroupSizes>,
    ) -> Result<Self, Unimportable> {
        Ok(Self {
            items: items(reader, kind)?,
            market,
            now,
            sizes,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            given_up: HashSet::new(),
            ended: false,
            fault: None,
        })
    }

    /// Takes a group out of those that wait.
    fn take(&mut self, id: &str) -> Vec<FeedItem> {
        let Some(group) = self.waiting.remove(id) else { return Vec::new() };
        self.waiting_bytes -= group.bytes;
        group.items
    }

    fn made(&self, items: &[FeedItem]) -> ImportedProduct {
        let line = items.first().map_or(1, |item| item.line);
        let record = build::build(items, &self.market, self.now)?;
        finish(record, line, &self.market)
    }

    /// Adds an item to its group, and returns what can be said now: a product, or why one is left out.
    fn add(&mut self, item: FeedItem) -> Option<ImportedProduct> {
        let Some(id) = item.get("item_group_id").map(str::to_owned) else { return Some(self.made(&[item])) };
        if self.given_up.contains(&id) {
            return None;
        }
        // In a stream, the group before has ended with this item.
        let before = match &self.sizes {
            Some(_) => None,
            None => self.waiting.keys().find(|other| **other != id).cloned().map(|other| self.take(&other)),
        };
        let (line, size) = (item.line, item.size());
        let group = self.waiting.entry(id.clone()).or_default();
        group.bytes += size;
        self.waiting_bytes += size;
        group.items.push(item);
        let (held, whole) = (group.items.len(), self.sizes.as_ref().and_then(|sizes| sizes.get(&hashed(&id)).copied()));
        if held > MOST_ITEMS || self.waiting_bytes > MOST_WAITING {
            drop(self.take(&id));
            self.given_up.insert(id.clone());
            let reason = match held > MOST_ITEMS {
                true => format!("a product may have at most {MOST_ITEMS} items"),
                false => "too many groups are open at once; sort the feed by `item_group_id`".to_owned(),
            };
            return Some(Err(BadRow::faulty(line, Some("item_group_id".to_owned()), format!("`{id}`: {reason}"))));
        }
        match before {
            Some(before) => Some(self.made(&before)),
            None if whole == u32::try_from(held).ok() => {
                let items = self.take(&id);
                Some(self.made(&items))
            }
            None => None,
        }
    }
}

impl Iterator for Products {
    type Item = ImportedProduct;

    fn next(&mut self) -> Option<ImportedProduct> {
        while !self.ended {
            match self.items.next() {
                Some(Ok(item)) if item.is_expired(self.now) => return Some(Err(item.expired())),
                Some(Ok(item)) => {
                    if let Some(said) = self.add(item) {
                        return Some(said);
                    }
                }
                Some(Err(bad)) if bad.verdict == Verdict::Unreadable => {
                    // Groups that may have lost an item are not products.
                    self.ended = true;
                    self.waiting.clear();
                    self.fault = Some(bad);
                }
                Some(Err(bad)) => return Some(Err(bad)),
                None => self.ended = true,
            }
        }
        if let Some(fault) = self.fault.take() {
            return Some(Err(fault));
        }
        let last = self.waiting.keys().next().cloned()?;
        let items = self.take(&last);
        Some(self.made(&items))
    }
}
