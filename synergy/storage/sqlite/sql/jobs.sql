-- name: load
-- All blocks in order, of all processes.
SELECT process, block, states, generations FROM job_block ORDER BY process, block;

-- name: load_some
-- The blocks of some processes, named in a JSON array.
SELECT process, block, states, generations FROM job_block
WHERE process IN (SELECT value FROM json_each(?)) ORDER BY process, block;

-- name: block
SELECT states, generations FROM job_block WHERE process = ? AND block = ?;

-- name: save
INSERT INTO job_block (process, block, states, generations) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET states = excluded.states, generations = excluded.generations;
