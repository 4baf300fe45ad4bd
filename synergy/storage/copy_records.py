"""Everything in a store as records: plain values, the same whatever engine they come from.

A record is what JSON can hold, and has all numbers that units and people refer to: of journal
entries, of units, of writes to documents, of messages. Records of a kind are unique by their
key, and ordered by it. What belongs to running processes, leases and observed processes, is no
record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from synergy.storage.protocol import Key, Record

PORTION = 1_000  # records that are read or written at a time
LONG = 8 << 20  # bytes of records, as JSON, that are enough for one portion

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
"""The kinds, in the order in which they are written; the fields of the key of each, and what
lies before every key.

A `unit_logs` record holds all lines of an attempt, and one of `schedules` all versions; `marks`
are the bounds of timeperiods, and `numbers` the last ones given to journal entries and dead
messages, which may be gone."""


def beginning(kind: str) -> Key:
    """The key before all keys of a kind."""
    return tuple(KINDS[kind].values())


def key_of(kind: str, record: Record) -> Key:
    """The key that a record is unique and ordered by."""
    return tuple(record[field] for field in KINDS[kind])


def line(record: Record) -> bytes:
    """A record as bytes, equal for equal records; checksums are made of them."""
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def portion(records: Iterable[Record]) -> list[Record]:
    """The next of the records: not too many, nor too long together; none if there are none."""
    found: list[Record] = []
    size = 0
    for record in records:
        found.append(record)
        size += len(line(record))
        if len(found) >= PORTION or size >= LONG:
            break
    return found
