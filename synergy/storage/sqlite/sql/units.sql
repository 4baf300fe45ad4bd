-- name: create
-- Ignores a unit whose key or id exists. A free run is superseded from its creation: it belongs
-- to no job whose newest unit has to be kept.
INSERT INTO unit (
    id, process, timeperiod, generation, start_timeperiod, end_timeperiod, start_id, end_id,
    created_at, state, attempt, failures, not_before, published_at, owner, heartbeat,
    started_at, finished_at, counts, reason, first_claimed_at, superseded
) VALUES (
    ?1, ?2, ?3, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, length(?3) = 14
)
ON CONFLICT DO NOTHING
RETURNING number, id, process, timeperiod;

-- name: supersede
-- Marks the older units of a job. SQLite looks them up by job: the + keeps it from a search by
-- number, which would read all older units of the store.
UPDATE unit SET superseded = 1
WHERE process = :process AND timeperiod = :timeperiod AND +number < :number AND superseded = 0;

-- name: twin
-- The unit with this key; if its bound was extended since, the unit with this id.
SELECT * FROM unit
WHERE id = ?1 OR (process = ?2 AND timeperiod = ?3 AND generation = ?4 AND start_id = ?5 AND end_id = ?6)
ORDER BY id = ?1 LIMIT 1;

-- name: get
-- Units by id, from a JSON array.
SELECT unit.* FROM json_each(?) AS wanted JOIN unit ON unit.id = wanted.value;

-- name: of_jobs
SELECT * FROM unit WHERE process = ? AND timeperiod BETWEEN ? AND ?
ORDER BY number DESC;

-- name: newest
-- Finds the newest units in the index alone, and reads only their rows.
SELECT * FROM unit WHERE number IN (
    SELECT number FROM unit INDEXED BY unit_key WHERE process = ? AND timeperiod = ?
    ORDER BY number DESC LIMIT ?
)
ORDER BY number DESC;

-- name: between
-- The lowest number of a range of time, and the number after its highest, from the index alone.
-- Times rise with numbers, but not exactly.
SELECT min(number), max(number) + 1 FROM unit INDEXED BY unit_created
WHERE created_at >= :begin AND created_at < :end;

-- name: find
SELECT * FROM unit WHERE number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end ORDER BY number DESC LIMIT :limit;

-- name: find_in_process
SELECT * FROM unit WHERE process = :process AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: find_in_state
SELECT * FROM unit WHERE state = :state AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: find_unfinished_in_process
-- Looks units up by state, because few are unfinished.
SELECT * FROM unit WHERE state = :state AND +process = :process AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: find_finished_in_process
SELECT * FROM unit WHERE process = :process AND +state = :state AND number >= :low AND number < min(:cursor, :high)
    AND +created_at >= :begin AND +created_at < :end
ORDER BY number DESC LIMIT :limit;

-- name: unfinished
SELECT * FROM unit WHERE state < 3 ORDER BY +number;

-- name: counts
SELECT process, state, count(*) FROM unit INDEXED BY unit_state WHERE state < 3
GROUP BY process, state;

-- name: requested
SELECT DISTINCT process FROM unit INDEXED BY unit_state WHERE state = 0;

-- name: claim
-- Claims a requested unit of this attempt if it is due. The index unit_in_progress prevents that
-- while another unit of its job is in progress; it does not contain free runs.
UPDATE OR IGNORE unit SET state = 1, owner = ?1, heartbeat = 0, started_at = ?2,
    first_claimed_at = coalesce(first_claimed_at, ?2)
WHERE id = ?3 AND attempt = ?4 AND state = 0 AND (not_before IS NULL OR not_before <= ?2)
RETURNING *;

-- name: heartbeat
UPDATE unit SET heartbeat = heartbeat + 1
WHERE id = ? AND attempt = ? AND owner = ? AND state = 1
RETURNING id, attempt;

-- name: give_back
-- A unit whose first claim is given back counts as never claimed.
UPDATE unit SET state = 0, attempt = attempt + 1, owner = NULL, heartbeat = 0,
    first_claimed_at = iif(first_claimed_at = started_at, NULL, first_claimed_at),
    started_at = NULL, published_at = NULL, not_before = NULL
WHERE id = ? AND attempt = ? AND owner = ? AND state = 1
RETURNING *;

-- name: conclude
-- Ends an attempt that its owner still holds; state 2 (invalid) adds a failure.
UPDATE unit SET state = ?1, failures = failures + (?1 = 2), not_before = ?2,
    finished_at = iif(?1 > 2, ?3, NULL), counts = ?4, reason = ?5
WHERE id = ?6 AND attempt = ?7 AND owner = ?8 AND state = 1
RETURNING process, timeperiod, generation;

-- name: move
-- A unit that is requested again counts as not published. The reason is kept until the next
-- failure or the end.
UPDATE OR IGNORE unit SET
    state = :after,
    attempt = attempt + :next_attempt,
    failures = iif(:forgive, 0, failures + :failed),
    first_claimed_at = iif(:forgive, NULL, first_claimed_at),
    not_before = :not_before,
    owner = iif(:next_attempt OR :after = 0, NULL, owner),
    heartbeat = iif(:next_attempt OR :after = 0, 0, heartbeat),
    started_at = iif(:after = 0, NULL, started_at),
    published_at = iif(:after = 0, NULL, published_at),
    finished_at = iif(:after > 2, :now, NULL),
    reason = iif(:failed OR :after > 2, :why, reason)
WHERE id = :id AND state = :before AND attempt = :attempt
    AND (:heartbeat IS NULL OR heartbeat = :heartbeat)
RETURNING process, timeperiod, generation, attempt;

-- name: extend
UPDATE OR IGNORE unit SET end_id = ?
WHERE id = ? AND attempt = ? AND state IN (0, 2) AND end_id <= ?1
RETURNING process, timeperiod, generation, state;

-- name: published
UPDATE unit SET published_at = ? WHERE id = ? AND attempt = ?;

-- name: prunable
SELECT number, id FROM unit WHERE superseded = 1 AND finished_at < ?
ORDER BY finished_at LIMIT ?;

-- name: delete
DELETE FROM unit WHERE number = ?;

-- name: delete_log
DELETE FROM unit_log WHERE unit = ?;
