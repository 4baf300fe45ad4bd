"""Reads log files in blocks of lines: plain, gzipped, or standard input, in bounded memory."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedIOBase
from pathlib import Path
from typing import cast

from synergy.errors import InvalidValue, NotFound, SynergyError
from workers.access_log.lines import MAX_LINE

STDIN = "-"
_BLOCK = 256 * 1024


class DamagedFile(SynergyError):
    """A file could not be read to its end; the lines before the damage were read."""


class LogFile:
    """A log: the path of a file, gzipped if it ends in `.gz`, or `-` for standard input."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._raw: BufferedIOBase | None = None

    def check(self) -> None:
        """Raises NotFound or InvalidValue if there is no such file."""
        if self.name == STDIN:
            return
        path = Path(self.name)
        if not path.exists():
            raise NotFound("file", self.name)
        if path.is_dir():
            raise InvalidValue(f"{self.name} is a directory; name the files in it")

    @property
    def size(self) -> int | None:
        """The bytes of the file; None if it is unknown."""
        path = Path(self.name)
        return path.stat().st_size if self.name != STDIN and path.is_file() else None

    @property
    def position(self) -> int:
        """The bytes of the file that were read so far; 0 if that is unknown."""
        return self._raw.tell() if self._raw is not None and self._raw.seekable() else 0

    def blocks(self) -> Iterator[list[bytes]]:
        """All lines without their line ends, in blocks as they are read.

        A line longer than `MAX_LINE` is cut after `MAX_LINE` + 1 bytes. Raises DamagedFile where
        reading fails; the line that is incomplete there is dropped.
        """
        try:
            with self._open() as raw:
                self._raw = raw
                yield from split(gzip.GzipFile(fileobj=raw) if self.name.endswith(".gz") else raw)
        except (EOFError, zlib.error, OSError) as error:
            raise DamagedFile(f"{self.name} cannot be read any further: {error}") from error
        finally:
            self._raw = None

    def _open(self) -> AbstractContextManager[BufferedIOBase]:
        if self.name == STDIN:
            return nullcontext(cast("BufferedIOBase", sys.stdin.buffer))
        return Path(self.name).open("rb")


def split(stream: BufferedIOBase) -> Iterator[list[bytes]]:
    """The lines of a stream, in blocks as its bytes arrive."""
    rest, is_skipping = b"", False
    while block := stream.read1(_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        if is_skipping:
            rest = rest if lines else b""
            is_skipping = not lines
            lines = lines[1:]
        if len(rest) > MAX_LINE:
            lines.append(rest[: MAX_LINE + 1])
            rest, is_skipping = b"", True
        if lines:
            yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest.removesuffix(b"\r")]
