-- The first schema.

-- The states of 1,024 neighbouring jobs, one byte each; block = ordinal / 1024.
-- `generations` is JSON, {"ordinal": generation}, of those that are not in generation 1.
CREATE TABLE job_block (
    process     TEXT NOT NULL,
    block       INTEGER NOT NULL,
    states      BLOB NOT NULL,
    generations TEXT,
    UNIQUE (process, block)
) STRICT;

-- Between `number` and `superseded` the columns are the fields of UnitOfWork, in order.
-- `superseded` says that a newer unit of the same job exists.
CREATE TABLE unit (
    number           INTEGER PRIMARY KEY,
    id               TEXT NOT NULL UNIQUE,
    process          TEXT NOT NULL,
    timeperiod       TEXT NOT NULL,
    generation       INTEGER NOT NULL,
    start_timeperiod TEXT NOT NULL,
    end_timeperiod   TEXT NOT NULL,
    start_id         INTEGER NOT NULL,
    end_id           INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    state            INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    failures         INTEGER NOT NULL,
    not_before       INTEGER,
    published_at     INTEGER,
    owner            TEXT,
    heartbeat        INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    counts           TEXT,
    reason           TEXT NOT NULL,
    superseded       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX unit_key ON unit (process, timeperiod, generation, start_id, end_id);
-- At most one unit of a job is in progress.
CREATE UNIQUE INDEX unit_in_progress ON unit (process, timeperiod) WHERE state = 1;
CREATE INDEX unit_process ON unit (process);
CREATE INDEX unit_state ON unit (state);
CREATE INDEX unit_prunable ON unit (finished_at) WHERE superseded = 1;

CREATE TABLE unit_log (
    number  INTEGER PRIMARY KEY,
    unit    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    level   TEXT NOT NULL,
    text    TEXT NOT NULL
) STRICT;
CREATE INDEX unit_log_unit ON unit_log (unit);

CREATE TABLE journal (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    event      TEXT NOT NULL,
    process    TEXT NOT NULL,
    first      TEXT NOT NULL,
    last       TEXT NOT NULL,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    generation INTEGER NOT NULL,
    why        TEXT NOT NULL,
    who        TEXT NOT NULL,
    unit       TEXT,
    attempt    INTEGER NOT NULL,
    covered    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX journal_process ON journal (process);
CREATE INDEX journal_job ON journal (process, first);
-- Entries of several jobs: a range within a calendar month is looked up within that month; ranges
-- that cross the end of a month are few and have their own index.
CREATE INDEX journal_range ON journal (process, first, last) WHERE first < last;
CREATE INDEX journal_long_range ON journal (process, first, last)
    WHERE substr(first, 1, 6) < substr(last, 1, 6);

CREATE TABLE document (
    collection TEXT NOT NULL,
    timeperiod TEXT NOT NULL,
    key        TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    body       BLOB NOT NULL,
    PRIMARY KEY (collection, timeperiod, key)
) STRICT, WITHOUT ROWID;

-- The bounds of each timeperiod that was ever written to. Rows are never deleted, so that the
-- highest number is the last one given.
CREATE TABLE mark (
    collection TEXT NOT NULL,
    timeperiod TEXT NOT NULL,
    low        INTEGER NOT NULL,
    high       INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    PRIMARY KEY (collection, timeperiod)
) STRICT, WITHOUT ROWID;
CREATE INDEX mark_high ON mark (high);

CREATE TABLE message (
    queue TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (queue, seq)
) STRICT, WITHOUT ROWID;

-- Numbers are never reused, because operators name messages by number long after listing them.
CREATE TABLE dead_message (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    queue  TEXT NOT NULL,
    body   BLOB NOT NULL,
    reason TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE control (
    process           TEXT PRIMARY KEY,
    is_on             INTEGER,
    trigger_frequency TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    epoch    INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    released INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE box (
    id      TEXT PRIMARY KEY,
    seen_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE assignment (
    box     TEXT NOT NULL,
    process TEXT NOT NULL,
    is_on   INTEGER NOT NULL,
    PRIMARY KEY (box, process)
) STRICT, WITHOUT ROWID;

-- The columns are the fields of ObservedProcess, in order.
CREATE TABLE observed (
    box      TEXT NOT NULL,
    process  TEXT NOT NULL,
    instance INTEGER NOT NULL,
    state    TEXT NOT NULL,
    marker   TEXT NOT NULL,
    pid      INTEGER,
    started  INTEGER NOT NULL,
    boot_id  TEXT NOT NULL,
    since    INTEGER,
    restarts INTEGER NOT NULL,
    PRIMARY KEY (box, process, instance)
) STRICT, WITHOUT ROWID;

CREATE TABLE fact (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
