"""The machine that was measured."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Machine:
    """The properties that numbers depend on. `load` is the load average of the last minute."""

    cores: int
    cpu: str
    memory_mib: int
    kernel: str
    python: str
    sqlite: str
    load: float


def this_machine(sqlite: str) -> Machine:
    """The properties of this machine, with the version of the store's engine."""
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        cpu=_cpu(),
        memory_mib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB,
        kernel=platform.release(),
        python=platform.python_version(),
        sqlite=sqlite,
        load=round(os.getloadavg()[0], 2),
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
