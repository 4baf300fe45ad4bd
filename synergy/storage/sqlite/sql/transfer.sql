-- name: counts
SELECT 'facts', count(*) FROM fact
UNION ALL SELECT 'controls', count(*) FROM control
UNION ALL SELECT 'boxes', count(*) FROM box
UNION ALL SELECT 'assignments', count(*) FROM assignment
UNION ALL SELECT 'job_blocks', count(*) FROM job_block
UNION ALL SELECT 'units', count(*) FROM unit
UNION ALL SELECT 'unit_logs', count(*) FROM (SELECT DISTINCT unit, attempt FROM unit_log)
UNION ALL SELECT 'journal', count(*) FROM journal
UNION ALL SELECT 'marks', count(*) FROM mark
UNION ALL SELECT 'documents', count(*) FROM document
UNION ALL SELECT 'messages', count(*) FROM message
UNION ALL SELECT 'dead_messages', count(*) FROM dead_message
UNION ALL SELECT 'numbers', count(*) FROM sqlite_sequence WHERE seq > 0;

-- name: facts
SELECT name, value FROM fact WHERE name > ? ORDER BY name;

-- name: put_facts
INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?);

-- name: controls
SELECT process, is_on, trigger_frequency FROM control WHERE process > ? ORDER BY process;

-- name: put_controls
INSERT OR REPLACE INTO control (process, is_on, trigger_frequency) VALUES (?, ?, ?);

-- name: boxes
SELECT id, seen_at FROM box WHERE id > ? ORDER BY id;

-- name: put_boxes
INSERT OR REPLACE INTO box (id, seen_at) VALUES (?, ?);

-- name: assignments
SELECT box, process, is_on FROM assignment
WHERE (box, process) > (?, ?) ORDER BY box, process;

-- name: put_assignments
INSERT OR REPLACE INTO assignment (box, process, is_on) VALUES (?, ?, ?);

-- name: job_blocks
SELECT process, block, states, generations FROM job_block
WHERE (process, block) > (?, ?) ORDER BY process, block;

-- name: put_job_blocks
INSERT OR REPLACE INTO job_block (process, block, states, generations) VALUES (?, ?, ?, ?);

-- name: units
SELECT * FROM unit WHERE number > ? ORDER BY number;

-- name: put_units
INSERT OR REPLACE INTO unit VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
);

-- name: unit_logs
-- Line by line; how many make an attempt is not known.
SELECT unit, attempt, at, level, text FROM unit_log
WHERE (unit, attempt) > (?, ?) ORDER BY unit, attempt, number;

-- name: forget_unit_logs
DELETE FROM unit_log WHERE unit = ? AND attempt = ?;

-- name: put_unit_logs
INSERT INTO unit_log (unit, attempt, at, level, text) VALUES (?, ?, ?, ?, ?);

-- name: journal
SELECT * FROM journal WHERE seq > ? ORDER BY seq;

-- name: put_journal
INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: marks
SELECT collection, timeperiod, low, high, rows FROM mark
WHERE (collection, timeperiod) > (?, ?) ORDER BY collection, timeperiod;

-- name: put_marks
INSERT OR REPLACE INTO mark (collection, timeperiod, low, high, rows) VALUES (?, ?, ?, ?, ?);

-- name: documents
SELECT collection, timeperiod, key, body FROM document
WHERE (collection, timeperiod, key) > (?, ?, ?) ORDER BY collection, timeperiod, key;

-- name: put_documents
-- Nobody asks for the number of a single document: it gets the newest of its timeperiod.
INSERT OR REPLACE INTO document (collection, timeperiod, key, body, seq) VALUES (
    ?1, ?2, ?3, ?4, (SELECT high FROM mark WHERE collection = ?1 AND timeperiod = ?2)
);

-- name: messages
SELECT queue, seq, body FROM message WHERE (queue, seq) > (?, ?) ORDER BY queue, seq;

-- name: put_messages
INSERT OR REPLACE INTO message (queue, seq, body) VALUES (?, ?, ?);

-- name: dead_messages
SELECT seq, queue, body, reason, at FROM dead_message WHERE seq > ? ORDER BY seq;

-- name: put_dead_messages
INSERT OR REPLACE INTO dead_message (seq, queue, body, reason, at) VALUES (?, ?, ?, ?, ?);

-- name: numbers
-- The last numbers of tables whose rows may all be gone.
SELECT name, seq FROM sqlite_sequence WHERE name > ? AND seq > 0 ORDER BY name;

-- name: forget_numbers
DELETE FROM sqlite_sequence WHERE name = ?;

-- name: put_numbers
INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?);
