"""The memory of processes: of this one, and of all as last reported by their supervisors."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from synergy.names import process_memory
from synergy.runtime.fact_text import fact_text
from synergy.storage.protocol import StoreView

Instance = tuple[str, int]  # a process, and its number among the instances of it


def own_memory() -> int:
    """The resident bytes of this process."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def release_free_memory() -> None:
    """Returns the free pages of the heap to the system, if the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only that of GNU has it
    if trim is not None:
        trim(0)


def written(taken: Mapping[Instance, int]) -> str:
    """The text of the fact; `taken` holds resident bytes."""
    return orjson.dumps([[process, n, size] for (process, n), size in taken.items()]).decode()


def memory(store: StoreView, box: str) -> dict[Instance, int]:
    """Resident bytes of the processes that ran on a box at the last report."""
    try:
        stored = orjson.loads(fact_text(store.facts, process_memory(box)) or "[]")
        return {(process, n): size for process, n, size in stored}
    except (TypeError, ValueError):  # malformed
        return {}
