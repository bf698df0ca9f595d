-- Numbers that the source of the products stated, and goods that orders have taken since: a number that is stated again as
-- before gives nothing back, and a new one counts from its own time. Gateways of the version before write none of it.

-- Pieces that were taken beyond what a later number leaves, and that come back first.
ALTER TABLE stock ADD COLUMN owed bigint NOT NULL DEFAULT 0 CHECK (owed >= 0);
-- Number that was stated last, and the time as of which it was; absent for rows of an earlier version.
ALTER TABLE stock ADD COLUMN stated bigint;
ALTER TABLE stock ADD COLUMN stated_at bigint;

-- Pieces of counted variants that left the stock for a checkout, below zero for those that came back from its order.
CREATE TABLE takings (
    shop text COLLATE "C" NOT NULL,
    variant text COLLATE "C" NOT NULL,
    checkout text COLLATE "C" NOT NULL,
    -- Time of the sale; the greatest number while the payment has no end.
    at bigint NOT NULL,
    quantity bigint NOT NULL,
    PRIMARY KEY (shop, variant, checkout, at)
);
CREATE INDEX takings_by_age ON takings (shop, at);

-- What is held, and what was sold within thirty days.
INSERT INTO takings (shop, variant, checkout, at, quantity)
    SELECT checkouts.shop, stock.variant, checkouts.id, 9223372036854775807, sum((line ->> 'quantity')::bigint)
    FROM checkouts, json_array_elements(document::json -> 'line_items') AS line
    JOIN stock ON stock.variant = line #>> '{item,id}'
    WHERE attempted_at IS NOT NULL AND stock.shop = checkouts.shop AND json_typeof(line -> 'quantity') = 'number'
    GROUP BY checkouts.shop, stock.variant, checkouts.id;
INSERT INTO takings (shop, variant, checkout, at, quantity)
    SELECT orders.shop, stock.variant, checkout_id, placed_at, sum((line ->> 'total')::bigint)
    FROM orders, json_array_elements(document::json -> 'line_items') AS line
    JOIN stock ON stock.variant = line #>> '{item,id}'
    WHERE placed_at > (extract(epoch FROM now())::bigint - 30 * 24 * 3600) * 1000000000
        AND stock.shop = orders.shop AND json_typeof(line -> 'total') = 'number'
    GROUP BY orders.shop, stock.variant, checkout_id, placed_at;
