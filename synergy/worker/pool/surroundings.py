"""What each process has of its own in a member of the pool: folder, environment, umask.

A worker may change them, for its own process only, as if that had a worker process. Signals are
handled as the member does after each group of units, so that it can always be asked to stop.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_SIGNALS = (  # those that a program usually handles
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGPIPE, signal.SIGCHLD, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF),
)
_NARROW_UMASK = 0o077  # for the moment in which the umask is read, which only setting it does


class Surroundings:
    """The surroundings of one process, in force while this is entered.

    At first they are those in which it is made. Work may leave them changed.
    """

    def __init__(self) -> None:
        self._own = self._outer = _State.present()
        self._signals: _Signals | None = None

    def __enter__(self) -> None:
        self._outer = _State.present()
        self._signals = _Signals.present() if _is_main_thread() else None
        self._own.restore()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._own = _State.present()
        self._outer.restore()
        if self._signals is not None:
            self._signals.restore()


@dataclass(frozen=True, slots=True)
class _State:
    folder: str  # "" if it was removed
    variables: Mapping[str, str]
    umask: int

    @classmethod
    def present(cls) -> _State:
        umask = os.umask(_NARROW_UMASK)
        os.umask(umask)
        folder = ""
        with suppress(FileNotFoundError):
            folder = str(Path.cwd())
        return cls(folder, dict(os.environ), umask)

    def restore(self) -> None:
        os.umask(self.umask)
        with suppress(OSError):  # the folder was removed meanwhile
            os.chdir(self.folder)
        if os.environ != self.variables:
            for name in os.environ.keys() - self.variables.keys():
                del os.environ[name]
            os.environ.update(self.variables)


class _Signals:
    """How the main thread handles signals, and which ones it blocks."""

    def __init__(self, handlers: Mapping[int, signal._HANDLER], blocked: set[int]) -> None:
        self._handlers = handlers
        self._blocked = blocked

    @classmethod
    def present(cls) -> _Signals:
        handlers = {int(number): signal.getsignal(number) for number in _SIGNALS}
        return cls(handlers, signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    def restore(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)  # its signal may end the process
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
