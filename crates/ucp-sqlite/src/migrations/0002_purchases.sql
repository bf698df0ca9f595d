-- The shop's books: carts, checkouts, orders, what is in stock, and answers kept for those who ask again.
--
-- Documents are JSON of the types in `ucp_core`; what stands beside them is what queries need. Times are nanoseconds
-- since 1970. Ids are random, so that documents are appended in order of time and only the indexes are written all over.

-- On what terms the shop sells: JSON of `ucp_core::purchase::terms::Terms`.
ALTER TABLE shop ADD COLUMN terms TEXT NOT NULL DEFAULT '{}';

CREATE TABLE carts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::cart::Cart`.
    document TEXT NOT NULL
) STRICT;

CREATE INDEX carts_by_expiry ON carts (expires_at);

CREATE TABLE checkouts (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    -- The cart it was made of.
    cart_id TEXT,
    -- When the payment attempt was begun whose end is not known yet. As long as there is one, the row stays.
    attempted_at INTEGER,
    expires_at INTEGER NOT NULL,
    -- JSON of `ucp_core::checkout::Checkout`.
    document TEXT NOT NULL
) STRICT;

CREATE INDEX checkouts_by_cart ON checkouts (cart_id) WHERE cart_id IS NOT NULL;
CREATE INDEX checkouts_by_attempt ON checkouts (attempted_at) WHERE attempted_at IS NOT NULL;
CREATE INDEX checkouts_by_expiry ON checkouts (expires_at);

CREATE TABLE orders (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- A checkout becomes one order at most, whatever else goes wrong.
    checkout_id TEXT NOT NULL UNIQUE,
    -- JSON of `ucp_core::order::Order`.
    document TEXT NOT NULL
) STRICT;

-- How many there are of the variants that are counted. Those without a row are not.
CREATE TABLE stock (
    variant TEXT NOT NULL PRIMARY KEY,
    product INTEGER NOT NULL REFERENCES products (seq),
    quantity INTEGER NOT NULL CHECK (quantity >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX stock_by_product ON stock (product);
CREATE INDEX stock_sold_out ON stock (product) WHERE quantity = 0;

-- Answers under idempotency keys.
CREATE TABLE kept (
    seq INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    operation TEXT NOT NULL,
    resource TEXT NOT NULL,
    key TEXT NOT NULL,
    identity BLOB NOT NULL CHECK (length(identity) = 32),
    answer TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (key, resource, operation, owner)
) STRICT;

CREATE INDEX kept_by_age ON kept (at);

-- Products may say how many there are, what they weigh and whether they are digital. Until now these were members that
-- no rule spoke about and could be anything; what they said was said about something else.
UPDATE products
SET document = json_set(document, '$.variants', json((
    SELECT json_group_array(json_remove(value, '$.inventory', '$.weight_grams', '$.digital'))
    FROM json_each(document, '$.variants')
)))
WHERE document LIKE '%"inventory"%' OR document LIKE '%"weight_grams"%' OR document LIKE '%"digital"%';
