-- name: accept
-- Ignores an operation whose id exists.
INSERT INTO operation (
    id, kind, process, who, why, created_at, state, total, done, touched, detail, owner,
    finished_at, rev, request
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
ON CONFLICT DO NOTHING RETURNING id;

-- name: present
SELECT state FROM operation WHERE id = ? AND rev = ?;

-- name: change
UPDATE operation SET state = ?, total = ?, done = ?, touched = ?, detail = ?,
    owner = ?, finished_at = ?, rev = rev + 1
WHERE id = ?;

-- name: get
SELECT * FROM operation WHERE id = ?;

-- name: find
SELECT * FROM operation WHERE number < :cursor ORDER BY number DESC LIMIT :limit;

-- name: unfinished
SELECT * FROM operation WHERE finished_at IS NULL ORDER BY number;

-- name: prune
DELETE FROM operation WHERE number IN (
    SELECT number FROM operation WHERE finished_at < ? ORDER BY finished_at LIMIT ?
);
