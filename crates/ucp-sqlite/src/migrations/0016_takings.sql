-- Numbers that the source of the products stated, and goods that orders have taken since: a number that is stated again as
-- before gives nothing back, and a new one counts from its own time.

-- Pieces that were taken beyond what a later number leaves, and that come back first.
ALTER TABLE stock ADD COLUMN owed INTEGER NOT NULL DEFAULT 0 CHECK (owed >= 0);
-- Number that was stated last, and the time as of which it was; absent for rows of an earlier version.
ALTER TABLE stock ADD COLUMN stated INTEGER;
ALTER TABLE stock ADD COLUMN stated_at INTEGER;

-- Pieces of counted variants that left the stock for a checkout, below zero for those that came back from its order.
CREATE TABLE takings (
    shop TEXT NOT NULL,
    variant TEXT NOT NULL,
    checkout TEXT NOT NULL,
    -- Time of the sale; the greatest number while the payment has no end.
    at INTEGER NOT NULL,
    quantity INTEGER NOT NULL,
    PRIMARY KEY (shop, variant, checkout, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX takings_by_age ON takings (shop, at);

-- What is held, and what was sold within thirty days.
INSERT INTO takings (shop, variant, checkout, at, quantity)
    SELECT checkouts.shop, stock.variant, checkouts.id, 9223372036854775807, sum(json_extract(line.value, '$.quantity'))
    FROM checkouts, json_each(CASE WHEN json_valid(checkouts.document) THEN checkouts.document ELSE '{}' END, '$.line_items') AS line
    JOIN stock ON stock.shop = checkouts.shop AND stock.variant = json_extract(line.value, '$.item.id')
    WHERE checkouts.attempted_at IS NOT NULL AND json_type(line.value, '$.quantity') = 'integer'
    GROUP BY checkouts.shop, stock.variant, checkouts.id;
INSERT INTO takings (shop, variant, checkout, at, quantity)
    SELECT orders.shop, stock.variant, orders.checkout_id,
        (unixepoch(json_extract(orders.document, '$.placed_at')) + 1) * 1000000000, sum(json_extract(line.value, '$.total'))
    FROM (SELECT shop, checkout_id, CASE WHEN json_valid(document) THEN document ELSE '{}' END AS document FROM orders) AS orders,
        json_each(orders.document, '$.line_items') AS line
    JOIN stock ON stock.shop = orders.shop AND stock.variant = json_extract(line.value, '$.item.id')
    WHERE json_type(line.value, '$.total') = 'integer'
        AND unixepoch(json_extract(orders.document, '$.placed_at')) > unixepoch() - 30 * 24 * 3600
    GROUP BY orders.shop, stock.variant, orders.checkout_id;
