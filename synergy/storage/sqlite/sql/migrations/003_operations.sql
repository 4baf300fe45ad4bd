-- Operations that are carried out in parts, and stored answers.

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
