-- name: read
SELECT name, holder, epoch, seq, released FROM lease WHERE name = ?;

-- name: all
SELECT name, holder, epoch, seq, released FROM lease
WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name;

-- name: take_first
INSERT INTO lease (name, holder, epoch, seq, released) VALUES (?, ?, 1, 0, 0)
ON CONFLICT DO NOTHING RETURNING name, holder, epoch, seq, released;

-- name: take_over
UPDATE lease SET holder = ?, epoch = epoch + 1, seq = 0, released = 0
WHERE name = ? AND holder = ? AND epoch = ? AND seq = ? AND released = ?
RETURNING name, holder, epoch, seq, released;

-- name: renew
UPDATE lease SET seq = seq + 1
WHERE name = ? AND holder = ? AND epoch = ? AND seq = ? AND released = 0
RETURNING name, holder, epoch, seq, released;

-- name: release
UPDATE lease SET released = 1 WHERE name = ? AND holder = ? AND epoch = ? RETURNING name;
