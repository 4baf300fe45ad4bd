-- When a worker first claimed a unit: its age counts from then.
ALTER TABLE unit ADD COLUMN first_claimed_at INTEGER;

-- Of units under way the present claim is known, and of those that failed, that there was one.
UPDATE unit SET first_claimed_at = coalesce(started_at, created_at)
WHERE state < 3 AND (started_at IS NOT NULL OR failures > 0);
