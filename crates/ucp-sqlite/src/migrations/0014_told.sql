-- What happens without a call, for those who analyse it.

-- 1 until the change of the order was told.
ALTER TABLE outbox ADD COLUMN untold INTEGER;
CREATE INDEX outbox_untold ON outbox (shop, seq) WHERE untold = 1;

-- Until when checkouts that expired unfinished were told.
CREATE TABLE told (
    shop TEXT NOT NULL PRIMARY KEY,
    checkouts_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
