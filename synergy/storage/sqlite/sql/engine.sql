-- name: begin
-- Takes the write lock at once: a transaction that reads first may not get it later.
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: begin_reading
-- Begins the read transaction of a snapshot.
BEGIN;

-- name: touch
-- A first read, which fixes the state that the read transaction sees.
SELECT count(*) FROM fact;

-- name: counts
-- The rows of each table. Entries of the journal, and events, are numbered without gaps.
SELECT 'job_block', count(*) FROM job_block
UNION ALL SELECT 'unit', count(*) FROM unit
UNION ALL SELECT 'unit_log', count(*) FROM unit_log
UNION ALL SELECT 'journal', coalesce(max(seq) - min(seq) + 1, 0) FROM journal
UNION ALL SELECT 'document', coalesce(sum(rows), 0) FROM mark
UNION ALL SELECT 'schedule', count(*) FROM schedule
UNION ALL SELECT 'run', count(*) FROM run
UNION ALL SELECT 'event', coalesce(max(seq) - min(seq) + 1, 0) FROM event
UNION ALL SELECT 'payload', count(*) FROM payload
UNION ALL SELECT 'operation', count(*) FROM operation
UNION ALL SELECT 'answer', count(*) FROM answer
UNION ALL SELECT 'message', count(*) FROM message
UNION ALL SELECT 'dead_message', count(*) FROM dead_message;
