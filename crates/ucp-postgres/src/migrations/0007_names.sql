-- What operators and shops call an order, at most 400 characters of it: its label, and the identifier at a shop behind another
-- API. A gateway of the version before leaves both out: its orders are found by their identifier alone.
ALTER TABLE orders ADD COLUMN label text COLLATE "C";
ALTER TABLE orders ADD COLUMN reference text COLLATE "C";
CREATE FUNCTION pg_temp.name_in(document text, path text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN left(document::json #>> path, 400);
EXCEPTION WHEN others THEN
    -- A damaged document has no name.
    RETURN NULL;
END $$;
UPDATE orders SET label = pg_temp.name_in(document, '{label}'), reference = pg_temp.name_in(document, '{remote,reference}');
DROP FUNCTION pg_temp.name_in(text, text[]);
CREATE INDEX orders_by_label ON orders (shop, label) WHERE label IS NOT NULL;
CREATE INDEX orders_by_reference ON orders (shop, reference) WHERE reference IS NOT NULL;
