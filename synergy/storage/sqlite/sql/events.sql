-- name: append
-- Nothing for an event whose id is there already.
INSERT INTO event (id, type, resource, timestamp, at, who, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING RETURNING seq, id;

-- name: known
-- By id, from a JSON array.
SELECT event.* FROM json_each(?) AS wanted JOIN event ON event.id = wanted.value;

-- name: since
SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: find
SELECT * FROM event WHERE seq < ? ORDER BY seq DESC LIMIT ?;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM event;

-- name: prune
-- Looks only at the oldest events: times rise with numbers, all but exactly.
DELETE FROM event
WHERE seq IN (SELECT seq FROM event ORDER BY seq LIMIT :limit) AND at < :before
    AND seq < (SELECT max(seq) FROM event);
