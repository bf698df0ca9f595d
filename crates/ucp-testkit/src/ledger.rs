//! Carts, checkouts and orders in memory, with crash points.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Mutex,
};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    port::PortError,
    purchase::{
        ledger::{Change, Committed, Kept, Key, Ledger, Stored},
        mandate::Mandate,
        remote_cart_ref::RemoteCartRef,
    },
};

use crate::{give_way, locked};

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out.
    Succeeds,
    /// It fails, and nothing is committed.
    FailsBefore,
    /// It is committed, and fails nevertheless.
    FailsAfter,
}

type Fates = Box<dyn FnMut() -> Fate + Send>;

/// A [`Ledger`] in memory. Documents are kept as JSON, as a database would.
#[derive(Default)]
pub struct MemoryLedger {
    books: Mutex<Books>,
    trouble: Mutex<Trouble>,
}

#[derive(Clone, Default)]
struct Books {
    carts: Shelf<Cart>,
    checkouts: Shelf<Checkout>,
    orders: Shelf<Order>,
    stock: BTreeMap<String, u64>,
    mandates: HashMap<String, Mandate>,
    kept: HashMap<Key, Kept>,
    /// Carts at a shop behind another API that no document names yet, and since when.
    remote_carts: BTreeMap<String, (Timestamp, RemoteCartRef)>,
    commits: usize,
}

#[derive(Default)]
struct Trouble {
    reads: bool,
    fates: Option<Fates>,
}

impl fmt::Debug for MemoryLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLedger").finish_non_exhaustive()
    }
}

/// Documents of one kind, in the order in which they were made.
#[derive(Clone)]
struct Shelf<T>(Vec<Row>, std::marker::PhantomData<T>);

#[derive(Clone)]
struct Row {
    id: String,
    owner: String,
    token: String,
    version: u64,
    text: String,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Vec::new(), std::marker::PhantomData)
    }
}

impl Row {
    fn read<T: DeserializeOwned>(&self) -> Stored<T> {
        let document = serde_json::from_str(&self.text).expect("what was written can be read");
        Stored { document, version: self.version }
    }
}

impl<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug> Shelf<T> {
    fn all(&self) -> impl DoubleEndedIterator<Item = Stored<T>> {
        self.0.iter().map(Row::read)
    }

    fn get(&self, owner: &str, id: &str) -> Option<Stored<T>> {
        self.0.iter().find(|row| row.id == id && row.owner == owner).map(Row::read)
    }

    /// Stores a document; whether it was made of the version that is there, and no other has its token.
    fn put(&mut self, id: &str, owner: &str, token: &str, stored: &Stored<T>) -> bool {
        let text = serde_json::to_string(&stored.document).expect("documents serialise");
        let version = stored.version.saturating_add(1);
        let row = Row { id: id.into(), owner: owner.into(), token: token.into(), version, text };
        assert_eq!(row.read::<T>().document, stored.document, "a document comes back as it was");
        if self.0.iter().any(|other| other.id != id && other.token == token) {
            return false;
        }
        match self.0.iter_mut().find(|row| row.id == id) {
            Some(there) if there.version == stored.version && there.owner == owner => *there = row,
            None if stored.version == 0 => self.0.push(row),
            _ => return false,
        }
        true
    }
}

impl Books {
    fn commit(&mut self, change: &Change, keep: Option<(Key, Kept)>) -> Committed {
        if let Some((key, _)) = &keep
            && let Some(kept) = self.kept.get(key)
        {
            return Committed::Kept(kept.clone());
        }
        let Change { cart, checkout, order, quiet: _, stock, mandate, holder: _ } = change;
        let cart = cart.as_ref().is_none_or(|stored| {
            let Cart { id, owner, token, .. } = &stored.document;
            self.carts.put(id, owner, token, stored)
        });
        let checkout = checkout.as_ref().is_none_or(|stored| {
            let Checkout { id, owner, token, .. } = &stored.document;
            self.checkouts.put(id, owner, token, stored)
        });
        let order = order.as_ref().is_none_or(|stored| {
            let Order { id, owner, token, checkout_id, .. } = &stored.document;
            let ordered = |other: Stored<Order>| other.document.id != *id && other.document.checkout_id == *checkout_id;
            !self.orders.all().any(ordered) && self.orders.put(id, owner, token, stored)
        });
        let mut moved: BTreeMap<&str, i64> = BTreeMap::new();
        for movement in stock {
            let quantity = moved.entry(&movement.variant).or_default();
            *quantity = quantity.saturating_add(movement.quantity);
        }
        let enough = moved.into_iter().all(|(variant, quantity)| match self.stock.get_mut(variant) {
            Some(count) => count.checked_add_signed(quantity).map(|left| *count = left).is_some(),
            None => true,
        });
        if !(cart && checkout && order && enough) {
            return Committed::Stale;
        }
        let named = [
            change.cart.as_ref().and_then(|cart| cart.document.remote_cart.as_ref()),
            change.checkout.as_ref().and_then(|checkout| checkout.document.remote_cart.as_ref()),
        ];
        for remote_cart in named.into_iter().flatten() {
            self.remote_carts.remove(&remote_cart.reference);
        }
        let presented = mandate.iter().map(|presented| (presented.checkout_id.clone(), presented.mandate.clone()));
        self.mandates.extend(presented);
        self.kept.extend(keep);
        self.commits += 1;
        Committed::Done
    }
}

impl MemoryLedger {
    /// Starts to count a variant, or corrects the count.
    pub fn count(&self, variant: &str, quantity: u64) {
        locked(&self.books).stock.insert(variant.into(), quantity);
    }

    /// The mandate that is kept for a checkout.
    #[must_use]
    pub fn mandate(&self, checkout: &str) -> Option<Mandate> {
        locked(&self.books).mandates.get(checkout).cloned()
    }

    /// How many there are of a variant that is counted.
    #[must_use]
    pub fn remaining(&self, variant: &str) -> Option<u64> {
        locked(&self.books).stock.get(variant).copied()
    }

    /// Every cart, of whomever.
    #[must_use]
    pub fn carts(&self) -> Vec<Cart> {
        locked(&self.books).carts.all().map(|stored| stored.document).collect()
    }

    /// Every checkout, of whomever.
    #[must_use]
    pub fn checkouts(&self) -> Vec<Checkout> {
        locked(&self.books).checkouts.all().map(|stored| stored.document).collect()
    }

    /// Every order, of whomever.
    #[must_use]
    pub fn orders(&self) -> Vec<Order> {
        locked(&self.books).orders.all().map(|stored| stored.document).collect()
    }

    /// How many commits have changed something or kept an answer.
    #[must_use]
    pub fn commits(&self) -> usize {
        locked(&self.books).commits
    }

    /// From now on `fate` decides what becomes of each commit; it is told how many there were since, from 0.
    pub fn decide_fates(&self, mut fate: impl FnMut(usize) -> Fate + Send + 'static) {
        let mut number = 0;
        locked(&self.trouble).fates = Some(Box::new(move || {
            let fate = fate(number);
            number += 1;
            fate
        }));
    }

    /// From now on reads fail, or succeed again.
    pub fn fail_reads(&self, fail: bool) {
        locked(&self.trouble).reads = fail;
    }

    /// From now on everything succeeds.
    pub fn recover(&self) {
        *locked(&self.trouble) = Trouble::default();
    }

    async fn read<T>(&self, read: impl FnOnce(&Books) -> T) -> Result<T, PortError> {
        give_way().await;
        if locked(&self.trouble).reads { Err(failed()) } else { Ok(read(&locked(&self.books))) }
    }
}

fn failed() -> PortError {
    PortError::unavailable("The books are on fire.", 5)
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.read(|books| books.carts.get(owner, id)).await
    }

    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.read(|books| books.checkouts.get(owner, id)).await
    }

    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.read(|books| {
            let of_cart = |stored: &Stored<Checkout>| {
                stored.document.owner == owner && stored.document.cart_id.as_deref() == Some(cart)
            };
            books.checkouts.all().rev().find(of_cart)
        })
        .await
    }

    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.read(|books| books.orders.get(owner, id)).await
    }

    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.read(|books| books.carts.all().find(|stored| stored.document.token == token)).await
    }

    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.read(|books| books.checkouts.all().find(|stored| stored.document.token == token)).await
    }

    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.read(|books| books.orders.all().find(|stored| stored.document.token == token)).await
    }

    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError> {
        self.read(|books| variants.iter().map(|variant| books.stock.get(*variant).copied()).collect()).await
    }

    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError> {
        self.read(|books| books.kept.get(key).cloned()).await
    }

    async fn commit(&self, change: Change, keep: Option<(Key, Kept)>) -> Result<Committed, PortError> {
        give_way().await;
        let fate = locked(&self.trouble).fates.as_mut().map_or(Fate::Succeeds, |fates| fates());
        if fate == Fate::FailsBefore {
            return Err(failed());
        }
        let committed = {
            let mut books = locked(&self.books);
            // Everything or nothing.
            let mut after = books.clone();
            let committed = after.commit(&change, keep);
            if committed == Committed::Done {
                *books = after;
            }
            committed
        };
        give_way().await;
        if fate == Fate::FailsAfter { Err(failed()) } else { Ok(committed) }
    }

    async fn note_remote_cart(&self, cart: &RemoteCartRef, at: Timestamp) -> Result<(), PortError> {
        give_way().await;
        locked(&self.books).remote_carts.insert(cart.reference.clone(), (at, cart.clone()));
        Ok(())
    }

    async fn orphaned_remote_carts(&self, before: Timestamp, limit: usize) -> Result<Vec<RemoteCartRef>, PortError> {
        self.read(|books| {
            let mut noted: Vec<_> = books.remote_carts.values().filter(|(at, _)| *at < before).cloned().collect();
            noted.sort_by_key(|(at, _)| *at);
            noted.into_iter().take(limit).map(|(_, cart)| cart).collect()
        })
        .await
    }

    async fn forget_remote_cart(&self, cart: &RemoteCartRef) -> Result<(), PortError> {
        give_way().await;
        locked(&self.books).remote_carts.remove(&cart.reference);
        Ok(())
    }

    async fn unsettled(&self, before: Timestamp, limit: usize) -> Result<Vec<Stored<Checkout>>, PortError> {
        self.read(|books| {
            let begun_at = |stored: &Stored<Checkout>| stored.document.state.attempt().map(|attempt| attempt.begun_at);
            let mut unsettled: Vec<_> =
                books.checkouts.all().filter(|stored| begun_at(stored).is_some_and(|at| at < before)).collect();
            unsettled.sort_by_key(begun_at);
            unsettled.truncate(limit);
            unsettled
        })
        .await
    }
}
