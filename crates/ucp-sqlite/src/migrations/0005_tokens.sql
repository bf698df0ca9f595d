-- What opens the pages of carts, checkouts and orders. A document keeps its token for good, so that the column is written
-- once, with the row.

ALTER TABLE carts ADD COLUMN token TEXT;
ALTER TABLE checkouts ADD COLUMN token TEXT;
ALTER TABLE orders ADD COLUMN token TEXT;

UPDATE carts SET token = CASE WHEN json_valid(document) THEN json_extract(document, '$.token') END;
UPDATE checkouts SET token = CASE WHEN json_valid(document) THEN json_extract(document, '$.token') END;
UPDATE orders SET token = CASE WHEN json_valid(document) THEN json_extract(document, '$.token') END;

CREATE UNIQUE INDEX carts_by_token ON carts (token);
CREATE UNIQUE INDEX checkouts_by_token ON checkouts (token);
CREATE UNIQUE INDEX orders_by_token ON orders (token);
