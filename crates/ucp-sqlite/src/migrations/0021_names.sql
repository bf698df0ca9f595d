-- What operators and shops call an order: its label, and the identifier at a shop behind another API. An index over a damaged
-- document fails whatever touches its row.
CREATE INDEX orders_by_label
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.label') END);
CREATE INDEX orders_by_reference
    ON orders (shop, CASE WHEN json_valid(document) THEN json_extract(document, '$.remote.reference') END);
