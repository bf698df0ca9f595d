//! Rows of a commit.

use std::collections::BTreeMap;

use rusqlite::OptionalExtension as _;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    purchase::{
        ledger::{Change, Committed, Kept, Key, Stored},
        mandate::Presented,
    },
};

use crate::{
    connection::ShopConnection,
    error::WriteError,
    stock,
    time::{nanoseconds, timestamp},
    webhook_events::{self, Message, NewWebhookEvent},
};

/// A change with its documents as JSON, so that the writer thread only writes.
#[derive(Debug)]
pub(super) struct Entry {
    cart: Option<Sheet<Cart>>,
    checkout: Option<Sheet<Checkout>>,
    order: Option<Sheet<Order>>,
    /// Identifier of the webhook event about the order.
    webhook_event: String,
    /// Change of the stock of each variant, in pieces.
    stock: BTreeMap<String, i64>,
    mandate: Option<Presented>,
    keep: Option<(Key, Kept)>,
}

/// A document, the version that it is based on, and its JSON.
#[derive(Debug)]
struct Sheet<T> {
    document: T,
    version: i64,
    text: String,
}

impl<T: serde::Serialize> Sheet<T> {
    fn new(stored: Stored<T>) -> serde_json::Result<Self> {
        let Stored { document, version } = stored;
        let text = serde_json::to_string(&document)?;
        Ok(Self { document, version: i64::try_from(version).unwrap_or(i64::MAX), text })
    }
}

impl Entry {
    pub(super) fn new(change: Change, keep: Option<(Key, Kept)>) -> serde_json::Result<Self> {
        let Change { cart, checkout, order, stock: movements, mandate } = change;
        let mut stock: BTreeMap<String, i64> = BTreeMap::new();
        for movement in movements {
            let quantity = stock.entry(movement.variant).or_default();
            *quantity = quantity.saturating_add(movement.quantity);
        }
        stock.retain(|_, quantity| *quantity != 0);
        Ok(Self {
            cart: cart.map(Sheet::new).transpose()?,
            checkout: checkout.map(Sheet::new).transpose()?,
            order: order.map(Sheet::new).transpose()?,
            webhook_event: uuid::Uuid::new_v4().to_string(),
            stock,
            mandate,
            keep,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { cart, checkout, order, webhook_event: _, stock, mandate, keep } = self;
        let documents = cart.is_some() || checkout.is_some() || order.is_some() || mandate.is_some();
        !documents && stock.is_empty() && keep.is_none()
    }

    /// Returns `true` if a webhook event is queued for a platform.
    pub(super) const fn tells(&self) -> bool {
        self.order.is_some()
    }

    /// Writes everything in the transaction that `db` is in. After an error, also one that only means that the change is
    /// based on an older version, the transaction must not be committed.
    pub(super) fn write(&self, db: ShopConnection<'_>) -> Result<Committed, WriteError> {
        // A retry is recognised first: the versions that it is based on are no longer the stored ones.
        if let Some((key, _)) = &self.keep
            && let Some(kept) = kept(db, key)?
        {
            return Ok(Committed::Kept(kept));
        }
        if let Some(cart) = &self.cart {
            write_cart(db, cart)?;
        }
        if let Some(checkout) = &self.checkout {
            write_checkout(db, checkout)?;
        }
        let named = [
            self.cart.as_ref().and_then(|cart| cart.document.remote_cart.as_ref()),
            self.checkout.as_ref().and_then(|checkout| checkout.document.remote_cart.as_ref()),
        ];
        for remote_cart in named.into_iter().flatten() {
            unnote_remote_cart(db, &remote_cart.reference)?;
        }
        if let Some(order) = &self.order {
            write_order(db, order)?;
            let Sheet { document, version, text } = order;
            let webhook_event = NewWebhookEvent {
                id: &self.webhook_event,
                order_id: &document.id,
                owner: &document.owner,
                order_version: version + 1,
                at: document.changed_at(),
            };
            webhook_events::queue(db, &webhook_event, &Message::Order(text))?;
        }
        for (variant, quantity) in &self.stock {
            stock::move_goods(db, variant, *quantity)?;
        }
        if let Some(presented) = &self.mandate {
            write_mandate(db, presented)?;
        }
        if let Some((key, kept)) = &self.keep {
            keep(db, key, kept)?;
        }
        Ok(Committed::Done)
    }
}

/// Removes the note of a cart at a remote shop.
pub(super) fn unnote_remote_cart(db: ShopConnection<'_>, reference: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM remote_carts WHERE shop = ? AND reference = ?")?
        .execute((db.shop(), reference))
        .map(drop)
}

/// Returns an error unless a statement changed exactly one row.
fn once(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

fn write_cart(db: ShopConnection<'_>, Sheet { document: cart, version, text }: &Sheet<Cart>) -> rusqlite::Result<()> {
    let expires_at = nanoseconds(cart.expires_at);
    once(if *version == 0 {
        db.prepare_cached(
            "INSERT INTO carts (shop, id, owner, token, version, expires_at, document) VALUES (?, ?, ?, ?, 1, ?, ?)",
        )?
        .execute((db.shop(), &cart.id, &cart.owner, &cart.token, expires_at, text))?
    } else {
        db.prepare_cached(
            "UPDATE carts SET version = version + 1, expires_at = ?, document = ? \
             WHERE shop = ? AND id = ? AND owner = ? AND version = ?",
        )?
        .execute((expires_at, text, db.shop(), &cart.id, &cart.owner, version))?
    })
}

fn write_checkout(
    db: ShopConnection<'_>,
    Sheet { document: checkout, version, text }: &Sheet<Checkout>,
) -> rusqlite::Result<()> {
    let Checkout { id, owner, token, cart_id, state, expires_at, .. } = checkout;
    let attempted_at = state.attempt().map(|attempt| nanoseconds(attempt.begun_at));
    let row = (state.status().as_str(), cart_id, attempted_at, nanoseconds(*expires_at), text);
    once(if *version == 0 {
        db.prepare_cached(
            "INSERT INTO checkouts (status, cart_id, attempted_at, expires_at, document, shop, id, owner, token, version) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        )?
        .execute((row.0, row.1, row.2, row.3, row.4, db.shop(), id, owner, token))?
    } else {
        db.prepare_cached(
            "UPDATE checkouts SET status = ?, cart_id = ?, attempted_at = ?, expires_at = ?, document = ?, \
             version = version + 1 WHERE shop = ? AND id = ? AND owner = ? AND version = ?",
        )?
        .execute((row.0, row.1, row.2, row.3, row.4, db.shop(), id, owner, version))?
    })
}

fn write_order(
    db: ShopConnection<'_>,
    Sheet { document: order, version, text }: &Sheet<Order>,
) -> rusqlite::Result<()> {
    once(if *version == 0 {
        db.prepare_cached(
            "INSERT INTO orders (shop, id, owner, token, version, checkout_id, document) VALUES (?, ?, ?, ?, 1, ?, ?)",
        )?
        .execute((db.shop(), &order.id, &order.owner, &order.token, &order.checkout_id, text))?
    } else {
        db.prepare_cached(
            "UPDATE orders SET version = version + 1, document = ? WHERE shop = ? AND id = ? AND owner = ? AND version = ?",
        )?
        .execute((text, db.shop(), &order.id, &order.owner, version))?
    })
}

fn write_mandate(db: ShopConnection<'_>, Presented { checkout_id, mandate }: &Presented) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO mandates (shop, checkout_id, mandate) VALUES (?, ?, ?) \
         ON CONFLICT (shop, checkout_id) DO UPDATE SET mandate = excluded.mandate",
    )?
    .execute((db.shop(), checkout_id, mandate.reveal()))
    .map(drop)
}

/// Returns the answer recorded under a key.
pub(super) fn kept(db: ShopConnection<'_>, key: &Key) -> rusqlite::Result<Option<Kept>> {
    db.prepare_cached(
        "SELECT identity, answer, at FROM kept WHERE shop = ? AND key = ? AND resource = ? AND operation = ? AND owner = ?",
    )?
    .query_row((db.shop(), &key.key, &key.resource, key.operation, &key.owner), |row| {
        Ok(Kept { identity: row.get(0)?, answer: row.get(1)?, at: timestamp(row.get(2)?) })
    })
    .optional()
}

fn keep(db: ShopConnection<'_>, key: &Key, kept: &Kept) -> rusqlite::Result<()> {
    let row = (
        db.shop(),
        &key.owner,
        key.operation,
        &key.resource,
        &key.key,
        kept.identity,
        &kept.answer,
        nanoseconds(kept.at),
    );
    db.prepare_cached(
        "INSERT INTO kept (shop, owner, operation, resource, key, identity, answer, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(row)
    .map(drop)
}
