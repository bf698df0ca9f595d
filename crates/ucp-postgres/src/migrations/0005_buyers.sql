-- What an order is found by once the checkout of its buyer is gone: a hash of the e-mail address, empty if none was stated.
ALTER TABLE orders ADD COLUMN buyer text COLLATE "C";
CREATE INDEX orders_by_buyer ON orders (shop, buyer) WHERE buyer IS NOT NULL;
