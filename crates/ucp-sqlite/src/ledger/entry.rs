//! Rows of a commit.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, types::Type};
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    ports::{
        agenda::Plan,
        ledger::{Bound, Change, Committed, Full, Holder, Kept, Key, Stored, is_counted_to},
    },
    purchase::mandate::Presented,
};

use crate::{
    agenda, checksum,
    connection::ShopConnection,
    error::WriteError,
    rows::{nanoseconds, timestamp},
    stock::{self, Taker},
    webhook_events::{self, Message, NewWebhookEvent},
};

/// A change with its documents as JSON, so that the writer thread only writes.
#[derive(Debug)]
pub(super) struct Entry {
    cart: Option<Sheet<Cart>>,
    checkout: Option<Sheet<Checkout>>,
    order: Option<Sheet<Order>>,
    /// Identifier of the webhook event about the order; `None` if its platform is not told.
    webhook_event: Option<String>,
    /// Change of the stock of each variant, in pieces.
    stock: BTreeMap<String, i64>,
    mandate: Option<Presented>,
    plans: Vec<Plan>,
    answered_later: bool,
    keep: Option<(Key, Kept)>,
    holder: Option<Holder>,
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
        let plans = change.plans();
        let Change { cart, checkout, order, quiet, stock: movements, mandate, plans: _, answered_later, holder } =
            change;
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
            webhook_event: (!quiet).then(|| uuid::Uuid::new_v4().to_string()),
            stock,
            mandate,
            plans,
            answered_later,
            keep,
            holder,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { cart, checkout, order, stock, mandate, plans, keep, .. } = self;
        let documents = cart.is_some() || checkout.is_some() || order.is_some() || mandate.is_some();
        !documents && stock.is_empty() && plans.is_empty() && keep.is_none()
    }

    /// Returns `true` if there is something to do at once. What is [`Plan::Due`] is found when it is due.
    pub(super) fn rings(&self) -> bool {
        let tells = self.order.is_some() && self.webhook_event.is_some();
        tells || self.plans.iter().any(|plan| matches!(plan, Plan::Also(_)))
    }

    /// Returns the number of carts and checkouts that are new.
    pub(super) fn created(&self) -> u64 {
        let is_new = [
            self.cart.as_ref().is_some_and(|cart| cart.version == 0),
            self.checkout.as_ref().is_some_and(|checkout| checkout.version == 0),
        ];
        is_new.into_iter().filter(|is_new| *is_new).count() as u64
    }

    /// Returns what a group of the holder would have too much of. A document that was counted to others so far is new to it.
    fn excess(&self, db: ShopConnection<'_>, holder: &Holder) -> rusqlite::Result<Option<Full>> {
        let cart = self.cart.as_ref().map(|sheet| ("carts", &sheet.document.id, sheet.version, sheet.text.len()));
        let checkout = self.checkout.as_ref();
        let checkout = checkout.map(|sheet| ("checkouts", &sheet.document.id, sheet.version, sheet.text.len()));
        let mut before = Vec::new();
        let mut grown = self.keep.as_ref().map_or(0, |(_, kept)| kept.answer.len() as u64);
        for (table, id, version, length) in cart.into_iter().chain(checkout) {
            let sql = format!("SELECT held, holder FROM {table} WHERE shop = ? AND id = ?");
            let read =
                |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, Option<String>>(1)?));
            let stored = if version == 0 {
                Some((0, Some(String::new())))
            } else {
                db.prepare_cached(&sql)?.query_row((db.shop(), id), read).optional()?
            };
            grown += length as u64;
            before.push(stored.unwrap_or_default());
        }
        if self.answered_later {
            grown += 2 * self.checkout.as_ref().map_or(0, |sheet| sheet.text.len() as u64);
        }
        for Bound { name, open: most, bytes } in &holder.bounds {
            let (mut gained, mut replaced) = (0, 0);
            for (held, names) in &before {
                match names {
                    Some(names) if is_counted_to(names, name) => replaced += held,
                    Some(_) => gained += 1,
                    // What a registered platform has made without a limit stays counted to nobody.
                    None => replaced += held,
                }
            }
            let (open, held): (u64, u64) = db
                .prepare_cached("SELECT open, bytes FROM holdings WHERE shop = ? AND name = ?")?
                .query_row((db.shop(), name), |row| {
                    Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
                })
                .optional()?
                .unwrap_or_default();
            if gained > 0 && open + gained > *most {
                return Ok(Some(Full::Open));
            }
            if grown > replaced && held + grown - replaced > *bytes {
                return Ok(Some(Full::Bytes));
            }
        }
        Ok(None)
    }

    /// Writes everything in the transaction that `db` is in. After an error, also one that only means that the change is
    /// based on an older version, the transaction must not be committed.
    pub(super) fn write(&self, db: ShopConnection<'_>) -> Result<Committed, WriteError> {
        // A retry is recognized first: the versions that it is based on are no longer the stored ones.
        if let Some((key, _)) = &self.keep
            && let Some(kept) = kept(db, key)?
        {
            return Ok(Committed::Kept(kept));
        }
        if let Some(holder) = &self.holder
            && let Some(full) = self.excess(db, holder)?
        {
            return Ok(Committed::Full(full));
        }
        let names = self.holder.as_ref().map(Holder::names);
        let holder = names.as_deref();
        if let Some(cart) = &self.cart {
            write_cart(db, cart, holder)?;
        }
        if let Some(checkout) = &self.checkout {
            write_checkout(db, checkout, holder)?;
        }
        for plan in &self.plans {
            agenda::write(db, plan)?;
        }
        if let Some(order) = &self.order {
            write_order(db, order)?;
            if let Some(id) = &self.webhook_event {
                let Sheet { document, version, text } = order;
                let webhook_event = NewWebhookEvent {
                    id,
                    order_id: &document.id,
                    owner: &document.owner,
                    order_version: version + 1,
                    at: document.changed_at(),
                };
                webhook_events::queue(db, &webhook_event, &Message::Order(text))?;
            }
        }
        let taker = match (&self.order, &self.checkout) {
            (Some(Sheet { document, .. }), _) => Taker::Order(&document.checkout_id, document.changed_at()),
            (None, Some(Sheet { document, .. })) => Taker::Checkout(&document.id),
            (None, None) => Taker::Nobody,
        };
        if let Some(Sheet { document: order, version: 0, .. }) = &self.order {
            for line in &order.line_items {
                stock::sold(db, &line.item.id, &order.checkout_id, order.placed_at)?;
            }
        }
        for (variant, quantity) in &self.stock {
            stock::move_goods(db, variant, *quantity, taker)?;
        }
        if let Some(presented) = &self.mandate {
            write_mandate(db, presented)?;
        }
        if let Some((key, kept)) = &self.keep {
            keep(db, key, kept, holder)?;
        }
        Ok(Committed::Done)
    }
}

/// Returns the size of a text, in bytes.
fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Returns an error unless a statement changed exactly one row.
fn once(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

fn write_cart(
    db: ShopConnection<'_>,
    Sheet { document: cart, version, text }: &Sheet<Cart>,
    holder: Option<&str>,
) -> rusqlite::Result<()> {
    let (expires_at, held) = (nanoseconds(cart.expires_at), size(text));
    once(if *version == 0 {
        db.prepare_cached(
            "INSERT INTO carts (shop, id, owner, token, version, expires_at, document, held, holder) \
             VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)",
        )?
        .execute((db.shop(), &cart.id, &cart.owner, &cart.token, expires_at, text, held, holder))?
    } else {
        db.prepare_cached(
            "UPDATE carts SET version = version + 1, expires_at = ?1, document = ?2, held = ?3, \
             holder = CASE WHEN holder IS NULL THEN NULL ELSE ifnull(?4, holder) END \
             WHERE shop = ?5 AND id = ?6 AND owner = ?7 AND version = ?8",
        )?
        .execute((expires_at, text, held, holder, db.shop(), &cart.id, &cart.owner, version))?
    })
}

fn write_checkout(
    db: ShopConnection<'_>,
    Sheet { document: checkout, version, text }: &Sheet<Checkout>,
    holder: Option<&str>,
) -> rusqlite::Result<()> {
    let Checkout { id, owner, token, cart_id, state, expires_at, .. } = checkout;
    let attempted_at = state.attempt().map(|attempt| nanoseconds(attempt.begun_at));
    let row = (state.status().as_str(), cart_id, attempted_at, nanoseconds(*expires_at), text, size(text));
    once(if *version == 0 {
        if let Some(cart) = cart_id {
            // An open checkout that has expired makes room; whoever is about to change it finds it changed.
            db.prepare_cached(
                "UPDATE checkouts SET open_cart = NULL, version = version + 1 \
                 WHERE shop = ? AND open_cart = ? AND expires_at <= ? AND attempted_at IS NULL",
            )?
            .execute((db.shop(), cart, nanoseconds(checkout.created_at)))?;
        }
        db.prepare_cached(
            "INSERT INTO checkouts \
             (status, cart_id, attempted_at, expires_at, document, held, shop, id, owner, token, holder, open_cart, version) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
             CASE WHEN ?1 NOT IN ('completed', 'canceled') THEN ?2 END, 1)",
        )?
        .execute((row.0, row.1, row.2, row.3, row.4, row.5, db.shop(), id, owner, token, holder))?
    } else {
        db.prepare_cached(
            "UPDATE checkouts SET status = ?1, cart_id = ?2, attempted_at = ?3, expires_at = ?4, document = ?5, held = ?6, \
             holder = CASE WHEN ?1 = 'completed' OR holder IS NULL THEN NULL ELSE ifnull(?11, holder) END, \
             version = version + 1, open_cart = CASE WHEN ?1 NOT IN ('completed', 'canceled') THEN open_cart END \
             WHERE shop = ?7 AND id = ?8 AND owner = ?9 AND version = ?10",
        )?
        .execute((row.0, row.1, row.2, row.3, row.4, row.5, db.shop(), id, owner, version, holder))?
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
    let sql = format!(
        "SELECT identity, answer, at, {} FROM kept \
         WHERE shop = ? AND key = ? AND resource IN ('', ?) AND operation = ? AND owner = ? ORDER BY resource LIMIT 1",
        checksum::intact("kept")
    );
    db.prepare_cached(&sql)?
        .query_row((db.shop(), &key.key, &key.resource, key.operation, &key.owner), |row| {
            if !row.get::<_, bool>(3)? {
                let what = format!("a kept answer, of the idempotency key `{}`, is not as it was written", key.key);
                return Err(rusqlite::Error::FromSqlConversionFailure(1, Type::Text, what.into()));
            }
            Ok(Kept { identity: row.get(0)?, answer: row.get(1)?, at: timestamp(row.get(2)?) })
        })
        .optional()
}

fn keep(db: ShopConnection<'_>, key: &Key, kept: &Kept, holder: Option<&str>) -> rusqlite::Result<()> {
    let row = (
        db.shop(),
        &key.owner,
        key.operation,
        &key.key,
        kept.identity,
        &kept.answer,
        nanoseconds(kept.at),
        size(&kept.answer),
        holder,
    );
    db.prepare_cached(
        "INSERT INTO kept (shop, owner, operation, resource, key, identity, answer, at, held, holder) \
         VALUES (?, ?, ?, '', ?, ?, ?, ?, ?, ?)",
    )?
    .execute(row)
    .map(drop)
}
