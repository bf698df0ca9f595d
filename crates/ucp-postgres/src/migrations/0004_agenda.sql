-- The agenda: what has to be done later, in place of the list of attempts to pay and that of carts at a remote shop. Gateways
-- of the version before plan no tasks: what they leave behind is adopted (`agenda::adopt`).
CREATE TABLE tasks (
    shop text COLLATE "C" NOT NULL,
    -- settle, move_money, abandon or tell.
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- Party that is asked, with the kind.
    lane text COLLATE "C" NOT NULL,
    -- Name under which events wake the task.
    name text COLLATE "C",
    due bigint NOT NULL,
    body text NOT NULL,
    -- Time at which it was due first.
    since bigint NOT NULL,
    tries bigint NOT NULL DEFAULT 0,
    -- `true` for a task that is not carried out again by itself.
    given_up boolean NOT NULL DEFAULT false,
    problem text,
    -- `true` if it was woken since it was claimed last.
    woken boolean NOT NULL DEFAULT false,
    -- Process that carries it out, since `claimed_at` and until `claimed_until`.
    claimant text,
    claimed_at bigint,
    claimed_until bigint,
    PRIMARY KEY (shop, kind, key)
);
CREATE INDEX tasks_due ON tasks (shop, lane, due) WHERE NOT given_up;
CREATE INDEX tasks_by_name ON tasks (shop, name) WHERE name IS NOT NULL;

-- Captures and releases whose end was not known.
INSERT INTO tasks (shop, kind, key, lane, name, due, body, since)
    SELECT shop, 'move_money', id, 'move_money:' || coalesce(document::json #>> '{payment,handler_id}', ''),
        document::json #>> '{payment,attempt_id}', 0, owner, extract(epoch FROM now())::bigint * 1000000000
    FROM orders WHERE document::json #>> '{payment,hold,status}' IN ('capturing', 'releasing');

-- Webhook events belong to the task of their order. Those of gateways of the version before have a time of the next attempt.
INSERT INTO tasks (shop, kind, key, lane, due, body, since)
    SELECT DISTINCT ON (shop, order_id) shop, 'tell', order_id, 'tell:' || owner, coalesce(next_at, since), '', since
    FROM outbox WHERE state = 'waiting' ORDER BY shop, order_id, order_version;

-- Of the open checkouts of a cart there is one. One that has expired makes room for another.
ALTER TABLE checkouts ADD COLUMN open_cart text COLLATE "C";
UPDATE checkouts SET open_cart = cart_id WHERE cart_id IS NOT NULL AND status NOT IN ('completed', 'canceled')
    AND NOT EXISTS (SELECT 1 FROM checkouts AS other WHERE other.shop = checkouts.shop AND other.cart_id = checkouts.cart_id
        AND other.status NOT IN ('completed', 'canceled') AND (other.made, other.id) > (checkouts.made, checkouts.id));
CREATE UNIQUE INDEX checkouts_open ON checkouts (shop, open_cart) WHERE open_cart IS NOT NULL;
