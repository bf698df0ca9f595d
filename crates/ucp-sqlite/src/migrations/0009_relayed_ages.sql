-- Since when what a shop elsewhere keeps may be forgotten: `at` is until when it is alive as far as that is known.

-- Whether it was made with mandates negotiated.
ALTER TABLE relayed ADD COLUMN mandates INTEGER NOT NULL DEFAULT 0;

CREATE INDEX relayed_by_age ON relayed (kind, at);
