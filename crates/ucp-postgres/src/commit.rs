//! The statement of a commit.
//!
//! Everything that a commit writes is one statement: each row is a part of its `WITH`, and its result is a conversion that fails,
//! and the statement with it, unless every part changed the row that it had to. So a commit is one round trip and one
//! transaction, without a `BEGIN` whose `COMMIT` might get lost alone.
//!
//! The row of the recorded answer, or else one of `commits`, is unique to the commit. If the statement is sent again because the reply was
//! lost, it contradicts its own earlier self there, and so is known to have been carried out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tokio_postgres::Error;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    ports::{
        agenda::{Plan, Task},
        ledger::{Bound, Change, Committed, Full, Holder, Kept, Key, Stored},
        outbox::task,
    },
    purchase::mandate::Presented,
};
use uuid::Uuid;

use crate::{
    agenda,
    connection::{Connection, Param},
    failure::{FULL, Meaning, STALE, meaning},
    registered::{Registered, held},
    text::{escaped, key, nanoseconds, timestamp},
};

/// A change, as one statement.
pub(crate) struct Commit {
    shop: Param,
    sql: String,
    values: Vec<Param>,
    keep: Option<(Key, Kept)>,
    /// Row of `commits`, if there is no answer to record.
    id: Uuid,
    holder: Option<Holder>,
    /// Number of carts and checkouts that are new.
    created: u64,
    /// Number of documents that may be new to a group.
    gained: u64,
    /// Size of its documents and of its answer, in bytes.
    grown: u64,
    /// `true` if there is something to do at once. What is [`Plan::Due`] is found when it is due.
    pub(crate) rings: bool,
}

/// Party for which goods leave the stock, and from which they come back.
enum Taker {
    /// A checkout whose payment has no end yet.
    Checkout(String),
    /// The order of a checkout, which changed at a time, with the variants that a new one has sold.
    Order { checkout: String, at: Timestamp, sold: Vec<String> },
    /// Neither: the movement is not remembered.
    Nobody,
}

/// Time of a taking whose payment has no end yet: after every other.
const HELD: i64 = i64::MAX;

/// A statement that is being put together.
struct Parts {
    parts: Vec<String>,
    /// Conditions of parts that have to have changed one row.
    once: Vec<&'static str>,
    values: Vec<Param>,
}

impl Parts {
    /// Adds a value and returns its place in the statement.
    fn bind(&mut self, value: Param) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    /// Adds values and returns their places.
    fn all<const N: usize>(&mut self, values: [Param; N]) -> String {
        values.map(|value| self.bind(value)).join(", ")
    }

    fn part(&mut self, name: &'static str, sql: &str) {
        self.parts.push(format!("{name} AS ({sql})"));
    }
}

/// Place of the shop in each statement.
const SHOP: &str = "$1";

impl Commit {
    /// Returns the statement of a change; `None` if it changes nothing.
    pub(crate) fn new(shop: Param, change: Change, keep: Option<(Key, Kept)>) -> serde_json::Result<Option<Self>> {
        if change.is_empty() && keep.is_none() {
            return Ok(None);
        }
        let plans = change.plans();
        let Change { cart, checkout, order, quiet, stock: movements, mandate, plans: _, answered_later, holder } =
            change;
        let mut stock: BTreeMap<String, i64> = BTreeMap::new();
        for movement in movements {
            let quantity = stock.entry(movement.variant).or_default();
            *quantity = quantity.saturating_add(movement.quantity);
        }
        stock.retain(|_, quantity| *quantity != 0);
        let id = Uuid::now_v7();
        let mut parts = Parts { parts: Vec::new(), once: Vec::new(), values: vec![shop.clone()] };
        let name = holder.as_ref().map(Holder::names);
        let is_new = [
            cart.as_ref().is_some_and(|cart| cart.version == 0),
            checkout.as_ref().is_some_and(|checkout| checkout.version == 0),
        ];
        let created = is_new.into_iter().filter(|is_new| *is_new).count() as u64;
        let tells = order.is_some() && !quiet;
        parts.plans(&plans);
        let rings = tells || plans.iter().any(|plan| matches!(plan, Plan::Also(_)));
        match &keep {
            Some((key, kept)) => parts.keep(key, kept, name.clone()),
            None => {
                let id = parts.bind(Param::Uuid(id));
                parts.part("marked", &format!("INSERT INTO commits (shop, id) VALUES ({SHOP}, {id})"));
            }
        }
        let taker = match (&order, &checkout) {
            (Some(Stored { document, version }), _) => Taker::Order {
                checkout: document.checkout_id.clone(),
                at: document.changed_at(),
                sold: match version {
                    0 => document.line_items.iter().map(|line| escaped(&line.item.id).into_owned()).collect(),
                    _ => Vec::new(),
                },
            },
            (None, Some(Stored { document, .. })) => Taker::Checkout(document.id.clone()),
            (None, None) => Taker::Nobody,
        };
        let mut grown = keep.as_ref().map_or(0, |(_, kept)| kept.answer.len());
        let mut replaced = Vec::new();
        if let Some(cart) = cart {
            let text = serde_json::to_string(&cart.document)?;
            grown += text.len();
            replaced.push(("carts", cart.document.id.clone()));
            parts.cart(&cart, text, name.clone());
        }
        if let Some(checkout) = checkout {
            let text = serde_json::to_string(&checkout.document)?;
            grown += if answered_later { 3 * text.len() } else { text.len() };
            replaced.push(("checkouts", checkout.document.id.clone()));
            parts.checkout(&checkout, text, name);
        }
        if let Some(order) = order {
            let text = serde_json::to_string(&order.document)?;
            let document = parts.order(&order, text);
            if tells {
                parts.notice(&order, &document);
            }
        }
        if !stock.is_empty() {
            parts.stock(stock, &taker);
        }
        if let Taker::Order { checkout, at, sold } = taker
            && !sold.is_empty()
        {
            parts.sold(&checkout, at, sold);
        }
        if let Some(mandate) = mandate {
            parts.mandate(&mandate);
        }
        let bounded = holder.as_ref().filter(|holder| !holder.is_registered());
        let full = bounded.map(|holder| parts.full(holder, created, grown, &replaced));
        let stale: Vec<_> = parts.once.iter().map(|part| format!("(SELECT count(*) FROM {part}) = 1")).collect();
        let mut result = String::from("SELECT 1");
        if full.is_some() || !stale.is_empty() {
            let full = full.map(|full| format!(" WHEN {full} THEN '{FULL}'")).unwrap_or_default();
            let stale = if stale.is_empty() { "true".to_owned() } else { stale.join(" AND ") };
            result = format!("SELECT CAST(CASE{full} WHEN {stale} THEN '1' ELSE '{STALE}' END AS integer)");
        }
        let sql = format!("WITH {} {result}", parts.parts.join(", "));
        // A document that changes its holder is new to the other one.
        let gained = if replaced.is_empty() { 0 } else { created.max(1) };
        Ok(Some(Self {
            shop,
            sql,
            values: parts.values,
            keep,
            id,
            holder,
            created,
            gained,
            grown: grown as u64,
            rings,
        }))
    }

    /// Writes everything. `in_doubt` says that an earlier attempt may have done so.
    pub(crate) async fn write(
        &self,
        connection: &Connection,
        in_doubt: bool,
        registered: &Registered,
    ) -> Result<Committed, Error> {
        if let Some(bound) =
            self.holder.as_ref().filter(|holder| holder.is_registered()).and_then(|held| held.bounds.first())
            && self.created > 0
            && !in_doubt
            && let Some(full) = registered.add(connection, &self.shop, bound, (self.created, self.grown)).await?
        {
            let kept = match &self.keep {
                Some((key, _)) => read_kept(connection, &self.shop, key).await?,
                None => None,
            };
            return Ok(kept.map_or(Committed::Full(full), Committed::Kept));
        }
        let Err(error) = connection.rows(&self.sql, &self.values).await else { return Ok(Committed::Done) };
        match meaning(&error) {
            Meaning::Contradicted => {}
            Meaning::NoSpace if self.created > 0 => return Ok(Committed::Full(Full::Store)),
            _ => return Err(error),
        }
        match &self.keep {
            Some((key, kept)) => match read_kept(connection, &self.shop, key).await? {
                Some(stored) if in_doubt && stored == *kept => return Ok(Committed::Done),
                Some(stored) => return Ok(Committed::Kept(stored)),
                None => {}
            },
            None if in_doubt => {
                let values = [self.shop.clone(), Param::Uuid(self.id)];
                let sql = "SELECT 1 FROM commits WHERE shop = $1 AND id = $2";
                if connection.row(sql, &values).await?.is_some() {
                    return Ok(Committed::Done);
                }
            }
            None => {}
        }
        if !error.as_db_error().is_some_and(|stated| stated.message().contains(FULL)) {
            return Ok(Committed::Stale);
        }
        let Some(holder) = &self.holder else { return Ok(Committed::Stale) };
        let (names, opens, _) = bounds(holder);
        let gained = i64::try_from(self.gained).unwrap_or(i64::MAX);
        let values = [self.shop.clone(), names, opens, Param::Number(gained)];
        let sql = format!(
            "SELECT 1 FROM unnest($2, $3) AS bound (name, open) CROSS JOIN LATERAL ({}) AS has \
             WHERE has.open + $4 > bound.open",
            held("bound.name")
        );
        let is_open = connection.row(&sql, &values).await?.is_some();
        Ok(Committed::Full(if is_open { Full::Open } else { Full::Bytes }))
    }
}

/// Returns the names of a holder's groups, with the numbers and sizes that each may have.
fn bounds(holder: &Holder) -> (Param, Param, Param) {
    let numbers = |of: fn(&Bound) -> u64| {
        Param::Numbers(holder.bounds.iter().map(|bound| i64::try_from(of(bound)).unwrap_or(i64::MAX)).collect())
    };
    let names = holder.bounds.iter().map(|bound| bound.name.clone()).collect();
    (Param::Texts(names), numbers(|bound| bound.open), numbers(|bound| bound.bytes))
}

impl Parts {
    /// Returns the condition under which a group of the holder would have too much. A document that was counted to others so
    /// far is new to it; what a registered platform has made without a limit stays counted to nobody.
    fn full(&mut self, holder: &Holder, created: u64, grown: usize, replaced: &[(&str, String)]) -> String {
        let (names, opens, sizes) = bounds(holder);
        let (names, opens, sizes) = (self.bind(names), self.bind(opens), self.bind(sizes));
        let created = self.bind(Param::Number(i64::try_from(created).unwrap_or(i64::MAX)));
        let grown = self.bind(Param::count(grown));
        let (mut gained, mut before) = (created, String::from("0"));
        for (table, id) in replaced {
            let id = self.bind(Param::key(id));
            let of = |own: &str, others: &str| {
                format!(
                    "coalesce((SELECT CASE WHEN holder IS NULL OR bound.name = ANY (string_to_array(holder, ' ')) \
                     THEN {own} ELSE {others} END FROM {table} WHERE shop = {SHOP} AND id = {id}), 0)"
                )
            };
            gained = format!("{gained} + {}", of("0", "1"));
            before = format!("{before} + {}", of("held", "0"));
        }
        let has = held("bound.name");
        format!(
            "EXISTS (SELECT 1 FROM unnest({names}, {opens}, {sizes}) AS bound (name, open, bytes) \
             CROSS JOIN LATERAL ({has}) AS has \
             CROSS JOIN LATERAL (SELECT {gained} AS gained, {before} AS before) AS change \
             WHERE (gained > 0 AND has.open + gained > bound.open) \
             OR ({grown} > before AND has.bytes + {grown} - before > bound.bytes))"
        )
    }

    /// Changes the agenda.
    fn plans(&mut self, plans: &[Plan]) {
        let (mut kinds, mut keys, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for plan in plans {
            match plan {
                Plan::Also(task) => self.also(task),
                Plan::Due(task) => rows.push(format!("({SHOP}, {})", self.all(agenda::values(task)))),
                Plan::Done(kind, key) => {
                    kinds.push(kind.as_str().to_owned());
                    keys.push(escaped(key).into_owned());
                }
            }
        }
        if !rows.is_empty() {
            let (columns, replaced, rows) = (agenda::COLUMNS, agenda::REPLACED, rows.join(", "));
            self.part("planned", &format!("INSERT INTO tasks (shop, {columns}) VALUES {rows} {replaced}"));
        }
        if !kinds.is_empty() {
            let (kinds, keys) = (self.bind(Param::Texts(kinds)), self.bind(Param::Texts(keys)));
            let done = format!("(kind, key) IN (SELECT * FROM unnest({kinds}, {keys}))");
            self.part("over", &format!("DELETE FROM tasks WHERE shop = {SHOP} AND {done}"));
        }
    }

    /// Plans a task that may be planned. A change has one at most.
    fn also(&mut self, task: &Task) {
        let (columns, woken, values) = (agenda::COLUMNS, agenda::WOKEN, self.all(agenda::values(task)));
        self.part("also", &format!("INSERT INTO tasks (shop, {columns}) VALUES ({SHOP}, {values}) {woken}"));
    }

    fn keep(&mut self, key: &Key, kept: &Kept, holder: Option<String>) {
        let values = self.all([
            Param::key(&key.owner),
            Param::plain(key.operation),
            Param::Text(String::new()),
            Param::key(&key.key),
            Param::Bytes(kept.identity.to_vec()),
            Param::Bytes(kept.answer.clone().into_bytes()),
            Param::at(kept.at),
            Param::count(kept.answer.len()),
            Param::OptionalText(holder),
        ]);
        let columns = "shop, owner, operation, resource, key, identity, answer, at, held, holder";
        self.part("recorded", &format!("INSERT INTO kept ({columns}) VALUES ({SHOP}, {values})"));
    }

    fn cart(&mut self, Stored { document: cart, version }: &Stored<Cart>, text: String, holder: Option<String>) {
        let (id, owner) = (Param::key(&cart.id), Param::text(&cart.owner));
        let held = Param::count(text.len());
        let (expires_at, text) = (Param::at(cart.expires_at), Param::Text(text));
        if *version == 0 {
            let (token, made) = (Param::key(&cart.token), Param::Uuid(Uuid::now_v7()));
            let values = self.all([id, owner, token, expires_at, text, held, Param::OptionalText(holder), made]);
            let columns = "shop, id, owner, token, expires_at, document, held, holder, made, version";
            self.part("cart", &format!("INSERT INTO carts ({columns}) VALUES ({SHOP}, {values}, 1)"));
            return;
        }
        let set = self.all([expires_at, text, held]);
        let holder = self.bind(Param::OptionalText(holder));
        let row = self.row(id, owner, *version);
        self.part(
            "cart",
            &format!(
                "UPDATE carts SET (expires_at, document, held, holder, version) = ROW({set}, \
                 CASE WHEN holder IS NOT NULL THEN coalesce({holder}, holder) END, version + 1) WHERE {row} RETURNING 1"
            ),
        );
        self.once.push("cart");
    }

    /// Returns the condition for the row of a document in the version that a change is based on.
    fn row(&mut self, id: Param, owner: Param, version: u64) -> String {
        let id = self.bind(id);
        let owner = self.bind(owner);
        let version = self.bind(Param::Number(i64::try_from(version).unwrap_or(i64::MAX)));
        format!("shop = {SHOP} AND id = {id} AND owner = {owner} AND version = {version}")
    }

    fn checkout(
        &mut self,
        Stored { document: checkout, version }: &Stored<Checkout>,
        text: String,
        holder: Option<String>,
    ) {
        let Checkout { id, owner, token, cart_id, state, created_at, expires_at, .. } = checkout;
        let (id, owner) = (Param::key(id), Param::text(owner));
        let status = state.status().as_str();
        let set = [
            Param::plain(status),
            Param::OptionalText(cart_id.as_ref().map(|id| key(id).into_owned())),
            Param::OptionalNumber(state.attempt().map(|attempt| nanoseconds(attempt.begun_at))),
            Param::at(*expires_at),
            Param::count(text.len()),
            Param::Text(text),
        ];
        let set = self.all(set);
        let columns = "status, cart_id, attempted_at, expires_at, held, document";
        if *version == 0 {
            let (token, made) = (Param::key(token), Param::Uuid(Uuid::now_v7()));
            let open = cart_id.as_ref().filter(|_| !state.status().is_terminal()).map(|id| key(id).into_owned());
            let mut after = "";
            if let Some(open) = &open {
                // An open checkout that has expired makes room, before the new one takes it; whoever is about to change it
                // finds it changed. So does one that a gateway of the version before has ended.
                let (open, now) = (self.bind(Param::Text(open.clone())), self.bind(Param::at(*created_at)));
                self.part(
                    "expired",
                    &format!(
                        "UPDATE checkouts SET open_cart = NULL, version = version + 1 WHERE shop = {SHOP} \
                         AND open_cart = {open} AND attempted_at IS NULL \
                         AND (expires_at <= {now} OR status IN ('completed', 'canceled')) RETURNING 1"
                    ),
                );
                after = " FROM (SELECT count(*) FROM expired) AS room";
            }
            let values = self.all([id, owner, token, Param::OptionalText(holder), made, Param::OptionalText(open)]);
            self.part(
                "checkout",
                &format!(
                    "INSERT INTO checkouts (shop, {columns}, id, owner, token, holder, made, open_cart, version) \
                     SELECT {SHOP}, {set}, {values}, 1{after}"
                ),
            );
            return;
        }
        // What has become an order is counted to nobody.
        let holder = match status {
            "completed" => "NULL".to_owned(),
            _ => {
                let holder = self.bind(Param::OptionalText(holder));
                format!("CASE WHEN holder IS NOT NULL THEN coalesce({holder}, holder) END")
            }
        };
        let row = self.row(id, owner, *version);
        let open = if state.status().is_terminal() { "NULL" } else { "open_cart" };
        self.part(
            "checkout",
            &format!(
                "UPDATE checkouts SET ({columns}, holder, open_cart, version) \
                 = ROW({set}, {holder}, {open}, version + 1) WHERE {row} RETURNING 1"
            ),
        );
        self.once.push("checkout");
    }

    /// Stores an order, and returns where its document is bound.
    fn order(&mut self, Stored { document: order, version }: &Stored<Order>, text: String) -> String {
        let Order { id, owner, token, checkout_id, placed_at, label, remote, .. } = order;
        let document = self.bind(Param::Text(text));
        if *version == 0 {
            let made = self.bind(Param::Uuid(Uuid::now_v7()));
            let values = self.all([
                Param::key(id),
                Param::text(owner),
                Param::key(token),
                Param::key(checkout_id),
                Param::at(*placed_at),
                Param::key(label),
                Param::OptionalText(remote.as_ref().map(|remote| key(&remote.reference).into_owned())),
            ]);
            let columns = "shop, document, made, id, owner, token, checkout_id, placed_at, label, reference, version";
            self.part(
                "ordered",
                &format!("INSERT INTO orders ({columns}) VALUES ({SHOP}, {document}, {made}, {values}, 1)"),
            );
        } else {
            let row = self.row(Param::key(id), Param::text(owner), *version);
            self.part(
                "ordered",
                &format!("UPDATE orders SET document = {document}, version = version + 1 WHERE {row} RETURNING 1"),
            );
            self.once.push("ordered");
        }
        document
    }

    /// Queues the webhook event about an order whose document is bound at `document`.
    fn notice(&mut self, Stored { document: order, version }: &Stored<Order>, document: &str) {
        let made = self.bind(Param::Uuid(Uuid::now_v7()));
        let at = Param::at(order.changed_at());
        let values = self.all([
            Param::Text(Uuid::new_v4().to_string()),
            Param::text(&order.id),
            Param::text(&order.owner),
            Param::Number(i64::try_from(version.saturating_add(1)).unwrap_or(i64::MAX)),
            at.clone(),
            at,
        ]);
        self.part(
            "told",
            &format!(
                "INSERT INTO outbox (shop, document, made, id, order_id, owner, order_version, occurred_at, since, \
                 state, attempts, untold) VALUES ({SHOP}, {document}, {made}, {values}, 'waiting', 0, true)"
            ),
        );
        self.also(&task(&order.owner, &order.id, order.changed_at()));
    }

    /// Moves goods, and remembers what for. A product whose variant is sold out by that, or is no longer, has changed for
    /// whoever reads it.
    fn stock(&mut self, stock: BTreeMap<String, i64>, taker: &Taker) {
        let (variants, quantities): (Vec<_>, Vec<_>) =
            stock.into_iter().map(|(variant, quantity)| (escaped(&variant).into_owned(), quantity)).unzip();
        let variants = self.bind(Param::Texts(variants));
        let quantities = self.bind(Param::Numbers(quantities));
        let repaid = "least(stock.owed, greatest(goods.quantity, 0))";
        self.part(
            "moved",
            &format!(
                "UPDATE stock SET quantity = stock.quantity + goods.quantity - {repaid}, owed = stock.owed - {repaid} \
                 FROM unnest({variants}, {quantities}) AS goods (variant, quantity) \
                 WHERE stock.shop = {SHOP} AND stock.variant = goods.variant \
                 RETURNING stock.product, stock.variant, goods.quantity AS moved, stock.quantity AS left_over, \
                 greatest(stock.quantity - stock.owed - goods.quantity, 0) AS before"
            ),
        );
        let (checkout, at, condition) = match taker {
            Taker::Nobody => (None, HELD, ""),
            Taker::Checkout(checkout) => (Some(checkout), HELD, "WHERE moved < 0 "),
            Taker::Order { checkout, at, .. } => (Some(checkout), nanoseconds(*at), ""),
        };
        if let Some(checkout) = checkout {
            let checkout = self.bind(Param::key(checkout));
            let at = self.bind(Param::Number(at));
            self.part(
                "taken",
                &format!(
                    "INSERT INTO takings (shop, variant, checkout, at, quantity) \
                     SELECT {SHOP}, variant, {checkout}, {at}, -moved FROM moved {condition}\
                     ON CONFLICT (shop, variant, checkout, at) DO UPDATE SET quantity = takings.quantity + excluded.quantity"
                ),
            );
            if !condition.is_empty() {
                self.part(
                    "returned",
                    &format!(
                        "DELETE FROM takings USING moved WHERE shop = {SHOP} AND takings.variant = moved.variant \
                         AND checkout = {checkout} AND at = {at} AND moved > 0"
                    ),
                );
            }
        }
        self.part("touched", "SELECT product FROM moved WHERE (left_over = 0) <> (before = 0)");
        self.part(
            "numbered",
            &format!(
                "UPDATE catalogs SET number = number + 1 WHERE shop = {SHOP} AND EXISTS (SELECT 1 FROM touched) RETURNING number"
            ),
        );
        self.part(
            "renumbered",
            &format!(
                "UPDATE products SET number = numbered.number FROM numbered \
                 WHERE shop = {SHOP} AND id IN (SELECT product FROM touched)"
            ),
        );
    }

    /// Makes what is held of variants for a checkout sales of a time.
    fn sold(&mut self, checkout: &str, at: Timestamp, variants: Vec<String>) {
        let (checkout, at) = (self.bind(Param::key(checkout)), self.bind(Param::at(at)));
        let variants = self.bind(Param::Texts(variants));
        self.part(
            "sold",
            &format!(
                "UPDATE takings SET at = {at} \
                 WHERE shop = {SHOP} AND variant = ANY({variants}) AND checkout = {checkout} AND at = {HELD}"
            ),
        );
    }

    fn mandate(&mut self, Presented { checkout_id, mandate }: &Presented) {
        let values = self.all([Param::key(checkout_id), Param::Bytes(mandate.reveal().as_bytes().to_vec())]);
        self.part(
            "mandated",
            &format!(
                "INSERT INTO mandates (shop, checkout_id, mandate) VALUES ({SHOP}, {values}) \
                 ON CONFLICT (shop, checkout_id) DO UPDATE SET mandate = excluded.mandate"
            ),
        );
    }
}

/// Returns the answer recorded under a key.
pub(crate) async fn read_kept(connection: &Connection, shop: &Param, key: &Key) -> Result<Option<Kept>, Error> {
    let values = [
        shop.clone(),
        Param::key(&key.key),
        Param::key(&key.resource),
        Param::plain(key.operation),
        Param::key(&key.owner),
    ];
    let sql = "SELECT identity, answer, at FROM kept \
               WHERE shop = $1 AND key = $2 AND resource IN ('', $3) AND operation = $4 AND owner = $5 ORDER BY resource LIMIT 1";
    let Some(row) = connection.row(sql, &values).await? else { return Ok(None) };
    let identity: Vec<u8> = row.try_get(0)?;
    let answer: Vec<u8> = row.try_get(1)?;
    Ok(Some(Kept {
        identity: identity.try_into().unwrap_or_default(),
        answer: String::from_utf8_lossy(&answer).into_owned(),
        at: timestamp(row.try_get(2)?),
    }))
}
