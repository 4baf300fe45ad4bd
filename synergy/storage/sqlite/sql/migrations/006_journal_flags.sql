-- The journal holds the flags of jobs, so that its readers know of each skip whether an operator
-- decided it. Older skips count as decided by operators.

ALTER TABLE journal ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;
