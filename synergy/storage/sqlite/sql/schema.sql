-- The schema of a new store, equal to the sum of all migrations.
-- Instants are whole microseconds since 1970 UTC. The codes of states and the stored forms of fields
-- are in storage/stored_fields.py, the columns of rows in sqlite/columns.py.

-- The states of 1,024 neighbouring jobs, one byte each; block = ordinal / 1024.
-- `generations` is JSON, {"ordinal": generation}, for the jobs whose generation is not 1.
CREATE TABLE job_block (
    process     TEXT NOT NULL,
    block       INTEGER NOT NULL,
    states      BLOB NOT NULL,
    generations TEXT,
    UNIQUE (process, block)
) STRICT;

-- The columns other than `number` and `superseded` are the fields of UnitOfWork, in order.
-- `superseded` is 1 if a newer unit of the same job exists, and for all units of free runs.
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
    superseded       INTEGER NOT NULL DEFAULT 0,
    first_claimed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX unit_key ON unit (process, timeperiod, generation, start_id, end_id);
-- At most one unit of a job is in progress. Free runs, whose timeperiods have 14 digits, belong to
-- no job.
CREATE UNIQUE INDEX unit_in_progress ON unit (process, timeperiod)
    WHERE state = 1 AND length(timeperiod) <> 14;
CREATE INDEX unit_process ON unit (process);
CREATE INDEX unit_state ON unit (state);
CREATE INDEX unit_created ON unit (created_at);
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
    covered    INTEGER NOT NULL DEFAULT 0,
    flags      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX journal_process ON journal (process);
CREATE INDEX journal_at ON journal (at);
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

-- For each timeperiod of a collection: the numbers of its first and of its last write, and how many
-- documents it has. Rows are never deleted, so the largest `high` is the last number assigned.
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

-- One row: the number and size of the messages in quarantine, kept by triggers, and the number of
-- those that were dropped because it was full.
CREATE TABLE quarantine (
    messages INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    dropped  INTEGER NOT NULL
) STRICT;
INSERT INTO quarantine VALUES (0, 0, 0);

CREATE TRIGGER dead_message_added AFTER INSERT ON dead_message BEGIN
    UPDATE quarantine SET messages = messages + 1,
        bytes = bytes + length(NEW.body) + length(CAST(NEW.reason AS BLOB));
END;

CREATE TRIGGER dead_message_removed AFTER DELETE ON dead_message BEGIN
    UPDATE quarantine SET messages = messages - 1,
        bytes = bytes - length(OLD.body) - length(CAST(OLD.reason AS BLOB));
END;

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

-- `progress` and `keys` are JSON. The definition is in the row of the version.
CREATE TABLE schedule (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    version    INTEGER NOT NULL,
    origin     TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    progress   BLOB NOT NULL,
    wake_at    INTEGER,
    keys       BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    rev        INTEGER NOT NULL
) STRICT;
CREATE INDEX schedule_wake ON schedule (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE schedule_version (
    schedule   INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    who        TEXT NOT NULL,
    definition BLOB NOT NULL,
    UNIQUE (schedule, version)
) STRICT;

-- The event keys of each schedule.
CREATE TABLE listening (
    key      TEXT NOT NULL,
    schedule INTEGER NOT NULL,
    PRIMARY KEY (key, schedule)
) STRICT, WITHOUT ROWID;

-- Long columns come last, so that the others are read without them.
CREATE TABLE run (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    schedule    TEXT NOT NULL,
    key         TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    program     TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    "group"     TEXT NOT NULL,
    priority    INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    owner       TEXT,
    not_before  INTEGER,
    launched_at INTEGER,
    finished_at INTEGER,
    rev         INTEGER NOT NULL,
    request     BLOB NOT NULL,
    detail      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX run_key ON run (schedule, key);
CREATE INDEX run_schedule ON run (schedule);
CREATE INDEX run_created ON run (created_at);
CREATE INDEX run_state ON run (state);
CREATE INDEX run_schedule_state ON run (schedule, state);
CREATE INDEX run_launched ON run (schedule, state, launched_at) WHERE launched_at IS NOT NULL;
CREATE INDEX run_prunable ON run (finished_at) WHERE state > 2;

-- The newest event is never deleted, so the largest `seq` is the last number assigned.
CREATE TABLE event (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    type      TEXT NOT NULL,
    resource  TEXT NOT NULL,
    timestamp INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    who       TEXT NOT NULL,
    body      BLOB NOT NULL
) STRICT;
CREATE INDEX event_at ON event (at);

CREATE TABLE payload (
    name    TEXT NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

-- An unfinished operation has no `finished_at`.
CREATE TABLE operation (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,
    process     TEXT NOT NULL,
    who         TEXT NOT NULL,
    why         TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    state       TEXT NOT NULL,
    total       INTEGER NOT NULL,
    done        INTEGER NOT NULL,
    touched     INTEGER NOT NULL,
    detail      TEXT NOT NULL,
    owner       TEXT,
    finished_at INTEGER,
    rev         INTEGER NOT NULL,
    request     BLOB NOT NULL
) STRICT;
CREATE INDEX operation_unfinished ON operation (number) WHERE finished_at IS NULL;
CREATE INDEX operation_prunable ON operation (finished_at) WHERE finished_at IS NOT NULL;

-- `status` and `body` are NULL while the request is carried out. `body` stays NULL for a response
-- that is too long to be kept.
CREATE TABLE answer (
    person      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    owner       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    status      INTEGER,
    rev         INTEGER NOT NULL,
    headers     BLOB NOT NULL,
    body        BLOB,
    UNIQUE (person, key)
) STRICT;
CREATE INDEX answer_at ON answer (at);
