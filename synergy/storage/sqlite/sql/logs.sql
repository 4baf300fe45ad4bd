-- name: append
INSERT INTO unit_log (unit, at, attempt, level, text) VALUES (?, ?, ?, ?, ?);

-- name: of_unit
-- A limit of -1 means all.
SELECT at, attempt, level, text FROM unit_log WHERE unit = ? ORDER BY number LIMIT ? OFFSET ?;

-- name: count
SELECT count(*) FROM unit_log WHERE unit = ?;
