"""Steps of migrations that need Python; each runs in its migration's transaction.

`upgrade` runs them after the SQL of their migration, which is in `sql/migrations/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import apsw

from synergy.storage.sqlite.columns import fetch
from synergy.storage.sqlite.jobs import read_block, save_blocks
from synergy.storage.sqlite.queries import queries
from synergy.storage.upgrade_given_up import CanceledUnit, Skip, marks, suspects

_SQL = queries("migration_steps")
_THEN = re.compile(r"^-- then: (\w+)$", re.MULTILINE)

Step = Callable[[apsw.Connection], None]


def mark_given_up(connection: apsw.Connection) -> None:
    """Marks skipped jobs that were given up; see `synergy.storage.upgrade_given_up`."""
    units = (CanceledUnit(*row) for row in fetch(connection, _SQL["canceled_units"]))
    entries = (Skip(*row) for row in fetch(connection, _SQL["skips"]))
    changed = []
    for place, jobs in suspects(units, entries).items():
        block = read_block(connection, place)
        found = marks(block, jobs)
        for ordinal, byte in found.items():
            block.apply(ordinal, ordinal, byte, None)
        if found:
            changed.append((place, block))
    save_blocks(connection, changed)


STEPS: Mapping[str, Step] = {"mark_given_up": mark_given_up}


def steps_of(migration: str) -> list[Step]:
    """The steps that a migration names in lines `-- then: <name>`."""
    return [STEPS[name] for name in _THEN.findall(migration)]
