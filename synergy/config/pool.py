"""The pool of each box: the instances of a process that is declared by no entry."""

from __future__ import annotations

import os
from collections.abc import Mapping

from synergy.config.settings import Settings
from synergy.model.process import BuiltIn, DaemonProcess, Deployment, Process
from synergy.model.switches import belongs
from synergy.names import POOL

SMALLEST, LARGEST = 2, 256  # members; one alone could be taken by one long unit
MOST_BY_DEFAULT = 16
MEMBER_BYTES = 512 << 20  # of the machine's memory, for each member of the default size


def default_size(cores: int, memory: int) -> int:
    """Two members for each core, as far as the memory (bytes) allows."""
    return max(SMALLEST, min(2 * cores, memory // MEMBER_BYTES, MOST_BY_DEFAULT))


def size_of_machine() -> int:
    """The default size on this machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return default_size(len(os.sched_getaffinity(0)), memory)


def with_pool(processes: Mapping[str, Process], settings: Settings) -> dict[str, Process]:
    """The processes, and the pool if it has any of them to serve.

    It has no more members than can be busy at once on this box.
    """
    pooled = Deployment(processes, {}).pooled().values()
    if not pooled:
        return dict(processes)
    patterns = dict.fromkeys(pattern for each in pooled for pattern in each.present_on_boxes)
    usable = sum(each.max_active for each in pooled if belongs(each, settings.box_id))
    pool = DaemonProcess(
        name=POOL,
        classname=BuiltIn.POOL.value,
        token="pool",
        present_on_boxes=tuple(patterns),
        instances=max(SMALLEST, min(settings.pool_size, usable)),
    )
    return {**processes, POOL: pool}
