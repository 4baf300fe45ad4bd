-- Schedules, their runs, events and payloads; free runs belong to no job.

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

CREATE TABLE listening (
    key      TEXT NOT NULL,
    schedule INTEGER NOT NULL,
    PRIMARY KEY (key, schedule)
) STRICT, WITHOUT ROWID;

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
CREATE INDEX run_state ON run (state);
CREATE INDEX run_schedule_state ON run (schedule, state);
CREATE INDEX run_launched ON run (schedule, state, launched_at) WHERE launched_at IS NOT NULL;
CREATE INDEX run_prunable ON run (finished_at) WHERE state > 2;

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

CREATE TABLE payload (
    name    TEXT NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

DROP INDEX unit_in_progress;
CREATE UNIQUE INDEX unit_in_progress ON unit (process, timeperiod)
    WHERE state = 1 AND length(timeperiod) <> 14;
