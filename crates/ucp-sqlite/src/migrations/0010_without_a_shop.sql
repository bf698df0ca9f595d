-- The store without a shop, as a gateway in front of a shop elsewhere has it.

-- What seals page positions; see `ucp_core::catalog::cursor`. It was the shop's.
CREATE TABLE cursor_key (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;

INSERT INTO cursor_key SELECT id, cursor_key FROM shop;
ALTER TABLE shop DROP COLUMN cursor_key;

-- A notice about an order that is elsewhere has no document: what there is to say stands in `body`. Until now it had one
-- that held nothing but the name of the order.
ALTER TABLE outbox ADD COLUMN "order" TEXT;
UPDATE outbox SET "order" = document WHERE body IS NULL
    OR CASE WHEN json_valid(document) THEN json_extract(document, '$.checkout_id') IS NOT '' ELSE 1 END;
ALTER TABLE outbox DROP COLUMN document;
ALTER TABLE outbox RENAME COLUMN "order" TO document;

ALTER TABLE relayed RENAME TO owners;
DROP INDEX relayed_by_age;
CREATE INDEX owners_by_age ON owners (kind, at);
