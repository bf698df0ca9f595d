//! Carts, checkouts and orders in memory, with crash points.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Mutex,
};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::Notify;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    ports::{
        PortError,
        agenda::{Agenda, Claim, Claimed, Due, Entry, Kind, Plan, Recorded, Rested, Room, Tally, Task},
        ledger::{Change, Committed, Kept, Key, Ledger, Stored},
    },
    purchase::mandate::Mandate,
};

use crate::{give_way, locked};

/// Fate of a commit.
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
    planned: Notify,
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
    tasks: BTreeMap<(Kind, String), Planned>,
    /// The open checkout of each cart.
    open_carts: HashMap<Option<String>, String>,
    commits: usize,
}

/// A task, and what became of it so far.
#[derive(Clone)]
struct Planned {
    task: Task,
    since: Timestamp,
    tries: u32,
    given_up: bool,
    problem: Option<String>,
    woken: bool,
    claim: Option<Claim>,
    claimed_at: Timestamp,
}

impl Planned {
    fn is_free(&self, now: Timestamp) -> bool {
        self.claim.as_ref().is_none_or(|claim| claim.until <= now)
    }

    fn claimed(&mut self, now: Timestamp, claim: &Claim) -> Claimed {
        (self.claim, self.claimed_at, self.woken) = (Some(claim.clone()), now, false);
        let Task { kind, key, lane, body, .. } = self.task.clone();
        Claimed { kind, key, lane, body, tries: self.tries, since: self.since }
    }
}

#[derive(Default)]
struct Trouble {
    reads: bool,
    fates: Option<Fates>,
}

ucp_core::opaque!(MemoryLedger);

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

    /// Gives a document another version.
    fn touch(&mut self, id: &str) {
        self.0.iter_mut().filter(|row| row.id == id).for_each(|row| row.version += 1);
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

/// A key as it is kept: for whatever resource.
fn of_any(key: &Key) -> Key {
    Key { resource: String::new(), ..key.clone() }
}

impl Books {
    fn commit(&mut self, change: &Change, keep: Option<(Key, Kept)>) -> Committed {
        if let Some((key, _)) = &keep
            && let Some(kept) = self.kept.get(&of_any(key))
        {
            return Committed::Kept(kept.clone());
        }
        let plans = change.plans();
        let Change { cart, checkout, order, stock, mandate, .. } = change;
        let cart = cart.as_ref().is_none_or(|stored| {
            let Cart { id, owner, token, .. } = &stored.document;
            self.carts.put(id, owner, token, stored)
        });
        let checkout = checkout.as_ref().is_none_or(|stored| {
            let Checkout { id, owner, token, cart_id, created_at, .. } = &stored.document;
            let mut taken = false;
            if stored.version == 0 && cart_id.is_some() {
                let open = self.open_carts.get(cart_id).and_then(|open| self.checkouts.get(owner, open));
                if let Some(Stored { document: open, .. }) = open.filter(|open| !open.document.status().is_terminal()) {
                    taken = open.expires_at > *created_at || open.state.attempt().is_some();
                    // Whoever is about to change one that is replaced finds it changed.
                    self.checkouts.touch(&open.id);
                }
                self.open_carts.insert(cart_id.clone(), id.clone());
            }
            !taken && self.checkouts.put(id, owner, token, stored)
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
        for plan in plans {
            self.plan(plan);
        }
        let presented = mandate.iter().map(|presented| (presented.checkout_id.clone(), presented.mandate.clone()));
        self.mandates.extend(presented);
        self.kept.extend(keep.map(|(key, kept)| (of_any(&key), kept)));
        self.commits += 1;
        Committed::Done
    }

    fn plan(&mut self, plan: Plan) {
        match plan {
            Plan::Done(kind, key) => drop(self.tasks.remove(&(kind, key))),
            Plan::Also(task) => match self.tasks.get_mut(&(task.kind, task.key.clone())) {
                Some(there) => there.woken = true,
                None => self.plan(Plan::Due(task)),
            },
            Plan::Due(mut task) => {
                let place = (task.kind, task.key.clone());
                let since = task.due;
                if let Some(there) = self.tasks.get(&place)
                    && there.woken
                    && there.task.name == task.name
                {
                    task.due = task.due.min(there.task.due);
                }
                let woken = self.tasks.get(&place).is_some_and(|there| there.woken);
                let claimed_at = self.tasks.get(&place).map_or(Timestamp::MIN, |there| there.claimed_at);
                let planned =
                    Planned { task, since, tries: 0, given_up: false, problem: None, woken, claim: None, claimed_at };
                self.tasks.insert(place, planned);
            }
        }
    }
}

impl MemoryLedger {
    /// Starts to count a variant, or corrects the count.
    pub fn count(&self, variant: &str, quantity: u64) {
        locked(&self.books).stock.insert(variant.into(), quantity);
    }

    /// The mandate that is kept for a checkout.
    pub fn mandate(&self, checkout: &str) -> Option<Mandate> {
        locked(&self.books).mandates.get(checkout).cloned()
    }

    /// Returns the remaining stock of a variant; `None` if it is not counted.
    pub fn remaining(&self, variant: &str) -> Option<u64> {
        locked(&self.books).stock.get(variant).copied()
    }

    /// Every cart, of whomever.
    pub fn carts(&self) -> Vec<Cart> {
        locked(&self.books).carts.all().map(|stored| stored.document).collect()
    }

    /// Every checkout, of whomever.
    pub fn checkouts(&self) -> Vec<Checkout> {
        locked(&self.books).checkouts.all().map(|stored| stored.document).collect()
    }

    /// Every order, of whomever.
    pub fn orders(&self) -> Vec<Order> {
        locked(&self.books).orders.all().map(|stored| stored.document).collect()
    }

    /// Returns the number of commits that have changed something or stored a response.
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

    async fn orders_named(&self, name: &str, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        self.read(|books| {
            let meant = |stored: &Stored<Order>| {
                let Order { id, label, remote, .. } = &stored.document;
                id == name || label == name || remote.as_ref().is_some_and(|remote| remote.reference == name)
            };
            books.orders.all().rev().filter(meant).take(limit).collect()
        })
        .await
    }

    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError> {
        self.read(|books| variants.iter().map(|variant| books.stock.get(*variant).copied()).collect()).await
    }

    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError> {
        self.read(|books| books.kept.get(&of_any(key)).cloned()).await
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
                self.planned.notify_one();
            }
            committed
        };
        give_way().await;
        if fate == Fate::FailsAfter { Err(failed()) } else { Ok(committed) }
    }
}

#[async_trait]
impl Agenda for MemoryLedger {
    async fn plan(&self, plan: Plan) -> Result<(), PortError> {
        give_way().await;
        locked(&self.books).plan(plan);
        self.planned.notify_one();
        Ok(())
    }

    async fn due_tasks(&self, now: Timestamp, room: Room<'_>) -> Result<Vec<Due>, PortError> {
        self.read(|books| {
            let mut lanes: BTreeMap<&str, Vec<&Planned>> = BTreeMap::new();
            let is_due = |planned: &&Planned| {
                let is_wanted = room.kinds.contains(&planned.task.kind) && !planned.given_up;
                is_wanted && planned.task.due <= now && planned.is_free(now)
            };
            for planned in books.tasks.values().filter(is_due) {
                lanes.entry(&planned.task.lane).or_default().push(planned);
            }
            lanes.retain(|lane, _| !room.except.contains(lane));
            let mut found = Vec::new();
            for planned in lanes.values_mut() {
                planned.sort_by_key(|planned| planned.task.due);
                found.extend(planned.iter().take(room.per_lane).enumerate().map(|(turn, planned)| (turn, *planned)));
            }
            found.sort_by_key(|(turn, planned)| (*turn, planned.task.due));
            let due = |(_, planned): (usize, &Planned)| {
                let Task { kind, key, lane, .. } = planned.task.clone();
                Due { kind, key, lane }
            };
            found.into_iter().take(room.total).map(due).collect()
        })
        .await
    }

    async fn claim_tasks(&self, tasks: Vec<Due>, now: Timestamp, claim: &Claim) -> Result<Vec<Claimed>, PortError> {
        give_way().await;
        let mut books = locked(&self.books);
        let mut claimed = Vec::new();
        for Due { kind, key, .. } in tasks {
            if let Some(planned) = books.tasks.get_mut(&(kind, key))
                && !planned.given_up
                && planned.task.due <= now
                && planned.is_free(now)
            {
                claimed.push(planned.claimed(now, claim));
            }
        }
        Ok(claimed)
    }

    async fn seize(
        &self,
        kind: Kind,
        key: &str,
        rested: Rested,
        now: Timestamp,
        claim: &Claim,
    ) -> Result<Option<Claimed>, PortError> {
        give_way().await;
        let mut books = locked(&self.books);
        let planned = books.tasks.get_mut(&(kind, key.to_owned()));
        let planned = planned.filter(|planned| {
            planned.is_free(now) && (planned.claimed_at <= rested.since || planned.tries < rested.tries)
        });
        Ok(planned.map(|planned| {
            (planned.given_up, planned.task.due) = (false, planned.task.due.min(now));
            planned.claimed(now, claim)
        }))
    }

    async fn extend_tasks(&self, tasks: Vec<Due>, claim: &Claim) -> Result<(), PortError> {
        for Due { kind, key, .. } in tasks {
            if let Some(planned) = locked(&self.books).tasks.get_mut(&(kind, key))
                && planned.claim.as_ref().is_some_and(|there| there.claimant == claim.claimant)
            {
                planned.claim = Some(claim.clone());
            }
        }
        Ok(())
    }

    async fn record_task(&self, kind: Kind, key: &str, claimant: &str, recorded: Recorded) -> Result<bool, PortError> {
        give_way().await;
        let mut books = locked(&self.books);
        let place = (kind, key.to_owned());
        let Some(planned) = books.tasks.get_mut(&place) else { return Ok(false) };
        if planned.claim.as_ref().is_none_or(|claim| claim.claimant != claimant) {
            return Ok(false);
        }
        let woken = planned.woken;
        if recorded == Recorded::Done && !woken {
            books.tasks.remove(&place);
            return Ok(true);
        }
        planned.claim = None;
        planned.tries += 1;
        let at = planned.claimed_at;
        (planned.task.due, planned.problem, planned.given_up) = match recorded {
            Recorded::Done => (at, None, false),
            Recorded::Again { at: again, problem } => (if woken { at } else { again }, problem, false),
            Recorded::GivenUp { problem } => (at, Some(problem), !woken),
        };
        Ok(true)
    }

    async fn wake(&self, name: &str, now: Timestamp) -> Result<bool, PortError> {
        give_way().await;
        let mut woken = false;
        for planned in locked(&self.books).tasks.values_mut() {
            if planned.task.name.as_deref() == Some(name) {
                (planned.woken, planned.given_up, woken) = (true, false, true);
                planned.task.due = planned.task.due.min(now);
            }
        }
        self.planned.notify_one();
        Ok(woken)
    }

    async fn retry(&self, kind: Kind, key: &str, now: Timestamp) -> Result<bool, PortError> {
        give_way().await;
        let mut books = locked(&self.books);
        let planned = books.tasks.get_mut(&(kind, key.to_owned()));
        self.planned.notify_one();
        Ok(planned.is_some_and(|planned| {
            (planned.woken, planned.given_up, planned.since) = (true, false, now);
            planned.task.due = planned.task.due.min(now);
            true
        }))
    }

    async fn planned(&self) {
        self.planned.notified().await;
    }

    async fn tasks(&self, limit: usize) -> Result<Vec<Entry>, PortError> {
        self.read(|books| {
            let entry = |planned: &Planned| {
                let Task { kind, key, lane, due, .. } = planned.task.clone();
                let Planned { since, tries, given_up, problem, .. } = planned.clone();
                Entry { kind, key, lane, due, since, tries, given_up, problem }
            };
            let mut entries: Vec<_> = books.tasks.values().map(entry).collect();
            entries.sort_by_key(|entry| (!entry.given_up, entry.due));
            entries.truncate(limit);
            entries
        })
        .await
    }

    async fn tallies(&self) -> Result<Vec<Tally>, PortError> {
        self.read(|books| {
            let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
            for planned in books.tasks.values() {
                let kind = planned.task.kind;
                let tally = tallies.entry(kind).or_insert(Tally { kind, waiting: 0, given_up: 0, due: None });
                if planned.given_up {
                    tally.given_up += 1;
                } else {
                    tally.waiting += 1;
                    tally.due = Some(tally.due.map_or(planned.task.due, |due| due.min(planned.task.due)));
                }
            }
            tallies.into_values().collect()
        })
        .await
    }
}
