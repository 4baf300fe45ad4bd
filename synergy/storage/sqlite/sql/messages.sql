-- name: last
SELECT coalesce(max(seq), 0) FROM message WHERE queue = ?;

-- name: put
INSERT INTO message (queue, seq, body) VALUES (?, ?, ?);

-- name: oldest
SELECT seq, queue, body FROM message WHERE queue = ? ORDER BY seq LIMIT ?;

-- name: take
-- Deletes the messages that the same transaction has read.
DELETE FROM message WHERE queue = ? AND seq <= ?;

-- name: depths
SELECT queue, count(*) FROM message GROUP BY queue;

-- name: purge
DELETE FROM message WHERE queue = ?;

-- name: bury
INSERT INTO dead_message (queue, body, reason, at) VALUES (?, ?, ?, ?);

-- name: buried
SELECT seq, queue, body, reason, at FROM dead_message
WHERE seq < coalesce(?1, 0x7fffffffffffffff)
ORDER BY seq DESC LIMIT ?2;

-- name: quarantine
SELECT messages, bytes, dropped FROM quarantine;

-- name: sizes
SELECT seq, length(body) + length(CAST(reason AS BLOB)) FROM dead_message ORDER BY seq;

-- name: count_dropped
UPDATE quarantine SET dropped = dropped + ?;

-- name: quarantined
DELETE FROM dead_message RETURNING seq, queue, body;

-- name: some_quarantined
-- The messages whose numbers are in a JSON array.
DELETE FROM dead_message WHERE seq IN (SELECT value FROM json_each(?)) RETURNING seq, queue, body;

-- name: purge_buried
DELETE FROM dead_message;

-- name: purge_some
-- The messages whose numbers are in a JSON array.
DELETE FROM dead_message WHERE seq IN (SELECT value FROM json_each(?));
