-- The agenda: what has to be done later, in place of the list of attempts to pay and that of carts at a remote shop.
CREATE TABLE tasks (
    shop TEXT NOT NULL,
    -- settle, move_money, abandon or tell.
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    -- Party that is asked, with the kind.
    lane TEXT NOT NULL,
    -- Name under which events wake the task.
    name TEXT,
    due INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- Time at which it was due first.
    since INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    -- 1 for a task that is not carried out again by itself.
    given_up INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    -- 1 if it was woken since it was claimed last.
    woken INTEGER NOT NULL DEFAULT 0,
    -- Process that carries it out, since `claimed_at` and until `claimed_until`.
    claimant TEXT,
    claimed_at INTEGER,
    claimed_until INTEGER,
    PRIMARY KEY (shop, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_due ON tasks (shop, lane, due) WHERE given_up = 0;
CREATE INDEX tasks_by_name ON tasks (shop, name) WHERE name IS NOT NULL;

INSERT INTO tasks (shop, kind, key, lane, name, due, body, since)
    SELECT shop, 'settle', id,
        'settle:' || CASE WHEN json_extract(document, '$.attempt.at_shop') THEN 'shop'
            ELSE ifnull(json_extract(document, '$.attempt.handler_id'), '') END,
        json_extract(document, '$.attempt.id'), attempted_at, owner, attempted_at
    FROM (SELECT shop, id, owner, attempted_at, CASE WHEN json_valid(document) THEN document ELSE '{}' END AS document
        FROM checkouts WHERE attempted_at IS NOT NULL);
INSERT INTO tasks (shop, kind, key, lane, due, body, since)
    SELECT shop, 'abandon', reference, 'abandon', at + 600000000000, document, at + 600000000000 FROM remote_carts;
-- Captures and releases whose end was not known.
INSERT INTO tasks (shop, kind, key, lane, name, due, body, since)
    SELECT shop, 'move_money', id, 'move_money:' || ifnull(json_extract(document, '$.payment.handler_id'), ''),
        json_extract(document, '$.payment.attempt_id'), 0, owner, unixepoch() * 1000000000
    FROM (SELECT shop, id, owner, CASE WHEN json_valid(document) THEN document ELSE '{}' END AS document FROM orders)
    WHERE json_extract(document, '$.payment.hold.status') IN ('capturing', 'releasing');
INSERT INTO tasks (shop, kind, key, lane, due, body, since)
    SELECT shop, 'tell', order_id, 'tell:' || owner, ifnull(max(next_at), 0), '', min(since)
    FROM outbox WHERE state = 'waiting' GROUP BY shop, order_id;
DROP TABLE remote_carts;
DROP INDEX checkouts_by_attempt;
DROP INDEX outbox_due;
ALTER TABLE outbox DROP COLUMN next_at;
ALTER TABLE outbox DROP COLUMN claimant;
ALTER TABLE outbox DROP COLUMN claimed_until;

-- Of the open checkouts of a cart there is one. One that has expired makes room for another.
ALTER TABLE checkouts ADD COLUMN open_cart TEXT;
UPDATE checkouts SET open_cart = cart_id WHERE cart_id IS NOT NULL AND status NOT IN ('completed', 'canceled')
    AND seq = (SELECT max(seq) FROM checkouts AS other WHERE other.shop = checkouts.shop
        AND other.cart_id = checkouts.cart_id AND other.status NOT IN ('completed', 'canceled'));
CREATE UNIQUE INDEX checkouts_open ON checkouts (shop, open_cart) WHERE open_cart IS NOT NULL;
