"""`launch.py shell`: a Python prompt with the deployment at hand."""

from __future__ import annotations

import argparse
from typing import Any

from synergy.cli.services import actor, services

EXAMPLE = """example:
  launch.py shell
  >>> reads.why("SiteDailyAggregator", "2015051700")
"""
BANNER = """Synergy on {store}
at hand: project, store, bus, reads, clock, who (the actor for commands), and the commands bulk,
units, processes, timetable, maintenance
"""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "shell",
        help="a Python prompt with the deployment at hand",
        description="A Python prompt with store, bus, queries and commands at hand.",
        epilog=EXAMPLE,
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Runs the prompt until it is left."""
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
