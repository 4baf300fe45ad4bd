"""Rows that have no type of their own in the model, as they are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from synergy.model.job import HIGHEST, JobState
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import Noun
from synergy.storage.blocks import BLOCK
from synergy.storage.codec import BYTES, Codec, Form, Kind, mapping
from synergy.storage.collection_rows import decoded
from synergy.storage.malformed import wrong

_WORDS = {state.word for state in JobState}


class BlockRow(NamedTuple):
    """A block of jobs."""

    process: str
    block: int
    states: bytes
    generations: dict[int, int]


class MarkRow(NamedTuple):
    """The bounds of a timeperiod of a collection."""

    collection: str
    timeperiod: str
    low: int
    high: int
    rows: int


class DocumentRow(NamedTuple):
    """A document of a collection."""

    collection: str
    timeperiod: str
    key: str
    seq: int
    body: dict[str, Any]


class MessageRow(NamedTuple):
    """A waiting message."""

    queue: str
    seq: int
    body: bytes


class PayloadRow(NamedTuple):
    """A body that is too long for a row."""

    name: str
    content: bytes


class FactRow(NamedTuple):
    """A named string."""

    name: str
    value: str


def states_of(stored: object) -> bytes:
    """The states of a block; raises ValueError if they are not those of 1,024 jobs."""
    if not isinstance(stored, bytes) or len(stored) != BLOCK or stored.translate(None, _SOUND):
        raise wrong(stored)
    return stored


def _by_job(stored: str) -> dict[int, int]:
    return _checked((int(job), number) for job, number in mapping(stored).items())


def _listed_by_job(stored: Iterable[Mapping[str, int]]) -> dict[int, int]:
    return _checked((one["job"], one["generation"]) for one in stored)


def _checked(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    found = dict(pairs)
    if not all(isinstance(number, int) for pair in found.items() for number in pair):
        raise wrong(found)
    return found


def body_of(stored: bytes | str) -> dict[str, Any]:
    """The content of a document; raises ValueError if it is no mapping."""
    found = decoded(stored)
    if type(found) is not dict:
        raise wrong(stored)
    return found


def checked_entry(entry: JournalEntry) -> JournalEntry:
    """The entry; raises ValueError for the move of a job to or from an unknown state."""
    if entry.noun == Noun.JOB and not _WORDS.issuperset((entry.before, entry.after)):
        raise ValueError(f"no states of a job: {entry.before!r}, {entry.after!r}")
    return entry


_SOUND = bytes(range(HIGHEST + 1))
_STATES = Form(take=states_of)
_BODY = Form(take=body_of)
_GENERATIONS = Kind(Form(take=_by_job, missing=dict), Form(take=_listed_by_job))

BLOCK_ROW = Codec(
    BlockRow, "job_blocks process block", states=Kind(_STATES, _STATES), generations=_GENERATIONS
)
MARK_ROW = Codec(MarkRow, "marks collection timeperiod")
DOCUMENT_ROW = Codec(DocumentRow, "documents collection timeperiod key", body=Kind(_BODY, _BODY))
MESSAGE_ROW = Codec(MessageRow, "messages queue seq", body=BYTES)
PAYLOAD_ROW = Codec(PayloadRow, "payloads name", content=BYTES)
FACT_ROW = Codec(FactRow, "facts name")
