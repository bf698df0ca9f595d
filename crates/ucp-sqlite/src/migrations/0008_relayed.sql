-- To whom carts, checkouts and orders belong that a shop elsewhere keeps for this gateway.

CREATE TABLE relayed (
    -- cart, checkout or order.
    kind TEXT NOT NULL,
    -- The shop's identifier.
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- The release in which the owner was served.
    release TEXT NOT NULL,
    -- Nanoseconds since 1970.
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
