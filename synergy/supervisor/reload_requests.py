"""Requests to take over the context, and what became of them: facts of the box in the store.

A request names itself, so that its answer is known, and says whether it only asks what would
change. It holds no part of the context: the supervisor reads `context.py` itself.

An answer that takes nothing over has a fact of its own. Else it would replace the one that tells
the next supervisor that a reload is not over.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synergy.names import reload_answer, reload_reply, reload_request
from synergy.runtime.fact_text import fact_object
from synergy.storage.protocol import Facts


@dataclass(frozen=True, slots=True)
class Request:
    """A request to take over the context, or to say what that would change.

    `restart` are processes that are restarted even if their entries are the same.
    """

    id: str
    dry_run: bool
    restart: Sequence[str] = ()


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


def ask(facts: Facts, box: str, *, dry_run: bool, restart: Sequence[str] = ()) -> Request:
    """Stores a new request; the supervisor of the box has to be notified."""
    request = Request(uuid.uuid4().hex, dry_run, list(restart))
    facts.set(reload_request(box), json.dumps(asdict(request)))
    return request


def answer_to(facts: Facts, box: str, request: Request) -> Answer | None:
    """The answer to a request; None if there is none, or a later request was answered since."""
    for fact in (reload_answer(box), reload_reply(box)):
        found = fact_object(facts, fact)
        if found.get("id") == request.id:
            return Answer(**found)
    return None


class Requests:
    """The requests of a box, as its supervisor sees them."""

    def __init__(self, facts: Facts, box: str) -> None:
        self._facts = facts
        self._box = box
        self._closed = ""

    def skip(self) -> Answer | None:
        """Leaves a request that was made before this supervisor started.

        Returns its answer if the supervisor before this one ended before the new state was up.
        """
        if request := self.next():
            self.close(request)
        found = fact_object(self._facts, reload_answer(self._box))
        return Answer(**found) if found and not found["is_done"] else None

    def next(self) -> Request | None:
        """The newest request, until it is closed."""
        found = fact_object(self._facts, reload_request(self._box))
        return Request(**found) if found and found["id"] != self._closed else None

    def close(self, request: Request) -> None:
        """Leaves a request."""
        self._closed = request.id

    def reopen(self) -> None:
        """Lets `next` return the newest request again."""
        self._closed = ""

    def answer(self, answer: Answer) -> None:
        """Stores what a reload has come to, in place of the answer before."""
        self._facts.set(reload_answer(self._box), json.dumps(asdict(answer)))

    def reply(self, answer: Answer) -> None:
        """Stores an answer that takes nothing over."""
        self._facts.set(reload_reply(self._box), json.dumps(asdict(answer)))
