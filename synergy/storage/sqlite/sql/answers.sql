-- name: begin
-- Ignores an answer whose key is taken.
INSERT INTO answer (person, key, fingerprint, owner, at, status, headers, body, rev)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT DO NOTHING RETURNING rev;

-- name: get
SELECT person, key, fingerprint, owner, at, status, headers, body, rev FROM answer
WHERE person = ? AND key = ?;

-- name: change
UPDATE answer SET fingerprint = ?, owner = ?, at = ?, status = ?, headers = ?, body = ?,
    rev = rev + 1
WHERE person = ? AND key = ? AND rev = ? RETURNING rev;

-- name: drop
DELETE FROM answer WHERE person = ? AND key = ? AND rev = ? RETURNING rev;

-- name: prune
DELETE FROM answer WHERE (person, key) IN (
    SELECT person, key FROM answer WHERE at < ? ORDER BY at LIMIT ?
);
