-- name: know
-- Adds a box, at its first assignment.
INSERT INTO box (id, seen_at) VALUES (?, NULL) ON CONFLICT DO NOTHING;

-- name: seen
INSERT INTO box (id, seen_at) VALUES (?, ?) ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at;

-- name: assign
INSERT INTO assignment (box, process, is_on) VALUES (?, ?, 1) ON CONFLICT DO NOTHING
RETURNING process;

-- name: assignments
SELECT box, process, is_on FROM assignment WHERE :box IS NULL OR box = :box ORDER BY box, process;

-- name: is_on
SELECT is_on FROM assignment WHERE box = ? AND process = ?;

-- name: switch
UPDATE assignment SET is_on = ? WHERE box = ? AND process = ?;

-- name: delete_observed
DELETE FROM observed WHERE box = ?;

-- name: observe
INSERT INTO observed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: observed
SELECT * FROM observed WHERE :box IS NULL OR box = :box ORDER BY box, process, instance;

-- name: all
SELECT id, seen_at FROM box ORDER BY id;
