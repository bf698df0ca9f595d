-- What platforms are told about their orders. A row is written in the transaction that stores the order.
--
-- Times are nanoseconds since 1970.

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    -- A UUID.
    id TEXT NOT NULL UNIQUE,
    order_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    order_version INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL,
    -- JSON of `ucp_core::order::Order`, as it was then.
    document TEXT NOT NULL,
    -- waiting, delivered, gone, expired or unwanted.
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts INTEGER NOT NULL DEFAULT 0,
    -- When it is tried next. Of the waiting ones of an order only the first has this.
    next_at INTEGER,
    -- Since when it is tried.
    since INTEGER NOT NULL,
    settled_at INTEGER,
    problem TEXT,
    -- What was sent, and in which release.
    release TEXT,
    body BLOB
) STRICT;

CREATE INDEX outbox_due ON outbox (owner, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (order_id, seq) WHERE state = 'waiting';
CREATE INDEX outbox_settled ON outbox (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX outbox_since ON outbox (since) WHERE state = 'waiting';
