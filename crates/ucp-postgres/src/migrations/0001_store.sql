-- The store of several shops. The shop comes first in every key; rows of different shops never refer to each other.
--
-- No sequences, triggers, functions or types of PostgreSQL alone, so that what speaks its protocol can take its place. Times
-- are nanoseconds since 1970. `made` is a UUIDv7 of the gateway that made the row: it orders rows, and no caller sees it.
-- Texts that come from outside are compared byte by byte, whatever the operating system thinks of their order.

CREATE TABLE shops (
    shop text COLLATE "C" PRIMARY KEY,
    -- Seals cursors, in all gateways of the shop; 32 bytes.
    cursor_key bytea NOT NULL
);

-- The embedded shop.

CREATE TABLE catalogs (
    shop text COLLATE "C" PRIMARY KEY,
    -- Random. What was derived from a catalog of another identity is of no use.
    identity text NOT NULL,
    -- JSON of `ucp_core::catalog::market::Market`.
    market text NOT NULL,
    -- JSON of `ucp_core::purchase::terms::Terms`.
    terms text NOT NULL,
    -- Number of the last change of products. Whoever changes products increments it in the same transaction, and so holds
    -- this row until the commit: the order of numbers is the order of commits.
    number bigint NOT NULL,
    -- Number of the last change that was more than goods being sold out: who changes products on grounds of what was read finds
    -- here whether somebody else did meanwhile.
    edition bigint NOT NULL
);

CREATE TABLE products (
    shop text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    -- Place in the order of the shop. Never reused, and kept when a product changes.
    place bigint NOT NULL,
    -- Number of the last change.
    number bigint NOT NULL,
    -- JSON of `ucp_core::catalog::record::Record`, or `null` for a product that was removed.
    document text NOT NULL,
    PRIMARY KEY (shop, id)
);
CREATE UNIQUE INDEX products_by_place ON products (shop, place);
CREATE INDEX products_by_number ON products (shop, number);

CREATE TABLE stock (
    shop text COLLATE "C" NOT NULL,
    variant text COLLATE "C" NOT NULL,
    product text COLLATE "C" NOT NULL,
    quantity bigint NOT NULL CHECK (quantity >= 0),
    PRIMARY KEY (shop, variant)
);
CREATE INDEX stock_by_product ON stock (shop, product);

-- The ledger.

CREATE TABLE carts (
    shop text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    -- Opens the cart's page. Never changes.
    token text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    expires_at bigint NOT NULL,
    -- JSON of `ucp_core::cart::Cart`.
    document text NOT NULL,
    -- Caller that the row is counted to, and the size of the document in bytes.
    holder text COLLATE "C",
    held bigint NOT NULL,
    made uuid NOT NULL,
    PRIMARY KEY (shop, id)
);
CREATE UNIQUE INDEX carts_by_token ON carts (shop, token);
CREATE INDEX carts_by_expiry ON carts (shop, expires_at);
CREATE INDEX carts_by_holder ON carts (shop, holder, held) WHERE holder IS NOT NULL;

CREATE TABLE checkouts (
    shop text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    -- Opens the checkout's page. Never changes.
    token text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    status text NOT NULL,
    -- The cart that it was made of.
    cart_id text COLLATE "C",
    -- Begin of the payment attempt whose end is unknown. As long as there is one, the row stays.
    attempted_at bigint,
    -- Gateway that looks after the attempt, until a time.
    leased_by uuid,
    leased_until bigint,
    expires_at bigint NOT NULL,
    -- JSON of `ucp_core::checkout::Checkout`.
    document text NOT NULL,
    -- Empty as soon as the checkout is an order.
    holder text COLLATE "C",
    held bigint NOT NULL,
    made uuid NOT NULL,
    PRIMARY KEY (shop, id)
);
CREATE UNIQUE INDEX checkouts_by_token ON checkouts (shop, token);
CREATE INDEX checkouts_by_cart ON checkouts (shop, cart_id, made) WHERE cart_id IS NOT NULL;
CREATE INDEX checkouts_by_attempt ON checkouts (shop, attempted_at) WHERE attempted_at IS NOT NULL;
CREATE INDEX checkouts_by_expiry ON checkouts (shop, expires_at);
CREATE INDEX checkouts_by_holder ON checkouts (shop, holder, held) WHERE holder IS NOT NULL;

CREATE TABLE mandates (
    shop text COLLATE "C" NOT NULL,
    checkout_id text COLLATE "C" NOT NULL,
    -- The mandate as it was presented. It stays for as long as the order does: disputes are settled by it.
    mandate bytea NOT NULL,
    PRIMARY KEY (shop, checkout_id)
);

CREATE TABLE orders (
    shop text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    -- Opens the order's page. Never changes.
    token text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    -- A checkout becomes one order at most, whatever else goes wrong.
    checkout_id text COLLATE "C" NOT NULL,
    -- JSON of `ucp_core::order::Order`.
    document text NOT NULL,
    placed_at bigint NOT NULL,
    -- `true` once the addresses of the order were erased.
    anonymous boolean NOT NULL DEFAULT false,
    made uuid NOT NULL,
    PRIMARY KEY (shop, id)
);
CREATE UNIQUE INDEX orders_by_token ON orders (shop, token);
CREATE UNIQUE INDEX orders_by_checkout ON orders (shop, checkout_id);
CREATE INDEX orders_by_age ON orders (shop, made);
CREATE INDEX orders_with_addresses ON orders (shop, placed_at) WHERE NOT anonymous;

-- Answers recorded under idempotency keys. The key is what keeps a call from being carried out twice.
CREATE TABLE kept (
    shop text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    -- SHA-256 of the request in canonical form.
    identity bytea NOT NULL,
    -- The answer as it was encoded.
    answer bytea NOT NULL,
    at bigint NOT NULL,
    holder text COLLATE "C",
    held bigint NOT NULL,
    PRIMARY KEY (shop, key, resource, operation, owner)
);
CREATE INDEX kept_by_age ON kept (shop, at);
CREATE INDEX kept_by_holder ON kept (shop, holder, held) WHERE holder IS NOT NULL;

-- Commits without an idempotency key, by which a gateway finds out what became of one whose reply it lost. UUIDv7.
CREATE TABLE commits (
    shop text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (shop, id)
);

CREATE TABLE remote_carts (
    shop text COLLATE "C" NOT NULL,
    -- Identifier of the cart at the remote shop.
    reference text COLLATE "C" NOT NULL,
    -- JSON of `ucp_core::purchase::remote_cart_ref::RemoteCartRef`.
    document text NOT NULL,
    -- Time of its creation.
    at bigint NOT NULL,
    PRIMARY KEY (shop, reference)
);
CREATE INDEX remote_carts_by_age ON remote_carts (shop, at);

-- The outbox.

CREATE TABLE outbox (
    shop text COLLATE "C" NOT NULL,
    -- A UUID.
    id text COLLATE "C" NOT NULL,
    order_id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    -- Events of an order are sent in the order of their versions.
    order_version bigint NOT NULL,
    occurred_at bigint NOT NULL,
    -- waiting, delivered, gone, expired or unwanted.
    state text NOT NULL,
    attempts bigint NOT NULL,
    -- Time of the next attempt, as soon as the earlier events of the order are settled.
    next_at bigint,
    -- Begin of the attempts.
    since bigint NOT NULL,
    settled_at bigint,
    problem text,
    -- Release and bytes of the message, once it was written.
    release text,
    body bytea,
    -- Process that is sending the event, until `claimed_until`.
    claimant text,
    claimed_until bigint,
    -- JSON of `ucp_core::order::Order` as it was then, unless a remote shop wrote the message.
    document text,
    -- `true` until the change of the order was told to those who analyse it.
    untold boolean NOT NULL DEFAULT false,
    made uuid NOT NULL,
    PRIMARY KEY (shop, id)
);
CREATE INDEX outbox_due ON outbox (shop, owner, next_at) WHERE state = 'waiting';
CREATE INDEX outbox_of_order ON outbox (shop, order_id, order_version);
CREATE INDEX outbox_since ON outbox (shop, since) WHERE state = 'waiting';
CREATE INDEX outbox_settled ON outbox (shop, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX outbox_by_age ON outbox (shop, made);
CREATE INDEX outbox_untold ON outbox (shop, made) WHERE untold;

-- Until when checkouts that expired unfinished were told to those who analyse them.
CREATE TABLE told (
    shop text COLLATE "C" PRIMARY KEY,
    checkouts_until bigint NOT NULL
);

-- Owners of what a remote shop keeps.

CREATE TABLE owners (
    shop text COLLATE "C" NOT NULL,
    -- cart, checkout or order.
    kind text COLLATE "C" NOT NULL,
    -- Identifier at the remote shop.
    id text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    -- Release in which the owner was served.
    release text NOT NULL,
    -- Time until which it is known to be alive.
    at bigint NOT NULL,
    -- `true` if it was made with mandates negotiated.
    mandates boolean NOT NULL,
    PRIMARY KEY (shop, kind, id)
);
CREATE INDEX owners_by_age ON owners (shop, kind, at);
