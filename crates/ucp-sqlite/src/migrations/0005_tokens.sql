-- What opens the pages of carts, checkouts and orders. A document keeps its token for good, so that the column is written
-- once, with the row.

ALTER TABLE carts ADD COLUMN token TEXT;
ALTER TABLE checkouts ADD COLUMN token TEXT;
ALTER TABLE orders ADD COLUMN token TEXT;

UPDATE carts SET token = json_extract(document, '$.token');
UPDATE checkouts SET token = json_extract(document, '$.token');
UPDATE orders SET token = json_extract(document, '$.token');

CREATE UNIQUE INDEX carts_by_token ON carts (token);
CREATE UNIQUE INDEX checkouts_by_token ON checkouts (token);
CREATE UNIQUE INDEX orders_by_token ON orders (token);
