"""Files of rejected lines."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from synergy.errors import Refused
from workers.access_log.files import REJECTED, STDIN


class RejectedFile:
    """A `.rejected` file for the rejected lines of a log, created with the first of them.

    It is in the folder of the log, or in the working directory if that folder is not writable.
    """

    def __init__(self, log: str, is_wanted: bool) -> None:
        self._log = log
        self._is_wanted = is_wanted
        self._file: BinaryIO | None = None
        self.path = ""
        self.lines = 0

    def add(self, line: bytes) -> None:
        """Writes a line unchanged; only the beginning of a line that is too long."""
        self.lines += 1
        if not self._is_wanted:
            return
        if self._file is None:
            self._file = self._open()
        self._file.write(line + b"\n")

    def _open(self) -> BinaryIO:
        beside = Path(f"{'stdin' if self._log == STDIN else self._log}{REJECTED}")
        for path in (beside, Path(beside.name)):
            try:
                file = path.open("wb")
            except OSError as error:
                reason = str(error)
            else:
                self.path = str(path)
                return file
        raise Refused(f"rejected lines cannot be kept: {reason}")

    def __enter__(self) -> RejectedFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
