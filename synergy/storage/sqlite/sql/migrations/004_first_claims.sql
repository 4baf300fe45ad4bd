-- The time at which a worker first claimed a unit, from which its age is counted.
ALTER TABLE unit ADD COLUMN first_claimed_at INTEGER;

-- For units in progress the time of the present claim is known. For failed units it is known only
-- that there was a claim, so the creation counts.
UPDATE unit SET first_claimed_at = coalesce(started_at, created_at)
WHERE state < 3 AND (started_at IS NOT NULL OR failures > 0);
