-- The embedded shop: who it is, what it offers, and every name its goods go by.

CREATE TABLE shop (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- Random. A search index that names another identity was made from another database.
    identity TEXT NOT NULL,
    -- JSON of `ucp_core::catalog::market::Market`.
    market TEXT NOT NULL,
    -- Seals page positions; see `ucp_core::catalog::cursor`.
    cursor_key BLOB NOT NULL CHECK (length(cursor_key) = 32)
) STRICT;

CREATE TABLE products (
    -- The order in which a shop without a question lists its goods. Never reused, and kept when a product changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    -- Grows with every transaction that changes products: whoever read up to a revision finds what came later.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::catalog::record::Record`.
    document TEXT NOT NULL
) STRICT;

CREATE INDEX products_by_revision ON products (revision);

-- What callers may look up. `kind` is in the order of precedence: 0 product id, 1 variant id, 2 product handle,
-- 3 variant handle, 4 SKU, 5 barcode. `position` is that of the variant in the product, -1 for the product itself.
CREATE TABLE identifiers (
    value TEXT NOT NULL,
    kind INTEGER NOT NULL,
    product INTEGER NOT NULL REFERENCES products (seq),
    position INTEGER NOT NULL,
    PRIMARY KEY (value, kind, product, position)
) STRICT, WITHOUT ROWID;
