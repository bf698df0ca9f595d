-- What each group of callers holds. The holder of a row is a list of groups, with a space between them, instead of one
-- caller; triggers count each row to all of them.
CREATE TABLE holdings (
    shop TEXT NOT NULL,
    -- A domain, a network, or `~` and the profile of a registered platform.
    name TEXT NOT NULL,
    -- Number of carts and checkouts that led to no order.
    open INTEGER NOT NULL,
    -- Size of their documents and of recorded answers, in bytes.
    bytes INTEGER NOT NULL,
    PRIMARY KEY (shop, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX holdings_by_size ON holdings (shop, bytes);

INSERT INTO holdings (shop, name, open, bytes)
    SELECT shop, holder, sum(open), sum(held) FROM (
        SELECT shop, holder, 1 AS open, held FROM carts WHERE holder IS NOT NULL UNION ALL
        SELECT shop, holder, 1, held FROM checkouts WHERE holder IS NOT NULL UNION ALL
        SELECT shop, holder, 0, held FROM kept WHERE holder IS NOT NULL)
    GROUP BY shop, holder;

CREATE TRIGGER carts_counted AFTER INSERT ON carts WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER carts_uncounted AFTER DELETE ON carts WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER carts_recounted AFTER UPDATE OF holder, held ON carts
    WHEN OLD.holder IS NOT NEW.holder OR OLD.held <> NEW.held BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]')
        WHERE NEW.holder IS NOT NULL
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;

CREATE TRIGGER checkouts_counted AFTER INSERT ON checkouts WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER checkouts_uncounted AFTER DELETE ON checkouts WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;
CREATE TRIGGER checkouts_recounted AFTER UPDATE OF holder, held ON checkouts
    WHEN OLD.holder IS NOT NEW.holder OR OLD.held <> NEW.held BEGIN
    UPDATE holdings SET open = open - 1, bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 1, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]')
        WHERE NEW.holder IS NOT NULL
        ON CONFLICT DO UPDATE SET open = open + 1, bytes = bytes + excluded.bytes;
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;

CREATE TRIGGER kept_counted AFTER INSERT ON kept WHEN NEW.holder IS NOT NULL BEGIN
    INSERT INTO holdings (shop, name, open, bytes)
        SELECT NEW.shop, value, 0, NEW.held FROM json_each('["' || replace(NEW.holder, ' ', '","') || '"]') WHERE true
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER kept_uncounted AFTER DELETE ON kept WHEN OLD.holder IS NOT NULL BEGIN
    UPDATE holdings SET bytes = bytes - OLD.held WHERE shop = OLD.shop
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
    DELETE FROM holdings WHERE shop = OLD.shop AND open <= 0 AND bytes <= 0
        AND name IN (SELECT value FROM json_each('["' || replace(OLD.holder, ' ', '","') || '"]'));
END;

DROP INDEX carts_by_holder;
DROP INDEX checkouts_by_holder;
DROP INDEX kept_by_holder;
-- Of registered platforms, rows stay as long as those that are counted to nobody.
DROP INDEX carts_held_by_expiry;
DROP INDEX checkouts_held_by_expiry;
CREATE INDEX carts_held_by_expiry ON carts (shop, expires_at) WHERE holder < '~';
CREATE INDEX checkouts_held_by_expiry ON checkouts (shop, expires_at) WHERE holder < '~';
