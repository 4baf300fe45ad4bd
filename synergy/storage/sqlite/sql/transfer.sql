-- name: count_unit_logs
SELECT count(*) FROM (SELECT DISTINCT unit, attempt FROM unit_log);

-- name: count_numbers
SELECT count(*) FROM sqlite_sequence WHERE seq > 0;

-- name: unit_logs
-- One row per line; an attempt may have any number of lines.
SELECT unit, attempt, at, level, text FROM unit_log
WHERE (unit, attempt) > (?, ?) ORDER BY unit, attempt, number;

-- name: delete_unit_logs
DELETE FROM unit_log WHERE unit = ? AND attempt = ?;

-- name: put_unit_logs
INSERT INTO unit_log (unit, attempt, at, level, text) VALUES (?, ?, ?, ?, ?);

-- name: schedules
-- One row per version; a schedule may have any number of versions.
SELECT schedule.*, schedule_version.version, at, who, definition FROM schedule
JOIN schedule_version ON schedule = number
WHERE name > ? ORDER BY name, schedule_version.version;

-- name: present_schedules
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

-- name: delete_versions
DELETE FROM schedule_version WHERE schedule = ?;

-- name: put_versions
INSERT INTO schedule_version (schedule, version, at, who, definition) VALUES (?, ?, ?, ?, ?);

-- name: listen
INSERT INTO listening (key, schedule) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: unlisten
DELETE FROM listening WHERE key = ? AND schedule = ?;

-- name: put_documents
-- Gives each document the newest number of its timeperiod; the numbers of single documents are not
-- read anywhere.
INSERT OR REPLACE INTO document (collection, timeperiod, key, body, seq) VALUES (
    ?1, ?2, ?3, ?4, (SELECT high FROM mark WHERE collection = ?1 AND timeperiod = ?2)
);

-- name: put_dead_messages
-- Does not replace rows: a replaced row would be counted twice.
INSERT INTO dead_message (seq, queue, body, reason, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: numbers
-- The last numbers of tables whose rows may all be deleted.
SELECT name, seq FROM sqlite_sequence WHERE name > ? AND seq > 0 ORDER BY name;

-- name: delete_numbers
DELETE FROM sqlite_sequence WHERE name = ?;
