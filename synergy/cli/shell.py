"""`launch.py shell`: a Python prompt with the deployment at hand."""

from __future__ import annotations

import argparse
from typing import Any

EXAMPLE = """example:
  launch.py shell
  >>> reads.why("SiteDailyAggregator", "2015051700")
"""
BANNER = """Synergy on {store}
at hand: project, store, bus, reads, actions, upkeep, clock, who (the actor for actions)
"""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "shell",
        help="a Python prompt with the deployment at hand",
        description="A Python prompt with store, bus, reads and actions at hand.",
        epilog=EXAMPLE,
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Talks until the person leaves."""
    import code
    from contextlib import suppress

    from synergy.cli.services import actor, services

    with suppress(ImportError):
        import readline  # noqa: F401 - imported, it gives the prompt a history
    with services() as at:
        names = {
            "project": at.project,
            "store": at.store,
            "bus": at.bus,
            "reads": at.reads,
            "actions": at.actions,
            "upkeep": at.upkeep,
            "clock": at.project.settings.clock,
            "who": actor("by hand"),
        }
        banner = BANNER.format(store=at.project.settings.store)
        code.interact(banner=banner, local=names, exitmsg="")
