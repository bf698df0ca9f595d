-- Products that a remote shop has said to have changed, for the copies of its catalog in all gateways.

-- Number of the newest of them. Whoever adds some holds this row until the commit: the order of numbers is the order of commits.
CREATE TABLE catalog_event_numbers (
    shop text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL
);

CREATE TABLE catalog_events (
    shop text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    -- Identifier of the product.
    id text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (shop, number)
);
CREATE INDEX catalog_events_by_age ON catalog_events (shop, at);
