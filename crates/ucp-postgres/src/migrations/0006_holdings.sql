-- The holder of a row is a list of groups, with a space between them, instead of one caller. What a gateway of the version
-- before writes has one group, and is counted as well.
CREATE INDEX carts_by_group ON carts USING gin (string_to_array(holder, ' ')) WHERE holder IS NOT NULL;
CREATE INDEX checkouts_by_group ON checkouts USING gin (string_to_array(holder, ' ')) WHERE holder IS NOT NULL;
CREATE INDEX kept_by_group ON kept USING gin (string_to_array(holder, ' ')) WHERE holder IS NOT NULL;

-- Of registered platforms, rows stay as long as those that are counted to nobody.
CREATE INDEX carts_of_strangers_by_expiry ON carts (shop, expires_at) WHERE holder < '~';
CREATE INDEX checkouts_of_strangers_by_expiry ON checkouts (shop, expires_at) WHERE holder < '~';
