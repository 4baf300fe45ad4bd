"""The person or rule that asks for a change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change and the reason for it; both go into the journal."""

    who: str
    why: str

    def remark(self, what: str) -> str:
        """A remark about what this actor did, with the reason if there is one."""
        return f"{what}, {self.who}" + (f": {self.why}" if self.why else "")
