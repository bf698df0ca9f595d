-- What callers without a credential hold: how many carts and checkouts, and how many bytes with the answers that are
-- recorded for them. A row without a holder is counted to nobody.

-- Network address or profile URL of the caller that made it.
ALTER TABLE carts ADD COLUMN holder TEXT;
-- Size of the document, in bytes.
ALTER TABLE carts ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX carts_by_holder ON carts (shop, holder, held) WHERE holder IS NOT NULL;
CREATE INDEX carts_held_by_expiry ON carts (shop, expires_at) WHERE holder IS NOT NULL;

-- Empty as soon as the checkout is an order.
ALTER TABLE checkouts ADD COLUMN holder TEXT;
ALTER TABLE checkouts ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX checkouts_by_holder ON checkouts (shop, holder, held) WHERE holder IS NOT NULL;
CREATE INDEX checkouts_held_by_expiry ON checkouts (shop, expires_at) WHERE holder IS NOT NULL;

ALTER TABLE kept ADD COLUMN holder TEXT;
-- Size of the answer, in bytes.
ALTER TABLE kept ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
CREATE INDEX kept_by_holder ON kept (shop, holder, held) WHERE holder IS NOT NULL;

-- 1 once the addresses of the order were erased.
ALTER TABLE orders ADD COLUMN anonymous INTEGER NOT NULL DEFAULT 0;
CREATE INDEX orders_with_addresses
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.placed_at') END) WHERE anonymous = 0;
