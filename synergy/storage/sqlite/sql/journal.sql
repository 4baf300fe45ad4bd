-- name: append
INSERT INTO journal (
    at, event, process, first, last, before, after, generation, why, who, unit, attempt, covered,
    flags
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: since
SELECT * FROM journal WHERE seq > :seq AND (:besides = '' OR who <> :besides)
ORDER BY seq LIMIT :limit;

-- name: between
-- The lowest number of a range of time, and the number after its highest, from the index alone.
-- Times rise with numbers, but not exactly.
SELECT min(seq), max(seq) + 1 FROM journal INDEXED BY journal_at
WHERE at >= :begin AND at < :end;

-- name: of_job
-- Entries that begin with the job; ranges that begin earlier in the same month; and ranges that
-- cross the end of a month.
SELECT * FROM journal INDEXED BY journal_job
WHERE process = :process AND first = :timeperiod AND seq >= :low AND seq < min(:before, :high)
    AND +at >= :begin AND +at < :end
UNION ALL
SELECT * FROM journal INDEXED BY journal_range
WHERE process = :process AND first < last
    AND first >= substr(:timeperiod, 1, 6) AND first < :timeperiod AND last >= :timeperiod
    AND seq >= :low AND seq < min(:before, :high)
    AND +at >= :begin AND +at < :end
UNION ALL
SELECT * FROM journal INDEXED BY journal_long_range
WHERE process = :process AND substr(first, 1, 6) < substr(last, 1, 6)
    AND first < substr(:timeperiod, 1, 6) AND last >= :timeperiod
    AND seq >= :low AND seq < min(:before, :high)
    AND +at >= :begin AND +at < :end
ORDER BY seq DESC LIMIT :limit;

-- name: newest
SELECT * FROM journal WHERE seq >= :low AND seq < min(:before, :high)
    AND +at >= :begin AND +at < :end ORDER BY seq DESC LIMIT :limit;

-- name: newest_of_process
SELECT * FROM journal WHERE process = :process AND seq >= :low AND seq < min(:before, :high)
    AND +at >= :begin AND +at < :end
ORDER BY seq DESC LIMIT :limit;

-- name: last_seq
-- Remains correct after the newest entries were deleted.
SELECT seq FROM sqlite_sequence WHERE name = 'journal';

-- name: prune
-- Deletes in the order of numbers, up to the first row that is kept, so that the rest has no gaps.
-- Times rise with numbers, but not exactly.
WITH oldest AS (SELECT seq, at FROM journal ORDER BY seq LIMIT :limit)
DELETE FROM journal
WHERE seq IN (SELECT seq FROM oldest)
    AND seq < ifnull((SELECT min(seq) FROM oldest WHERE at >= :before), 1 << 62);
