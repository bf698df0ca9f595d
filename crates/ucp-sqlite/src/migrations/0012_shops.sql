-- The shop that a row belongs to, first in every key: one file can hold several shops. What is there already belongs to
-- `default`, the shop of a process that has only one.
--
-- SQLite cannot add a column to a key, so that each table is made anew and filled from the one before.

CREATE TABLE new_shop (
    -- Identifier of the shop.
    shop TEXT NOT NULL PRIMARY KEY,
    -- Random. A search index that names another identity was made from another database.
    identity TEXT NOT NULL,
    -- JSON of `ucp_core::catalog::market::Market`.
    market TEXT NOT NULL,
    -- JSON of `ucp_core::purchase::terms::Terms`.
    terms TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;
INSERT INTO new_shop SELECT 'default', identity, market, terms FROM shop;
DROP TABLE shop;
ALTER TABLE new_shop RENAME TO shop;

CREATE TABLE new_cursor_key (
    shop TEXT NOT NULL PRIMARY KEY,
    -- Seals cursors; see `ucp_core::catalog::cursor`.
    key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT, WITHOUT ROWID;
INSERT INTO new_cursor_key SELECT 'default', key FROM cursor_key;
DROP TABLE cursor_key;
ALTER TABLE new_cursor_key RENAME TO cursor_key;

-- Products.

CREATE TABLE new_products (
    -- Order in which a search without a question lists products. Never reused, and kept when a product changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Grows with every transaction that changes products of the shop: whoever read up to a revision finds what came later.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::catalog::record::Record`.
    document TEXT NOT NULL,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO new_products SELECT seq, 'default', id, revision, document FROM products ORDER BY seq;
DELETE FROM sqlite_sequence WHERE name = 'new_products';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_products', seq FROM sqlite_sequence WHERE name = 'products';

CREATE TABLE new_identifiers (
    shop TEXT NOT NULL,
    value TEXT NOT NULL,
    -- Order of precedence: 0 product id, 1 variant id, 2 product handle, 3 variant handle, 4 SKU, 5 barcode.
    kind INTEGER NOT NULL,
    product INTEGER NOT NULL REFERENCES new_products (seq),
    -- Position of the variant in the product, -1 for the product itself.
    position INTEGER NOT NULL,
    PRIMARY KEY (shop, value, kind, product, position)
) STRICT, WITHOUT ROWID;
INSERT INTO new_identifiers SELECT 'default', value, kind, product, position FROM identifiers;

CREATE TABLE new_stock (
    shop TEXT NOT NULL,
    variant TEXT NOT NULL,
    product INTEGER NOT NULL REFERENCES new_products (seq),
    quantity INTEGER NOT NULL CHECK (quantity >= 0),
    PRIMARY KEY (shop, variant)
) STRICT, WITHOUT ROWID;
INSERT INTO new_stock SELECT 'default', variant, product, quantity FROM stock;

-- Tables with references go before the table that they refer to.
DROP TABLE identifiers;
DROP TABLE stock;
DROP TABLE products;
ALTER TABLE new_products RENAME TO products;
ALTER TABLE new_identifiers RENAME TO identifiers;
ALTER TABLE new_stock RENAME TO stock;
CREATE INDEX products_by_seq ON products (shop, seq);
CREATE INDEX products_by_revision ON products (shop, revision);
CREATE INDEX stock_by_product ON stock (product);
CREATE INDEX stock_sold_out ON stock (product) WHERE quantity = 0;

-- Merchants.

CREATE TABLE new_merchants (
    -- Order in which merchants came. Never reused, and kept when a merchant changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Grows with every transaction that changes merchants of the shop.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::merchant::record::Merchant`.
    document TEXT NOT NULL,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO new_merchants SELECT seq, 'default', id, revision, document FROM merchants ORDER BY seq;
DELETE FROM sqlite_sequence WHERE name = 'new_merchants';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_merchants', seq FROM sqlite_sequence WHERE name = 'merchants';

CREATE TABLE new_location_names (
    shop TEXT NOT NULL,
    value TEXT NOT NULL,
    -- 0 for the id of a location, 1 for an alias, which several may share, and 2 for the id of a location that is not
    -- public: it is taken, and names nothing.
    kind INTEGER NOT NULL,
    merchant INTEGER NOT NULL REFERENCES new_merchants (seq),
    PRIMARY KEY (shop, value, kind, merchant)
) STRICT, WITHOUT ROWID;
INSERT INTO new_location_names SELECT 'default', value, kind, merchant FROM location_names;

DROP TABLE location_names;
DROP TABLE merchants;
ALTER TABLE new_merchants RENAME TO merchants;
ALTER TABLE new_location_names RENAME TO location_names;
CREATE INDEX merchants_by_revision ON merchants (shop, revision);

-- The ledger. Times are nanoseconds since 1970.

CREATE TABLE new_carts (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::cart::Cart`.
    document TEXT NOT NULL,
    -- Opens the cart's page. Never changes.
    token TEXT,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO new_carts SELECT seq, 'default', id, owner, version, expires_at, document, token FROM carts ORDER BY seq;
DROP TABLE carts;
ALTER TABLE new_carts RENAME TO carts;
CREATE INDEX carts_by_expiry ON carts (shop, expires_at);
CREATE UNIQUE INDEX carts_by_token ON carts (shop, token);

CREATE TABLE new_checkouts (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    -- The cart it was made of.
    cart_id TEXT,
    -- Begin of the payment attempt whose end is unknown. As long as there is one, the row stays.
    attempted_at INTEGER,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::checkout::Checkout`.
    document TEXT NOT NULL,
    -- Opens the checkout's page. Never changes.
    token TEXT,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO new_checkouts
SELECT seq, 'default', id, owner, version, status, cart_id, attempted_at, expires_at, document, token FROM checkouts
ORDER BY seq;

CREATE TABLE new_mandates (
    shop TEXT NOT NULL,
    checkout_id TEXT NOT NULL,
    -- The mandate as it was presented. It stays for as long as the order does: disputes are settled by it.
    mandate TEXT NOT NULL,
    PRIMARY KEY (shop, checkout_id)
) STRICT;
INSERT INTO new_mandates SELECT 'default', checkout_id, mandate FROM mandates;
DROP TRIGGER mandates_of_checkouts;
DROP TABLE mandates;
DROP TABLE checkouts;
ALTER TABLE new_checkouts RENAME TO checkouts;
ALTER TABLE new_mandates RENAME TO mandates;
CREATE INDEX checkouts_by_cart ON checkouts (shop, cart_id) WHERE cart_id IS NOT NULL;
CREATE INDEX checkouts_by_attempt ON checkouts (shop, attempted_at) WHERE attempted_at IS NOT NULL;
CREATE INDEX checkouts_by_expiry ON checkouts (shop, expires_at);
CREATE UNIQUE INDEX checkouts_by_token ON checkouts (shop, token);
-- Without an order there is nothing to dispute.
CREATE TRIGGER mandates_of_checkouts AFTER DELETE ON checkouts WHEN OLD.status <> 'completed'
BEGIN
    DELETE FROM mandates WHERE shop = OLD.shop AND checkout_id = OLD.id;
END;

CREATE TABLE new_orders (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- A checkout becomes one order at most, whatever else goes wrong.
    checkout_id TEXT NOT NULL,
    -- JSON of `ucp_core::order::Order`.
    document TEXT NOT NULL,
    -- Opens the order's page. Never changes.
    token TEXT,
    UNIQUE (shop, id),
    UNIQUE (shop, checkout_id)
) STRICT;
INSERT INTO new_orders SELECT seq, 'default', id, owner, version, checkout_id, document, token FROM orders ORDER BY seq;
DROP TABLE orders;
ALTER TABLE new_orders RENAME TO orders;
CREATE INDEX orders_by_seq ON orders (shop, seq);
CREATE UNIQUE INDEX orders_by_token ON orders (shop, token);

CREATE TABLE new_kept (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    owner TEXT NOT NULL,
    operation TEXT NOT NULL,
    resource TEXT NOT NULL,
    key TEXT NOT NULL,
    identity BLOB NOT NULL CHECK (length(identity) = 32),
    answer TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (shop, key, resource, operation, owner)
) STRICT;
INSERT INTO new_kept SELECT seq, 'default', owner, operation, resource, key, identity, answer, at FROM kept ORDER BY seq;
DROP TABLE kept;
ALTER TABLE new_kept RENAME TO kept;
CREATE INDEX kept_by_age ON kept (shop, at);

CREATE TABLE new_remote_carts (
    shop TEXT NOT NULL,
    -- Identifier of the cart at the remote shop.
    reference TEXT NOT NULL,
    -- JSON of `ucp_core::purchase::remote_cart_ref::RemoteCartRef`.
    document TEXT NOT NULL,
    -- Time of its creation.
    at INTEGER NOT NULL,
    PRIMARY KEY (shop, reference)
) STRICT, WITHOUT ROWID;
INSERT INTO new_remote_carts SELECT 'default', reference, document, at FROM remote_carts;
DROP TABLE remote_carts;
ALTER TABLE new_remote_carts RENAME TO remote_carts;
CREATE INDEX remote_carts_by_age ON remote_carts (shop, at);

-- The outbox.

CREATE TABLE new_outbox (
    seq INTEGER PRIMARY KEY,
    shop TEXT NOT NULL,
    -- A UUID.
    id TEXT NOT NULL,
    order_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    order_version INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL,
    -- waiting, delivered, gone, expired or unwanted.
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Time of the next attempt. Of the waiting events of an order only the first has one.
    next_at INTEGER,
    -- Begin of the attempts.
    since INTEGER NOT NULL,
    settled_at INTEGER,
    problem TEXT,
    -- Release and bytes of the message, once it was written.
    release TEXT,
    body BLOB,
    -- Process that is sending the event, until `claimed_until`.
    claimant TEXT,
    claimed_until INTEGER,
    -- JSON of `ucp_core::order::Order` as it was then, unless a remote shop wrote the message.
    document TEXT,
    UNIQUE (shop, id)
) STRICT;
INSERT INTO new_outbox
SELECT seq, 'default', id, order_id, owner, order_version, occurred_at, state, attempts, next_at, since, settled_at, problem,
    release, body, claimant, claimed_until, document
FROM outbox ORDER BY seq;
DROP TABLE outbox;
ALTER TABLE new_outbox RENAME TO outbox;
CREATE INDEX outbox_due ON outbox (shop, owner, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (shop, order_id, seq) WHERE state = 'waiting';
CREATE INDEX outbox_settled ON outbox (shop, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX outbox_since ON outbox (shop, since) WHERE state = 'waiting';
CREATE INDEX outbox_by_seq ON outbox (shop, seq);

-- Owners of what a remote shop keeps.

CREATE TABLE new_owners (
    shop TEXT NOT NULL,
    -- cart, checkout or order.
    kind TEXT NOT NULL,
    -- Identifier at the remote shop.
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- Release in which the owner was served.
    release TEXT NOT NULL,
    -- Time until which it is known to be alive.
    at INTEGER NOT NULL,
    -- 1 if it was made with mandates negotiated.
    mandates INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (shop, kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_owners SELECT 'default', kind, id, owner, release, at, mandates FROM owners;
DROP TABLE owners;
ALTER TABLE new_owners RENAME TO owners;
CREATE INDEX owners_by_age ON owners (shop, kind, at);
