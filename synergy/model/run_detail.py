"""The details of a run besides its request, and their stored form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """The cause of a run, the reasons for its delay, and the answers to it.

    `cause` is JSON, as `schedule.progress.state.Made` describes it. `waits` are the reasons why
    the run is not launched yet; with `in_turn` it also waits for the run before it. `answers` are
    the newest answers of the receiver, as JSON. `first_attempt` is the number of the first
    attempt since the launch, and `first_attempt_at` its time. `again` is a remark of a failed run
    that was launched again; `retry_of` is the failed run that a new one repeats.
    """

    cause: Mapping[str, object] = field(default_factory=dict)
    waits: tuple[str, ...] = ()
    in_turn: bool = False
    answers: tuple[Mapping[str, object], ...] = ()
    first_attempt: int | None = None
    first_attempt_at: datetime | None = None
    again: str = ""
    retry_of: str = ""

    def __getitem__(self, name: str) -> object:
        """`detail["cause"]`, as worker authors may read it (docs/workers.md)."""
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)

    def to_json(self) -> dict[str, object]:
        """The stored form, without empty fields; `from_json` reads it back to an equal value."""
        begun = self.first_attempt_at
        written: dict[str, object] = {
            "cause": dict(self.cause),
            "waits": list(self.waits),
            "in_turn": self.in_turn,
            "answers": list(self.answers),
            "first_attempt": self.first_attempt,
            "first_attempt_at": None if begun is None else begun.isoformat(),
            "again": self.again,
            "retry_of": self.retry_of,
        }
        return {name: value for name, value in written.items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> RunDetail:
        """The detail of a stored form; unknown names are ignored."""
        cause, first, begun = (
            data.get(name) for name in ("cause", "first_attempt", "first_attempt_at")
        )
        return cls(
            cause=cause if isinstance(cause, Mapping) else {},
            waits=tuple(str(wait) for wait in _list(data, "waits")),
            in_turn=bool(data.get("in_turn")),
            answers=tuple(one for one in _list(data, "answers") if isinstance(one, Mapping)),
            first_attempt=first if isinstance(first, int) else None,
            first_attempt_at=datetime.fromisoformat(begun) if isinstance(begun, str) else None,
            again=str(data.get("again") or ""),
            retry_of=str(data.get("retry_of") or ""),
        )


def _list(data: Mapping[str, object], name: str) -> list[object]:
    found = data.get(name)
    return found if isinstance(found, list) else []
