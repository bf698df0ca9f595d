-- Carts that a shop behind another API has made and that no document names yet.
CREATE TABLE remote_carts (
    -- What the shop calls it.
    reference TEXT PRIMARY KEY NOT NULL,
    document TEXT NOT NULL,
    -- When it was made, in nanoseconds since 1970.
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX remote_carts_by_age ON remote_carts (at);
