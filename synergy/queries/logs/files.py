"""The log files of this box: one for each instance of each process, with its rotated parts.

The file names follow from the declared processes, so no name from outside becomes a path. Only
plain files are read. Secrets were masked when the lines were written (`runtime.logs`).
"""

from __future__ import annotations

import hashlib
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from synergy.errors import NotFound, Refused
from synergy.model.process import Deployment
from synergy.queries.logs.line_index import Blocks, blocks_of, lines_of
from synergy.queries.logs.lines import LEVELS, Line, Part, Wanted
from synergy.runtime.logs import KEPT, log_path

SUPERVISOR = "supervisor"
CHUNK = 256 * 1024  # bytes of a download at a time

_BEGINNING = 4096  # bytes of the first line that identify a part
_LEVEL_WITHIN = 100  # bytes from the beginning of a line, within which its level stands
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class LogFileView:
    """A log with all its parts; `process` is "supervisor" for the supervisor's log."""

    name: str
    process: str
    instance: int
    size: int
    parts: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class _OpenPart:
    handle: int
    number: int  # the number of its inode, which stays the same when it is renamed
    size: int
    modified: float
    id: str


class LogFiles:
    """The logs of a deployment's processes on this box; may be used by several threads."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        instances = {
            name: max(1, process.instances) for name, process in deployment.processes.items()
        }
        self._places = {
            _name(process, number): (process, number, log_path(home, process, number))
            for process, count in {**instances, SUPERVISOR: 1}.items()
            for number in range(1, count + 1)
        }
        self._known: dict[str, Mapping[tuple[int, str], Blocks]] = {}

    def all(self) -> list[LogFileView]:
        """The logs that exist, in the order of their declaration."""
        found = []
        for name, (process, instance, path) in self._places.items():
            with _opened(path) as parts:
                if parts:
                    size = sum(part.size for part in parts)
                    modified = datetime.fromtimestamp(max(p.modified for p in parts), UTC)
                    found.append(LogFileView(name, process, instance, size, len(parts), modified))
        return found

    @contextmanager
    def open(self, name: str, start: str = "") -> Iterator[FileLog]:
        """A log by its name, open within the `with` block.

        `start` is the id of the first part that line numbers refer to. Raises NotFound, and Refused
        if the log begins with another part by now, so that its lines have new numbers.
        """
        with self._parts(name) as parts:
            if start and parts[0].id != start:
                raise Refused("the oldest part of this log is gone, its lines have new numbers")
            known, now = self._known.get(name, {}), {}
            for part in parts:
                key, is_live = (part.number, part.id), part is parts[-1]
                now[key] = blocks_of(part.handle, part.size, is_live, known.get(key))
            self._known[name] = now
            found = zip(parts, now.values(), strict=True)
            yield FileLog(tuple((part.handle, part.id, blocks) for part, blocks in found))

    def download(self, name: str) -> Iterator[bytes]:
        """The content of a log as it is now; raises NotFound before the first chunk."""
        stack = ExitStack()
        return _chunks(stack, stack.enter_context(self._parts(name)))

    @contextmanager
    def _parts(self, name: str) -> Iterator[list[_OpenPart]]:
        place = self._places.get(name)
        if place is None:
            raise NotFound("log", name[:100], "the list of logs shows which this box has")
        with _opened(place[2]) as parts:
            if not parts:
                raise NotFound("log", name, "nothing was written to it on this box")
            yield parts


class FileLog:
    """See `synergy.queries.logs.lines.Log`; a line is the bytes without the end of the line."""

    def __init__(self, parts: tuple[tuple[int, str, Blocks], ...]) -> None:
        self._blocks: list[tuple[int, int, int]] = []  # handle, begin, end
        self._numbers: list[int] = []  # lines before each block
        self.parts = tuple(Part(id_, blocks.lines) for _, id_, blocks in parts)
        self.total = 0
        for handle, _, blocks in parts:
            ends = [*blocks.begins[1:], blocks.end]
            for begin, end, lines in zip(blocks.begins, ends, blocks.numbers, strict=True):
                self._blocks.append((handle, begin, end))
                self._numbers.append(self.total + lines)
            self.total += blocks.lines

    def after(self, number: int) -> Iterator[bytes]:
        if number >= self.total:
            return
        first = bisect_right(self._numbers, number) - 1
        for at in range(first, len(self._blocks)):
            lines = lines_of(*self._blocks[at])
            yield from lines[number - self._numbers[at] :] if at == first else lines

    def before(self, number: int) -> Iterator[bytes]:
        if number <= 1:
            return
        last = bisect_right(self._numbers, number - 2) - 1
        for at in range(last, -1, -1):
            lines = lines_of(*self._blocks[at])
            yield from reversed(lines[: number - 1 - self._numbers[at]] if at == last else lines)

    def matcher(self, wanted: Wanted) -> Callable[[bytes], bool]:
        levels = tuple(f'"level":"{level}"'.encode() for level in wanted.levels)
        texts = {text.lower() for text in (wanted.text, _as_json(wanted.text))}

        def is_wanted(raw: bytes) -> bool:
            if wanted.level and not any(raw.find(one, 0, _LEVEL_WITHIN) >= 0 for one in levels):
                return False
            if not wanted.text:
                return True
            line = raw.decode(errors="replace").lower()
            return any(text in line for text in texts)

        return is_wanted

    def size(self, raw: bytes) -> int:
        return len(raw)

    def line(self, number: int, raw: bytes) -> Line:
        try:
            found = orjson.loads(raw)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return Line(number, "", "", "", raw.decode(errors="replace"), {})
        at, level, event, message = (
            str(found.pop(name, "")) for name in ("at", "level", "event", "message")
        )
        return Line(number, at, level if level in LEVELS else "", event, message, found)


def _name(process: str, instance: int) -> str:
    return process if instance == 1 else f"{process}.{instance}"


def _as_json(text: str) -> str:
    """How a text is written within the JSON of a line."""
    return orjson.dumps(text.encode(errors="replace").decode())[1:-1].decode()


@contextmanager
def _opened(path: Path) -> Iterator[list[_OpenPart]]:
    """The parts of a log that are there, oldest first.

    They are opened newest first: a part that is renamed meanwhile is found twice, none is missed.
    """
    with ExitStack() as stack:
        parts: dict[tuple[int, int], _OpenPart] = {}
        for name in (path.name, *(f"{path.name}.{number}" for number in range(1, KEPT + 1))):
            handle = _open(path.with_name(name))
            if handle is None:
                continue
            stack.callback(os.close, handle)
            seen = os.fstat(handle)
            if stat.S_ISREG(seen.st_mode) and (seen.st_dev, seen.st_ino) not in parts:
                parts[seen.st_dev, seen.st_ino] = _OpenPart(
                    handle, seen.st_ino, seen.st_size, seen.st_mtime, _id(handle)
                )
        yield list(parts.values())[::-1]


def _id(handle: int) -> str:
    """The id of a part, from its first line; "" before that is complete."""
    beginning = os.pread(handle, _BEGINNING, 0)
    first, end, _ = beginning.partition(b"\n")
    if not end and len(beginning) < _BEGINNING:
        return ""
    return hashlib.blake2b(first, digest_size=6).hexdigest()


def _open(path: Path) -> int | None:
    try:
        return os.open(path, _FLAGS)
    except OSError:  # it does not exist, is a link, or may not be read
        return None


def _chunks(stack: ExitStack, parts: list[_OpenPart]) -> Iterator[bytes]:
    with stack:
        for part in parts:
            at = 0
            while at < part.size:
                chunk = os.pread(part.handle, min(CHUNK, part.size - at), at)
                if not chunk:
                    break
                at += len(chunk)
                yield chunk
