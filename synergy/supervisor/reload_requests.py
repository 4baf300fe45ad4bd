"""Requests to take over the context, and what became of them: facts of the box in the store.

A request names itself, so that its answer is known, and says whether it only asks what would
change. It holds no part of the context: the supervisor reads `context.py` itself.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synergy.names import reload_answer, reload_request
from synergy.storage.protocol import Facts
from synergy.supervisor.reload import Changes


@dataclass(frozen=True, slots=True)
class Request:
    """A request to take over the context, or to say what that would change."""

    id: str
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request.

    `mistakes` are why it was refused; `changes` are None then. `is_done`: the new state is up,
    except for the processes in `failed`.
    """

    id: str
    mistakes: Sequence[str] = ()
    changes: Mapping[str, Any] | None = None
    is_done: bool = True
    failed: Sequence[str] = ()


def ask(facts: Facts, box: str, *, dry_run: bool) -> Request:
    """Stores a new request; the supervisor of the box has to be notified."""
    request = Request(uuid.uuid4().hex, dry_run)
    facts.set(reload_request(box), json.dumps(asdict(request)))
    return request


def answer_to(facts: Facts, box: str, request: Request) -> Answer | None:
    """The answer to a request; None if there is none, or a later request was answered since."""
    found = json.loads(facts.get(reload_answer(box)) or "{}")
    return Answer(**found) if found.get("id") == request.id else None


class Requests:
    """The requests of a box, as its supervisor sees them."""

    def __init__(self, facts: Facts, box: str) -> None:
        self._facts = facts
        self._box = box
        self._seen: str | None = None

    def skip(self) -> None:
        """Leaves a request that was made before this supervisor started."""
        self._seen = self._facts.get(reload_request(self._box))

    def next(self) -> Request | None:
        """A request that was not seen before."""
        text = self._facts.get(reload_request(self._box))
        if text == self._seen or text is None:
            return None
        self._seen = text
        return Request(**json.loads(text))

    def refuse(self, request: Request, mistakes: tuple[str, ...]) -> None:
        self._write(Answer(request.id, mistakes))

    def tell(self, request: Request, changes: Changes, *, is_done: bool) -> None:
        """Stores what the request changes."""
        self._write(Answer(request.id, changes=asdict(changes), is_done=is_done))

    def finish(self, request: Request, changes: Changes, failed: tuple[str, ...]) -> None:
        """Stores that the new state is up, except for the processes in `failed`."""
        self._write(Answer(request.id, changes=asdict(changes), failed=failed))

    def _write(self, answer: Answer) -> None:
        self._facts.set(reload_answer(self._box), json.dumps(asdict(answer)))
