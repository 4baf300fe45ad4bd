"""What the system shows of this process: its command line and its environment.

`ps`, `pgrep` and psutil read `/proc/<pid>/cmdline`, and the supervisor finds its processes by
`/proc/<pid>/environ`. Both are memory of the process, at addresses that the kernel noted when the
program was started. A process that was forked has to name other addresses: `PR_SET_MM_MAP` does so
without privileges, and leaves everything else as it is.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

_PR_SET_MM = 35
_PR_SET_MM_MAP = 14
_NO_FILE = 0xFFFFFFFF  # the program file stays
_FIELDS = {  # of /proc/self/stat, counted from 1
    "start_code": 26,
    "end_code": 27,
    "start_data": 45,
    "end_data": 46,
    "start_brk": 47,
    "start_stack": 28,
}
_shown: list[object] = []  # the kernel reads this memory as long as the process lives


class _Map(ctypes.Structure):
    """The kernel's `struct prctl_mm_map`."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("start_code", "end_code", "start_data", "end_data")),
        *((name, ctypes.c_uint64) for name in ("start_brk", "brk", "start_stack")),
        *((name, ctypes.c_uint64) for name in ("arg_start", "arg_end", "env_start", "env_end")),
        ("auxv", ctypes.c_uint64),
        ("auxv_size", ctypes.c_uint32),
        ("exe_fd", ctypes.c_uint32),
    ]


def show(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Makes the system show this command line and environment; raises OSError if it cannot."""
    arguments = _block(command)
    variables = _block(f"{name}={value}" for name, value in environment.items())
    memory = ctypes.create_string_buffer(arguments + variables, len(arguments + variables))
    stat = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
    begin = ctypes.addressof(memory)
    between = begin + len(arguments)
    wanted = _Map(
        **{name: int(stat[number - 3]) for name, number in _FIELDS.items()},
        arg_start=begin,
        arg_end=between,
        env_start=between,
        env_end=between + len(variables),
        exe_fd=_NO_FILE,
    )
    libc = _libc()
    _shown.append(memory)
    wanted.brk = libc.sbrk(0)  # last, because the heap may have grown
    size = ctypes.sizeof(wanted)
    if libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, ctypes.addressof(wanted), size, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"PR_SET_MM_MAP: {os.strerror(error)}")


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sbrk.restype = ctypes.c_void_p
    libc.prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
    return libc


def _block(words: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)
