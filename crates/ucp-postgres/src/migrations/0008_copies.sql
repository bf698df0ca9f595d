-- The copy that a shop was made by. While it is not finished, no gateway serves the shop, and the same copy may go on. A gateway
-- of the version before does not know it.
CREATE TABLE copies (
    shop text COLLATE "C" PRIMARY KEY,
    -- Place that the shop is copied from, for people.
    origin text NOT NULL,
    finished boolean NOT NULL
);

-- Gateways that serve a shop. Each writes again and again that it does, and when, by the clock of the server.
CREATE TABLE gateways (
    shop text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    seen timestamptz NOT NULL,
    PRIMARY KEY (shop, id)
);
