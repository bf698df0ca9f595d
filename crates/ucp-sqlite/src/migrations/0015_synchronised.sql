-- The catalog of a shop that is kept as a copy of a catalog elsewhere.

CREATE TABLE synchronised (
    shop TEXT NOT NULL PRIMARY KEY,
    -- JSON of `ucp_sync::State`.
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Products of the copy, each with the last full run that has seen it; -1 if the shop has said that it is no longer sold.
-- Products that are removed are not here.
CREATE TABLE synchronised_products (
    shop TEXT NOT NULL,
    product INTEGER NOT NULL REFERENCES products (seq),
    run INTEGER NOT NULL,
    PRIMARY KEY (shop, product)
) STRICT, WITHOUT ROWID;

-- Products that the shop has said to have changed, in the order in which they are asked for.
CREATE TABLE changed_products (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    shop TEXT NOT NULL,
    id TEXT NOT NULL,
    UNIQUE (shop, id)
) STRICT;
