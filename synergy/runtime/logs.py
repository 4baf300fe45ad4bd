"""Logs: one event a line, as JSON, in a file for each process.

A line has the name of its event (`unit.requested`, `job.skipped`), which journal and metrics
share, and the process, timeperiod, unit and box that it is about:

    log.info("Unit %s requested", key, extra={"event": "unit.requested", "timeperiod": ...})

The process is the one that logs; a line about another process names it as `process_name`, because
the standard library uses `process` itself.

Levels: error if a person must act, warning if the system coped, info if a state changed, debug if
a tick found nothing. Files are bounded: each is rotated after the line that reaches `FILE_SIZE`,
`KEPT` old ones stay, and the middle of long texts is left out. Each instance of a process has a
file of its own, because rotating a file that another instance writes to would lose lines.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import islice
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

import orjson

from synergy import private_files
from synergy.runtime.masking import mask
from synergy.visible_text import visible_json

FILE_SIZE = 10 * 1024 * 1024
KEPT = 4  # rotated files
LONGEST = 8192  # characters of one text
MOST = 100  # items of one list or mapping

logger = logging.getLogger("synergy")

_TALKATIVE = ("pymongo", "pika", "httpcore", "httpx", "asyncio", "botocore", "urllib3")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def log_path(home: Path, process: str, instance: int = 1) -> Path:
    """Where an instance of a process writes its log."""
    number = "" if instance == 1 else f".{instance}"
    return home / "logs" / f"{process}{number}.log"


def configure(
    home: Path,
    process: str,
    box: str,
    instance: int = 1,
    console: bool = False,
    level: str = "info",
) -> Path:
    """Sends all logging of this process to its file, and to standard error if `console`.

    `level` is "info" or "debug"; libraries that log each message they exchange stay at "info".

    Exceptions that end a thread are logged too. Returns the file; calling it again replaces
    what was configured before.
    """
    path = log_path(home, process, instance)
    private_files.make_home_folder(path.parent)
    formatter = JsonLines(process, box, instance)
    handlers: list[logging.Handler] = [
        _PrivateFile(path, maxBytes=FILE_SIZE, backupCount=KEPT, encoding="utf-8")
    ]
    if console:
        handlers.append(logging.StreamHandler(sys.stderr))
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h.formatter, JsonLines)]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO)
    threading.excepthook = _log_thread_failure
    return path


class _PrivateFile(RotatingFileHandler):
    """A file that only this user can read, also after each rotation."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        """Whether the file has reached its size.

        The base class formats each record a second time to see whether it still fits.
        """
        return self.stream is not None and self.stream.tell() >= self.maxBytes

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = private_files.open_file(self.baseFilename, flags)
        return cast("TextIOWrapper", os.fdopen(file, self.mode, encoding=self.encoding))


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; fields of `extra` override those of the process."""

    def __init__(self, process: str, box: str, instance: int = 1) -> None:
        super().__init__()
        self._base: dict[str, object] = {"process": process, "box": box}
        if instance != 1:
            self._base["instance"] = instance

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.name,
            **self._base,
        }
        line |= {k: _clean(v) for k, v in vars(record).items() if k not in _STANDARD}
        line["process"] = line.pop("process_name", self._base["process"])
        line["message"] = _clean_text(record.getMessage())
        if record.exc_info:
            line["traceback"] = _clean_text(self.formatException(record.exc_info))
        return visible_json(orjson.dumps(line).decode())


def _clean(value: object) -> object:
    """The value for JSON, bounded and without secrets; values of other types as text."""
    match value:
        case str():  # nearly all of what is logged
            return _clean_text(value)
        case None | bool() | float():
            return value
        case int() if abs(value) < 1 << 63:
            return value
        case list() | tuple():
            return [_clean(item) for item in value[:MOST]]
        case Mapping():
            return {str(key): _clean(item) for key, item in islice(value.items(), MOST)}
        case _:
            return _clean_text(str(value))


def _clean_text(text: str) -> str:
    return _bounded(mask(text)).encode(errors="replace").decode()


def _bounded(text: str) -> str:
    """The beginning and the end, where message and reason are; the middle may go."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} ... {len(text) - LONGEST} characters left out ... {text[-half:]}"


def _log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is None or failure.exc_type is SystemExit:
        return
    name = failure.thread.name if failure.thread else "unknown"
    logger.error(
        "Thread %s ended: %s",
        name,
        failure.exc_value,
        exc_info=failure.exc_value,
        extra={"event": "thread.failed"},
    )
