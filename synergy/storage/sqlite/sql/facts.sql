-- name: get
SELECT value FROM fact WHERE name = ?;

-- name: set
INSERT INTO fact (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value;

-- name: set_default
INSERT INTO fact (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING;
