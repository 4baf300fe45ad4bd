"""Reads log files in blocks of lines: plain, compressed, or standard input, in bounded memory."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, cast

from synergy.errors import InvalidValue, NotFound, SynergyError
from workers.access_log.lines import MAX_LINE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STDIN = "-"
REJECTED = ".rejected"
_BLOCK = 256 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FORMATS: Mapping[bytes, Callable[[Any], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": zstd.ZstdFile,
}
"""Compressed formats, by the bytes that they begin with."""

_LONGEST = max(map(len, _FORMATS))
_DAMAGE = (EOFError, zlib.error, zstd.ZstdError, OSError)


class DamagedFile(SynergyError):
    """A file could not be read to its end; the lines before the damage were read."""


class LogFile:
    """A log: the path of a file, compressed or not, or `-` for standard input.

    Of what can be read only once (standard input, a pipe), `peek` keeps what it has read.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._raw: io.BufferedIOBase | None = None
        self._path = None if name == STDIN else Path(name)
        self._damage: DamagedFile | None = None
        self._once = None if self.size is not None else self._read()

    @property
    def size(self) -> int | None:
        """The bytes of the file; None if it is unknown."""
        return self._path.stat().st_size if self._path and self._path.is_file() else None

    @property
    def position(self) -> int:
        """The bytes of the file that were read so far; 0 if that is unknown."""
        return self._raw.tell() if self._raw is not None and self._raw.seekable() else 0

    def blocks(self) -> Iterator[list[bytes]]:
        """All lines without their line ends, in blocks as they are read.

        A line longer than `MAX_LINE` is cut after `MAX_LINE` + 1 bytes. Raises DamagedFile where
        reading fails; the line that is incomplete there is dropped.
        """
        yield from self._read() if self._once is None else self._once
        if self._damage is not None:
            raise self._damage

    def peek(self) -> Generator[list[bytes]]:
        """The same blocks, which will be read again. To be closed before anything else is read."""
        if self._once is None:
            yield from self.blocks()
            return
        once, seen = self._once, list[list[bytes]]()
        try:
            for block in once:
                seen.append(block)
                yield block
        except DamagedFile as error:
            self._damage = error
            raise
        finally:
            self._once = chain(seen, once)

    @property
    def is_repeatable(self) -> bool:
        """Whether the log can be read more than once."""
        return self._once is None

    def copy_to(self, path: Path) -> None:
        """Copies the lines of what can be read only once; from now on they are read from there."""
        assert self._once is not None
        with path.open("wb") as copy:
            try:
                for block in self._once:
                    copy.writelines(line + b"\n" for line in block)
            except DamagedFile as error:
                self._damage = error
        self._path, self._once = path, None

    def _read(self) -> Iterator[list[bytes]]:
        try:
            with self._open() as raw:
                self._raw = raw
                yield from self._content(raw)
        except OSError as error:
            raise DamagedFile(f"{self.name} cannot be read: {error}") from error
        finally:
            self._raw = None

    def _content(self, raw: io.BufferedIOBase) -> Iterator[list[bytes]]:
        try:
            yield from split(decompressed(raw))
        except _DAMAGE as error:
            place = f" after byte {self.position:,} of {self.size:,}" if self.size else ""
            raise DamagedFile(f"{self.name} cannot be read any further{place}: {error}") from error

    def _open(self) -> AbstractContextManager[io.BufferedIOBase]:
        if self._path is None:
            return nullcontext(cast("io.BufferedIOBase", sys.stdin.buffer))
        return self._path.open("rb")


class _Begun(io.RawIOBase):
    """A stream of which the first bytes were read already."""

    def __init__(self, begin: bytes, rest: io.BufferedIOBase) -> None:
        super().__init__()
        self._begin = begin
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        read, self._begin = self._begin or self._rest.read1(len(view)), b""
        view[: len(read)] = read
        return len(read)


def decompressed(raw: io.BufferedIOBase) -> io.BufferedIOBase:
    """The content of a stream, decompressed if its first bytes are those of a known format."""
    begin = b""
    while len(begin) < _LONGEST and (read := raw.read1(_LONGEST - len(begin))):
        begin += read
    whole = io.BufferedReader(_Begun(begin, raw), _BLOCK)
    for mark, opened in _FORMATS.items():
        if begin.startswith(mark):
            return opened(whole)
    return whole


def split(stream: io.BufferedIOBase) -> Iterator[list[bytes]]:
    """The lines of a stream, in blocks as its bytes arrive, without a byte order mark."""
    rest, is_skipping, is_first = b"", False, True
    while block := stream.read1(_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        if is_skipping:
            rest = rest if lines else b""
            is_skipping = not lines
            lines = lines[1:]
        if len(rest) > MAX_LINE:
            lines.append(rest[: MAX_LINE + 1])
            rest, is_skipping = b"", True
        if lines and is_first:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
            is_first = False
        if lines:
            yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest.removesuffix(b"\r")]


def logs(names: Sequence[str]) -> list[LogFile]:
    """The logs of these names, each once.

    A folder stands for the files in it, a pattern such as `access.log*` for those that match;
    hidden files and files of rejected lines are left out. Raises NotFound or InvalidValue if there
    are none.
    """
    found = {file: None for name in names for file in _named(name)}
    return [LogFile(file) for file in found]


def _named(name: str) -> list[str]:
    if not name:
        raise InvalidValue("'' is not the name of a log")
    path = Path(name)
    if name == STDIN or (path.exists() and not path.is_dir()):
        return [name]
    if not path.exists() and not glob.has_magic(name):
        raise NotFound("file", name)
    matches = path.iterdir() if path.is_dir() else map(Path, glob.glob(name))
    files = sorted(
        str(each)
        for each in matches
        if each.is_file() and not each.name.startswith(".") and each.suffix != REJECTED
    )
    if not files:
        raise InvalidValue(f"no files in {name}" if path.is_dir() else f"no files match {name}")
    return files
