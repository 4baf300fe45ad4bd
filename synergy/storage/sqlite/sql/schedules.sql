-- name: create
INSERT INTO schedule (
    name, version, origin, is_enabled, reason, progress, wake_at, keys, created_at, changed_at, rev
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT DO NOTHING RETURNING number, name;

-- name: keep_version
INSERT INTO schedule_version (schedule, version, at, who, definition) VALUES (?, ?, ?, ?, ?);

-- name: listen
INSERT INTO listening (key, schedule) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: unlisten
DELETE FROM listening WHERE key = ? AND schedule = ?;

-- name: present
-- The values that changes are checked against, by name, from a JSON array.
SELECT name, created_at, rev, number, version, keys FROM schedule
WHERE name IN (SELECT value FROM json_each(?));

-- name: change
UPDATE schedule SET version = ?, origin = ?, is_enabled = ?, reason = ?, progress = ?,
    wake_at = ?, keys = ?, changed_at = ?, rev = rev + 1
WHERE number = ?;

-- name: remove
DELETE FROM schedule WHERE number = ?;

-- name: delete_versions
DELETE FROM schedule_version WHERE schedule = ?;

-- name: get
-- By name, from a JSON array.
SELECT schedule.*, definition FROM schedule
LEFT JOIN schedule_version ON schedule = number AND schedule_version.version = schedule.version
WHERE name IN (SELECT value FROM json_each(?));

-- name: find
SELECT schedule.*, definition FROM schedule
LEFT JOIN schedule_version ON schedule = number AND schedule_version.version = schedule.version
WHERE name > ? ORDER BY name LIMIT ?;

-- name: find_first
SELECT schedule.*, definition FROM schedule
LEFT JOIN schedule_version ON schedule = number AND schedule_version.version = schedule.version
ORDER BY name LIMIT ?;

-- name: due
SELECT schedule.*, definition FROM schedule
LEFT JOIN schedule_version ON schedule = number AND schedule_version.version = schedule.version
WHERE wake_at <= ? ORDER BY wake_at LIMIT ?;

-- name: next_wake
SELECT wake_at FROM schedule WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1;

-- name: listening
-- The schedules that listen to any key of a JSON array, each once.
SELECT schedule.*, definition FROM schedule
LEFT JOIN schedule_version ON schedule = number AND schedule_version.version = schedule.version
WHERE number IN (
    SELECT listening.schedule FROM json_each(?) AS wanted JOIN listening ON listening.key = wanted.value
);

-- name: versions
SELECT name, schedule_version.version, definition, at, who FROM schedule
LEFT JOIN schedule_version ON schedule = number
WHERE name = ? ORDER BY schedule_version.version DESC;

-- name: count
SELECT count(*) FROM schedule;
