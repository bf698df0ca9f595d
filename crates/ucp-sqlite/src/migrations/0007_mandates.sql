-- The mandates that buyers agreed with, as they were presented. They are what a dispute is settled by, so that they stay for
-- as long as the order does; documents, which are copied and shown, hold their digests only.

CREATE TABLE mandates (
    checkout_id TEXT NOT NULL PRIMARY KEY,
    mandate TEXT NOT NULL
) STRICT;

-- Without an order there is nothing to dispute.
CREATE TRIGGER mandates_of_checkouts AFTER DELETE ON checkouts WHEN OLD.status <> 'completed'
BEGIN
    DELETE FROM mandates WHERE checkout_id = OLD.id;
END;
