-- name: canceled_units
-- The newest units of jobs that are canceled; units of free runs belong to no job.
SELECT id, process, timeperiod, end_timeperiod, generation, reason FROM unit
WHERE state = 5 AND superseded = 0 AND length(timeperiod) = 10;

-- name: skips
SELECT process, first, last, generation, unit FROM journal
WHERE event IN ('job.skipped', 'job.given_up');
