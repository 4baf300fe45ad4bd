"""All contents of a store as records: plain values, the same for every engine.

A record consists of JSON values and keeps the numbers that units and operators refer to: those of
journal entries, units, writes to documents, and messages. Records of a kind are unique by their
key, and ordered by it. Leases and observed processes belong to running processes and are not
copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from synergy.storage.protocol import Key, Record

PORTION = 1_000  # records per read or write
LONG = 8 << 20  # bytes of records, as JSON, that end a portion

KINDS: Mapping[str, Mapping[str, str | int]] = {
    "facts": {"name": ""},
    "controls": {"process": ""},
    "boxes": {"id": ""},
    "assignments": {"box": "", "process": ""},
    "job_blocks": {"process": "", "block": -1},
    "units": {"number": 0},
    "unit_logs": {"unit": "", "attempt": 0},
    "schedules": {"name": ""},
    "runs": {"number": 0},
    "events": {"seq": 0},
    "payloads": {"name": ""},
    "operations": {"number": 0},
    "answers": {"person": "", "key": ""},
    "journal": {"seq": 0},
    "marks": {"collection": "", "timeperiod": ""},
    "documents": {"collection": "", "timeperiod": "", "key": ""},
    "messages": {"queue": "", "seq": 0},
    "dead_messages": {"seq": 0},
    "numbers": {"name": ""},
}
"""The kinds in the order of writing, with the fields of their keys and, for each field, a value
before all others.

A record of `unit_logs` holds all lines of an attempt, a record of `schedules` all versions; `marks`
are the bounds of timeperiods. `numbers` are the last numbers of journal entries and dead messages:
they are records of their own, because the rows that had them may be deleted."""


def beginning(kind: str) -> Key:
    """The key that is lower than all keys of a kind."""
    return tuple(KINDS[kind].values())


def key_of(kind: str, record: Record) -> Key:
    """The key of a record, by which it is unique and ordered."""
    return tuple(record[field] for field in KINDS[kind])


def line(record: Record) -> bytes:
    """A record as bytes, equal for equal records, for checksums."""
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def portion(records: Iterable[Record]) -> list[Record]:
    """The next records, limited in number and in total size; empty after the last."""
    found: list[Record] = []
    size = 0
    for record in records:
        found.append(record)
        size += len(line(record))
        if len(found) >= PORTION or size >= LONG:
            break
    return found
