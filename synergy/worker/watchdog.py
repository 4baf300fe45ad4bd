"""Ends the process when work holds the interpreter and lets no other thread run.

A pattern that backtracks without end, or a sort of far too much, keeps the lock of the interpreter:
no thread of Python can look after such work, nor does the worker's heart beat. The kernel can: it
measures the processor time of the thread that works, and ends the process by a signal once that
has used so much of it without another thread having had a turn. Who is paused uses none.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
import time
from typing import Final

SIGNAL: Final = signal.SIGVTALRM  # whose default is the end, without a core dump

log = logging.getLogger(__name__)


class _Event(ctypes.Structure):
    """`struct sigevent`: what a timer does when it is due; 0 is to send a signal."""

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
    """Of the thread that makes it; any thread may renew it."""

    def __init__(self, seconds: float) -> None:
        """`seconds` of processor time that the thread may use between two renewals."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._is_armed = False
        self._timer = ctypes.c_void_p()
        self._libc = ctypes.PyDLL(
            None
        )  # which keeps the lock of the interpreter: its calls are short
        event = _Event(signal=SIGNAL, notify=0)
        clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            code = self._libc.timer_create(
                ctypes.c_int(clock), ctypes.byref(event), ctypes.byref(self._timer)
            )
        except AttributeError:  # an older C library has it elsewhere
            code = -1
        self._is_there = code == 0
        if not self._is_there:
            log.warning("Work that holds the interpreter will not be ended here")

    def arm(self) -> None:
        """From now on the thread has to be seen to let others have a turn."""
        with self._lock:
            self._is_armed = True
            self._set(self._seconds)

    def renew(self) -> None:
        """Another thread has had its turn."""
        with self._lock:
            if self._is_armed:
                self._set(self._seconds)

    def disarm(self) -> None:
        """The thread may use what it likes."""
        with self._lock:
            self._is_armed = False
            self._set(0.0)

    def close(self) -> None:
        """Lets go of the timer."""
        with self._lock:
            if self._is_there:
                self._libc.timer_delete(self._timer)
            self._is_armed = self._is_there = False

    def _set(self, seconds: float) -> None:
        if self._is_there:
            whole = int(seconds)
            times = _Times(0, 0, whole, int((seconds - whole) * 1e9))
            self._libc.timer_settime(self._timer, 0, ctypes.byref(times), None)
