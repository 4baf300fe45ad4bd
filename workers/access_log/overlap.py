"""Finds out whether a log begins with lines of the logs that are read before it."""

from __future__ import annotations

from collections.abc import Iterator

HEAD = 1000
"""Equal lines after which an overlap is certain. Up to these, several places are tried."""


class Overlap:
    """Compares lines, as they are read, with the beginning of a log that comes later.

    The lines of the log are read one after the other, and only while they are equal.
    """

    def __init__(self, first: bytes, lines: Iterator[bytes]) -> None:
        """`first` is the first of `lines`, which are not read before they are needed."""
        self.first = first
        self._lines = lines
        self._head: list[bytes] = []  # of the lines, without the first `_dropped` ones
        self._dropped = 0
        self._is_uniform = True
        self._matching: list[int] = []  # equal lines at each place where it may begin, most first
        self._within = 0
        self.has_diverged = False

    @property
    def is_active(self) -> bool:
        """Whether the lines that were seen last are the beginning of the log."""
        return bool(self._matching)

    def see(self, line: bytes) -> None:
        """Takes the next line that is read."""
        if self._within or self.has_diverged:
            return
        matching = []
        for count in self._matching:
            expected = self._at(count)
            if expected is None:
                self._within, self._matching = count, []
                return
            if expected == line:
                matching.append(count + 1)
        if self._dropped:
            self._is_uniform &= line == self.first
            self.has_diverged = not matching and not self._is_uniform
        elif line == self.first:
            matching.append(1)
        self._matching = matching
        if matching and matching[0] >= HEAD:
            self._commit(matching[0])

    def repeated(self, seen: int) -> int:
        """How many lines at the beginning of the log are the last ones that were seen.

        Equal lines at the end of one log and at the beginning of the next are different requests of
        the same second, unless the two logs are equal. `seen` is the number of all lines seen.
        """
        if self._within or not self._matching:
            return self._within
        count = self._matching[0]
        is_uniform = self._is_uniform and len(set(self._head[: count - self._dropped])) <= 1
        is_same = count == seen and self._at(count) is None
        return 0 if is_uniform and not is_same else count

    def after(self, count: int) -> list[bytes]:
        """At most `HEAD` lines of the log after its first ones, as far as they are known."""
        start = max(count, self._dropped)
        self._at(start + HEAD - 1)
        return self._head[start - self._dropped :][:HEAD]

    def _commit(self, count: int) -> None:
        self._matching = [count]
        self._is_uniform &= len({self.first, *self._head[: count - self._dropped]}) == 1
        del self._head[: count - self._dropped]
        self._dropped = count

    def _at(self, index: int) -> bytes | None:
        """A line of the log; None after the last one."""
        while len(self._head) + self._dropped <= index:
            line = next(self._lines, None)
            if line is None:
                return None
            self._head.append(line)
        return self._head[index - self._dropped]
