"""The CPU time and the memory of a process, from the kernel."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """CPU seconds so far, including ended children; 0 if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = text[text.rindex(")") + 2 :].split()
    return sum(map(int, fields[11:15])) / _TICKS


def scheduled_seconds(pid: int) -> float:
    """CPU seconds of the present threads, with nanosecond precision: for nearly idle processes."""
    times = Path(f"/proc/{pid}/task").glob("*/schedstat")
    try:
        found = [int(time.read_text().split()[0]) / 1e9 for time in times]
    except (FileNotFoundError, ProcessLookupError):
        found = []
    return sum(found) if found else cpu_seconds(pid)


def pss_bytes(pid: int) -> int:
    """The memory of a process, with its share of shared pages; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    sizes = (line.split() for line in text.splitlines() if line.startswith("Pss:"))
    return sum(int(size) for _, size, _ in sizes) * 1024


def rss_bytes(pid: int) -> int:
    """The resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def own_rss_bytes() -> int:
    """The resident memory of the calling process."""
    return rss_bytes(os.getpid())
