"""Verifies that each line of an audit log follows the one before; `entry` decodes single lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256

from synergy.audit_log.entry import START, Act, Entry, decode

HEALED = "audit-log heal"
"""The action of the entry that closes a torn line, which then stays as it is."""


def healing(torn: bytes) -> Act:
    """The act that closes a torn line."""
    return Act("synergy", "", "", HEALED, {"torn": sha256(torn).hexdigest()})


@dataclass(slots=True)
class Verified:
    """What a verification found. Faults mean that the log is not as it was written.

    Remarks are gaps that the log itself shows: a torn line, or earlier files that are missing.
    """

    entries: int = 0
    first: int | None = None
    head: Entry | None = None
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.faults


def verify(lines: Iterable[tuple[str, bytes]], kept_head: str = "") -> Verified:
    """Verifies lines, each given with its place and its line feed; a torn last line has none.

    `kept_head` is the hash of an entry that was kept elsewhere, and has to be among them.
    """
    walk = _Walk(Verified(), kept_head)
    for place, line in lines:
        walk.pass_(place, line)
    walk.end()
    return walk.found


@dataclass(slots=True)
class _Walk:
    """The state between two lines.

    `damages` is the number of damaged lines since the last whole one, `damaged` the place of the
    first of them, and `damage` the last of them.
    """

    found: Verified
    wanted: str
    damages: int = 0
    damaged: str = ""
    damage: bytes = b""
    is_after_fault: bool = False

    def pass_(self, place: str, line: bytes) -> None:
        try:
            entry = decode(line)
        except ValueError:
            self.damaged = self.damaged or place
            self.damage = line
            self.damages += 1
            return
        self._judge_damage(entry)
        self._judge_link(place, entry)
        self.found.entries += 1
        self.found.head = entry
        if entry.hash == self.wanted:
            self.wanted = ""

    def end(self) -> None:
        if self.damages == 1 and not self.damage.endswith(b"\n"):
            self.found.remarks.append(
                f"{self.damaged}: the last line is torn: its act is lost; the next entry closes it"
            )
        elif self.damages:
            self._fault(f"{self.damaged}: the line was changed")
        if self.wanted:
            self._fault(f"no entry has the hash {self.wanted}: entries were removed or rewritten")

    def _judge_damage(self, entry: Entry) -> None:
        torn = self.damage.removesuffix(b"\n")
        is_healing = entry.action == HEALED
        if is_healing and self.damages == 1 and entry.object == healing(torn).object:
            self.found.remarks.append(
                f"{self.damaged}: a line is torn, as entry {entry.seq} records: its act is lost"
            )
        elif self.damages:
            self._fault(f"{self.damaged}: the line was changed, or inserted")
        elif is_healing:
            self._fault(f"the torn line before entry {entry.seq} was removed")
        self.damages, self.damaged, self.damage = 0, "", b""

    def _judge_link(self, place: str, entry: Entry) -> None:
        last = self.found.head
        if last is None:
            self.found.first = entry.seq
            self._judge_first(place, entry)
        elif (entry.previous, entry.seq) != (last.hash, last.seq + 1) and not self.is_after_fault:
            self._fault(
                f"{place}: entry {entry.seq} does not follow entry {last.seq}: "
                "an entry was removed, inserted or moved"
            )
        self.is_after_fault = False

    def _judge_first(self, place: str, entry: Entry) -> None:
        if (entry.seq == 1) != (entry.previous == START):
            self._fault(f"{place}: entry {entry.seq} cannot be the first")
        elif entry.seq != 1:
            self.found.remarks.append(
                f"it begins with entry {entry.seq}; the entry before has the hash {entry.previous}"
            )

    def _fault(self, text: str) -> None:
        """Notes a fault; the line after a changed one cannot fit, and is not a second one."""
        self.found.faults.append(text)
        self.is_after_fault = True
