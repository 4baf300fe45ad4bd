-- name: create
-- Ignores a run whose key or id exists.
INSERT INTO run (
    id, schedule, key, due_at, version, state, program, created_at, "group", priority, reason,
    attempt, owner, not_before, launched_at, finished_at, rev, request, detail
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
ON CONFLICT DO NOTHING RETURNING id;

-- name: twin
SELECT * FROM run WHERE schedule = ?2 AND key = ?3
UNION ALL SELECT * FROM run WHERE id = ?1 LIMIT 1;

-- name: present
-- The values that changes are checked against, by id, from a JSON array.
SELECT run.id, number, rev, state FROM json_each(?) AS wanted JOIN run ON run.id = wanted.value;

-- name: change
UPDATE run SET version = ?, state = ?, program = ?, "group" = ?, priority = ?, reason = ?,
    attempt = ?, owner = ?, not_before = ?, launched_at = ?, finished_at = ?, request = ?,
    detail = ?, rev = rev + 1
WHERE number = ?;

-- name: get
-- By id, from a JSON array.
SELECT run.* FROM json_each(?) AS wanted JOIN run ON run.id = wanted.value;

-- name: between
-- The lowest number of a range of time, and the number after its highest, from the index alone.
-- Times rise with numbers, but not exactly.
SELECT min(number), max(number) + 1 FROM run INDEXED BY run_created
WHERE created_at >= :begin AND created_at < :end;

-- name: find
SELECT * FROM run WHERE number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end ORDER BY number DESC LIMIT :limit;

-- name: find_of_schedule
SELECT * FROM run WHERE schedule = :schedule AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: find_in_state
SELECT * FROM run WHERE state = :state AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end ORDER BY number DESC LIMIT :limit;

-- name: find_of_schedule_in_state
SELECT * FROM run INDEXED BY run_schedule_state WHERE schedule = :schedule AND state = :state
    AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: unfinished
SELECT * FROM run WHERE state < 3 ORDER BY +number;

-- name: last
SELECT * FROM run WHERE schedule = ? AND state = ? AND launched_at IS NOT NULL
ORDER BY launched_at DESC, number DESC LIMIT 1;

-- name: prune
DELETE FROM run WHERE number IN (
    SELECT number FROM run WHERE state > 2 AND finished_at < ? ORDER BY finished_at LIMIT ?
);
