-- The journal says with which flags a job is stored, so that whoever follows it knows of each skip
-- whether a person decided it. Those of before count as a person's.

ALTER TABLE journal ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;
