-- name: all
SELECT process, is_on, trigger_frequency FROM control;

-- name: get
SELECT is_on, trigger_frequency FROM control WHERE process = ?;

-- name: set_on
INSERT INTO control (process, is_on) VALUES (?, ?)
ON CONFLICT DO UPDATE SET is_on = excluded.is_on;

-- name: set_trigger
INSERT INTO control (process, trigger_frequency) VALUES (?, ?)
ON CONFLICT DO UPDATE SET trigger_frequency = excluded.trigger_frequency;
