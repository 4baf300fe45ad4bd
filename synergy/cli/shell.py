"""`launch.py shell`: a Python prompt with the open project."""

from __future__ import annotations

import argparse

from synergy.cli.options import Verbs
from synergy.cli.services import actor, services

BANNER = """Synergy on {store}
defined: project, store, bus, reads, clock, who (the actor for commands), and the commands bulk,
units, processes, timetable, maintenance
"""


VERBS = Verbs()
add = VERBS.add_to


@VERBS.verb('launch.py shell\n>>> reads.why("SiteDailyAggregator", "2015051700")', records=())
def run_shell(_: argparse.Namespace) -> None:
    """Run a Python prompt with store, bus, queries and commands."""
    import code
    from contextlib import suppress

    with suppress(ImportError):
        import readline  # noqa: F401 - imported, it gives the prompt a history
    with services() as at:
        names = {
            "project": at.project,
            "store": at.store,
            "bus": at.bus,
            "reads": at.reads,
            "clock": at.project.settings.clock,
            "who": actor("by hand"),
            "bulk": at.bulk,
            "units": at.unit_commands,
            "processes": at.process_commands,
            "timetable": at.timetable_commands,
            "maintenance": at.maintenance,
        }
        banner = BANNER.format(store=at.project.settings.store)
        code.interact(banner=banner, local=names, exitmsg="")
