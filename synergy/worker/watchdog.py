"""Ends the process when work holds the interpreter lock for too long.

A regular expression that backtracks without end, or a very large sort, keeps the interpreter lock:
no other Python thread runs, so none can send heartbeats or end the work. A kernel timer can. It
measures the processor time of the working thread, and ends the process by a signal if the thread
uses too much of it before another thread renews the timer. A paused process uses none.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
import time
from typing import Final

SIGNAL: Final = signal.SIGVTALRM  # by default it ends the process, without a core dump

log = logging.getLogger(__name__)


class _Event(ctypes.Structure):
    """`struct sigevent`: what an expired timer does; `notify` 0 sends a signal."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _Times(ctypes.Structure):
    """`struct itimerspec`: interval and value, each in seconds and nanoseconds."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("again", "again_nanos", "seconds", "nanos"))


class Watchdog:
    """Watches the thread that creates it; another thread renews it."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is the processor time that the thread may use between two renewals."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._is_armed = False
        self._timer = ctypes.c_void_p()
        self._libc = ctypes.PyDLL(None)  # keeps the interpreter lock: its calls are short
        event = _Event(signal=SIGNAL, notify=0)
        clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            code = self._libc.timer_create(
                ctypes.c_int(clock), ctypes.byref(event), ctypes.byref(self._timer)
            )
        except AttributeError:  # older C libraries have it in librt
            code = -1
        self._is_there = code == 0
        if not self._is_there:
            log.warning("No kernel timer: work that holds the interpreter lock is not ended")

    def arm(self) -> None:
        """Begins to watch."""
        with self._lock:
            self._is_armed = True
            self._set(self._seconds)

    def renew(self) -> None:
        """Restarts the count, because another thread had a turn."""
        with self._lock:
            if self._is_armed:
                self._set(self._seconds)

    def disarm(self) -> None:
        """Stops watching."""
        with self._lock:
            self._is_armed = False
            self._set(0.0)

    def close(self) -> None:
        """Deletes the timer."""
        with self._lock:
            if self._is_there:
                self._libc.timer_delete(self._timer)
            self._is_armed = self._is_there = False

    def _set(self, seconds: float) -> None:
        if self._is_there:
            whole = int(seconds)
            times = _Times(0, 0, whole, int((seconds - whole) * 1e9))
            self._libc.timer_settime(self._timer, 0, ctypes.byref(times), None)
