-- Who is sending a notice, so that no two processes do. After `claimed_until`, in nanoseconds since 1970, others may have it.

ALTER TABLE outbox ADD COLUMN claimant TEXT;
ALTER TABLE outbox ADD COLUMN claimed_until INTEGER;
