"""Runs the command line in a fork of this process, which has already imported its modules.

Such a command has its own environment, standard streams, memory and exit code, like a new process;
it only starts faster than a new Python.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import select
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from synergy.cli.main import NOUNS, main

AT_HAND = (  # imported once, before the forks
    *(NOUNS[noun][0] for noun in NOUNS if noun not in ("bench", "shell", "test")),
    "synergy.cli.services",
    "synergy.commands.store_copy",
    "synergy.commands.store_usage",
    "synergy.messaging.stored",
    "synergy.storage.sqlite",
)
OF_PROCESSES = (  # imported only for commands that check the classes of all processes
    "workers.event_stream_generator",
    "workers.single_session_worker",
)
CRASHED = 70  # an exit code that no command uses


def can_fork() -> bool:
    """Whether this process can be forked safely.

    Locks that another thread holds would never be released in the fork, and SQLite would take the
    file locks of connections that are open here for its own.
    """
    return threading.active_count() == 1 and not apsw.connections()


def run(argv: Sequence[str], environment: Mapping[str, str], limit: float) -> tuple[int, str, str]:
    """Runs a command for at most `limit` seconds: its exit code and output."""
    is_checking = "check" in argv[:1] or {"start", "restart"} & set(argv[:2])
    for module in AT_HAND + (OF_PROCESSES if is_checking else ()):
        importlib.import_module(module)
    return call(lambda: main(argv), environment, limit)


def call(
    act: Callable[[], int], environment: Mapping[str, str], limit: float
) -> tuple[int, str, str]:
    """Calls `act` in a forked process: the exit code, which `act` returns, and what was printed."""
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("out", "err")]
        pid = os.fork()
        if pid == 0:
            _become(act, environment, streams)
        code = _end_of(pid, limit)
        out, err = (stream.read_text() for stream in streams)
    assert code != CRASHED, err
    return code, out, err


def _become(
    act: Callable[[], int], environment: Mapping[str, str], streams: Sequence[Path]
) -> None:
    """Runs `act` in the forked process, ends it with the exit code, and never returns."""
    code = CRASHED
    try:
        gc.freeze()  # objects of the tests need no collection here
        _leave_pytest(streams)
        os.chdir("/")
        os.environ.clear()
        os.environ.update(environment)
        code = act()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the test reports it
        code = CRASHED
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _leave_pytest(streams: Sequence[Path]) -> None:
    """Resets standard streams, logging and warnings to those of a new Python."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().handlers.clear()
    logging.getLogger().setLevel(logging.WARNING)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def _end_of(pid: int, limit: float) -> int:
    """The exit code of a child, or the negative number of the signal that ended it."""
    pidfd = os.pidfd_open(pid)
    try:
        ended = select.poll()  # also takes descriptors from 1,024 on
        ended.register(pidfd, select.POLLIN)
        if not ended.poll(limit * 1_000):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(pidfd)
    return os.waitstatus_to_exitcode(status)
