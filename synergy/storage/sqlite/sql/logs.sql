-- name: append
INSERT INTO unit_log (unit, at, attempt, level, text) VALUES (?, ?, ?, ?, ?);

-- name: of_unit
SELECT at, attempt, level, text FROM unit_log WHERE unit = ? ORDER BY number;
