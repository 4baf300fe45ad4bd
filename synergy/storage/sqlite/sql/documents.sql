-- name: page
-- Bodies in order, from the given timeperiod and key on.
SELECT timeperiod, key, body FROM document
WHERE collection = ? AND (timeperiod, key) >= (?, ?) AND timeperiod < ?
ORDER BY timeperiod, key LIMIT ?;

-- name: body
SELECT body FROM document WHERE collection = ? AND timeperiod = ? AND key = ?;

-- name: bodies
-- All documents of a range, to be compared with the new ones.
SELECT timeperiod, key, body FROM document
WHERE collection = ? AND timeperiod >= ? AND timeperiod < ?;

-- name: save
INSERT INTO document (collection, timeperiod, key, seq, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET seq = excluded.seq, body = excluded.body;

-- name: remove
DELETE FROM document WHERE collection = ? AND timeperiod = ? AND key = ?;

-- name: last_number
SELECT coalesce(max(high), 0) FROM mark;

-- name: mark
INSERT INTO mark (collection, timeperiod, low, high, rows) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET high = excluded.high, rows = rows + excluded.rows;

-- name: bounds
SELECT min(low), max(high), sum(rows) FROM mark
WHERE collection = ? AND timeperiod >= ? AND timeperiod < ?;

-- name: bounds_by_timeperiod
SELECT timeperiod, low, high, rows FROM mark
WHERE collection = ? AND timeperiod >= ? AND timeperiod < ? ORDER BY timeperiod;

-- name: changed_since
SELECT collection, timeperiod, high FROM mark WHERE high > ? ORDER BY high LIMIT ?;

-- name: collections
SELECT collection, sum(rows) FROM mark GROUP BY collection;
