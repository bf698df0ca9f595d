-- The directory of merchants: what each one states, and whose every location is.

CREATE TABLE merchants (
    -- The order in which merchants came. Never reused, and kept when a merchant changes.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    -- Grows with every transaction that changes merchants: whoever read up to a revision finds what came later.
    revision INTEGER NOT NULL,
    -- JSON of `ucp_core::merchant::record::Merchant`.
    document TEXT NOT NULL
) STRICT;

CREATE INDEX merchants_by_revision ON merchants (revision);

-- What locations are known by. `kind` is 0 for the id of a location, 1 for an alias, which several may share, and 2 for the
-- id of a location that buyers may not know of: it is taken, and names nothing.
CREATE TABLE location_names (
    value TEXT NOT NULL,
    kind INTEGER NOT NULL,
    merchant INTEGER NOT NULL REFERENCES merchants (seq),
    PRIMARY KEY (value, kind, merchant)
) STRICT, WITHOUT ROWID;
