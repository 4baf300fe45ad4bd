-- name: put
INSERT INTO payload (name, content) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: get
SELECT content FROM payload WHERE name = ?;

-- name: prune
-- Deletes all bodies but those named in a JSON array.
DELETE FROM payload WHERE name NOT IN (SELECT value FROM json_each(?));
