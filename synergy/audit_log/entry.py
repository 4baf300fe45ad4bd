"""A line of the audit log. Its hash covers the hash of the line before: the lines form a chain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from synergy.runtime.masking import mask

START: Final = "0" * 64
"""`previous` of the first line."""
LONGEST: Final = 200  # characters of a text
MOST: Final = 16  # texts of an object
_HASH: Final = b',"hash":"'

BEGUN, DONE, REFUSED, FAILED = "begun", "done", "refused", "failed"
"""Results. An act whose only line is the one with which it began may or may not have been done."""


@dataclass(frozen=True, slots=True)
class Act:
    """An action and its author.

    `via` says how `who` was recognized, `source` is an address or a terminal. `action` is a command
    (`process off`) or a route (`POST /api/v1/jobs/skip`), and `object` names what it acts on. In
    entries secrets are masked, long texts cut, and at most `MOST` texts of `object` are kept.
    """

    who: str
    via: str
    source: str
    action: str
    object: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: an act and its result; `of` is the number of the line with which the act began."""

    seq: int
    at: str
    who: str
    via: str
    source: str
    action: str
    object: dict[str, str]
    result: str
    detail: str
    of: int | None
    previous: str
    hash: str = ""

    @property
    def line(self) -> bytes:
        """The line, which ends with the hash of everything before the hash."""
        return b"".join((self._text, _HASH, self.hash.encode(), b'"}\n'))

    @property
    def _text(self) -> bytes:
        facts = asdict(self)
        del facts["hash"]
        return json.dumps(facts, separators=(",", ":")).encode()[:-1]

    def hashed(self) -> Entry:
        """The same entry with its hash."""
        return Entry(**{**asdict(self), "hash": sha256(self._text).hexdigest()})


def follow(
    last: Entry | None,
    now: datetime,
    act: Act,
    result: str,
    detail: str = "",
    of: int | None = None,
) -> Entry:
    """The entry after `last`, or the first entry if that is None."""
    return Entry(
        seq=1 if last is None else last.seq + 1,
        at=now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        who=_cut(act.who),
        via=_cut(act.via),
        source=_cut(act.source),
        action=_cut(act.action),
        object={_cut(key): _cut(text) for key, text in list(act.object.items())[:MOST]},
        result=result,
        detail=_cut(detail),
        of=of,
        previous=START if last is None else last.hash,
    ).hashed()


def decode(line: bytes) -> Entry:
    """The entry of a line; raises ValueError unless the hash fits and `Entry.line` is the same.

    A line in another form is refused: with a field twice, for example, other programs might show
    the other value.
    """
    text, _, rest = line.rpartition(_HASH)
    if not line.endswith(b'"}\n') or rest != b'%s"}\n' % sha256(text).hexdigest().encode():
        raise ValueError("the hash of the line is not that of its text")
    try:
        entry = Entry(**json.loads(line))
        if _has_types(entry) and entry.line == line:
            return entry
    except (TypeError, RecursionError) as error:
        raise ValueError(f"the line is not an entry: {error}") from error
    raise ValueError("the line does not have the form of an entry")


def _has_types(entry: Entry) -> bool:
    """Whether each field has its type; a hash that fits does not show that."""
    facts: dict[str, Any] = asdict(entry)
    seq, of, about = facts.pop("seq"), facts.pop("of"), facts.pop("object")
    return (
        type(seq) is int
        and (of is None or type(of) is int)
        and isinstance(about, dict)
        and all(isinstance(text, str) for text in (*facts.values(), *about.values()))
    )


def _cut(text: str) -> str:
    """The text without secrets, of bounded length, and without lone surrogates."""
    shown = mask(text).encode(errors="backslashreplace").decode()
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
