"""The log of a unit in the store, read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from synergy.queries.logs.lines import LEVELS, Line, Part, Wanted
from synergy.storage.protocol import LogLine, ReadableUnitLogs

STEP = 200  # lines that are read at once; a line may have 8,192 characters


class UnitLog:
    """See `synergy.queries.logs.lines.Log`."""

    parts: tuple[Part, ...] = ()

    def __init__(self, logs: ReadableUnitLogs, unit: str) -> None:
        self._logs = logs
        self._unit = unit
        self.total = logs.count(unit)

    def after(self, number: int) -> Iterator[LogLine]:
        for at in range(number, self.total, STEP):
            yield from self._logs.of_unit(self._unit, at, min(STEP, self.total - at))

    def before(self, number: int) -> Iterator[LogLine]:
        for end in range(number - 1, 0, -STEP):
            begin = max(0, end - STEP)
            yield from reversed(self._logs.of_unit(self._unit, begin, end - begin))

    def matcher(self, wanted: Wanted) -> Callable[[LogLine], bool]:
        levels, text = frozenset(wanted.levels), wanted.text.lower()

        def is_wanted(line: LogLine) -> bool:
            if wanted.level and line.level.lower() not in levels:
                return False
            return text in line.text.lower()

        return is_wanted

    def size(self, raw: LogLine) -> int:
        return len(raw.text)

    def line(self, number: int, raw: LogLine) -> Line:
        level = raw.level.lower()
        return Line(
            number=number,
            at=raw.at.isoformat(timespec="milliseconds"),
            level=level if level in LEVELS else "",
            event=f"attempt {raw.attempt}",
            message=raw.text,
            more={"attempt": raw.attempt},
        )
