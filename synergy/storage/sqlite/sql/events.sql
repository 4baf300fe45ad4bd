-- name: append
-- Ignores an event whose id exists.
INSERT INTO event (id, type, resource, timestamp, at, who, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING seq, id;

-- name: known
-- By id, from a JSON array.
SELECT event.* FROM json_each(?) AS wanted JOIN event ON event.id = wanted.value;

-- name: since
SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: between
-- The lowest number of a range of time, and the number after its highest, from the index alone.
-- Times rise with numbers, but not exactly.
SELECT min(seq), max(seq) + 1 FROM event INDEXED BY event_at
WHERE at >= :begin AND at < :end;

-- name: find
SELECT * FROM event WHERE seq >= :low AND seq < min(:cursor, :high)
    AND +at >= :begin AND +at < :end ORDER BY seq DESC LIMIT :limit;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM event;

-- name: prune
-- Deletes in the order of numbers, up to the first row that is kept, so that the rest has no gaps.
-- Times rise with numbers, but not exactly.
WITH oldest AS (SELECT seq, at FROM event ORDER BY seq LIMIT :limit)
DELETE FROM event
WHERE seq IN (SELECT seq FROM oldest)
    AND seq < ifnull((SELECT min(seq) FROM oldest WHERE at >= :before), 1 << 62)
    AND seq < (SELECT max(seq) FROM event);
