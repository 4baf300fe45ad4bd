-- name: counts
SELECT 'facts', count(*) FROM fact
UNION ALL SELECT 'controls', count(*) FROM control
UNION ALL SELECT 'boxes', count(*) FROM box
UNION ALL SELECT 'assignments', count(*) FROM assignment
UNION ALL SELECT 'job_blocks', count(*) FROM job_block
UNION ALL SELECT 'units', count(*) FROM unit
UNION ALL SELECT 'unit_logs', count(*) FROM (SELECT DISTINCT unit, attempt FROM unit_log)
UNION ALL SELECT 'schedules', count(*) FROM schedule
UNION ALL SELECT 'runs', count(*) FROM run
UNION ALL SELECT 'events', count(*) FROM event
UNION ALL SELECT 'payloads', count(*) FROM payload
UNION ALL SELECT 'operations', count(*) FROM operation
UNION ALL SELECT 'answers', count(*) FROM answer
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
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
);

-- name: unit_logs
-- Line by line; how many make an attempt is not known.
SELECT unit, attempt, at, level, text FROM unit_log
WHERE (unit, attempt) > (?, ?) ORDER BY unit, attempt, number;

-- name: forget_unit_logs
DELETE FROM unit_log WHERE unit = ? AND attempt = ?;

-- name: put_unit_logs
INSERT INTO unit_log (unit, attempt, at, level, text) VALUES (?, ?, ?, ?, ?);

-- name: schedules
-- Version by version; how many make a schedule is not known.
SELECT schedule.*, definition, schedule_version.version, at, who FROM schedule
JOIN schedule_version ON schedule = number
WHERE name > ? ORDER BY name, schedule_version.version;

-- name: schedules_there
-- By name, from a JSON array.
SELECT number, keys FROM schedule WHERE name IN (SELECT value FROM json_each(?));

-- name: put_schedules
INSERT INTO schedule (
    name, version, origin, is_enabled, reason, progress, wake_at, keys, created_at, changed_at, rev
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET version = excluded.version, origin = excluded.origin,
    is_enabled = excluded.is_enabled, reason = excluded.reason, progress = excluded.progress,
    wake_at = excluded.wake_at, keys = excluded.keys, created_at = excluded.created_at,
    changed_at = excluded.changed_at, rev = excluded.rev
RETURNING number;

-- name: forget_versions
DELETE FROM schedule_version WHERE schedule = ?;

-- name: put_versions
INSERT INTO schedule_version (schedule, version, at, who, definition) VALUES (?, ?, ?, ?, ?);

-- name: unlisten
DELETE FROM listening WHERE key = ? AND schedule = ?;

-- name: listen
INSERT INTO listening (key, schedule) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: runs
SELECT * FROM run WHERE number > ? ORDER BY number;

-- name: put_runs
INSERT OR REPLACE INTO run (
    number, rev, id, schedule, key, due_at, version, state, program, created_at, "group",
    priority, reason, attempt, owner, not_before, launched_at, finished_at, request, detail
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events
SELECT * FROM event WHERE seq > ? ORDER BY seq;

-- name: put_events
INSERT OR REPLACE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: payloads
SELECT name, content FROM payload WHERE name > ? ORDER BY name;

-- name: put_payloads
INSERT OR REPLACE INTO payload (name, content) VALUES (?, ?);

-- name: operations
SELECT * FROM operation WHERE number > ? ORDER BY number;

-- name: put_operations
INSERT OR REPLACE INTO operation (
    number, rev, id, kind, process, who, why, created_at, state, total, done, touched, detail,
    owner, finished_at, request
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: answers
SELECT person, key, fingerprint, owner, at, status, headers, body, rev FROM answer
WHERE (person, key) > (?, ?) ORDER BY person, key;

-- name: put_answers
INSERT OR REPLACE INTO answer (rev, person, key, fingerprint, owner, at, status, headers, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: journal
SELECT * FROM journal WHERE seq > ? ORDER BY seq;

-- name: put_journal
INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

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
