"""Names of the stores that are copied, and the command that copies them."""

from __future__ import annotations

from typing import Any

from synergy.cli import exits
from synergy.storage.protocol import Store
from tests.service.commands import Commands

HOUR, DAY = "SiteHourlyAggregator", "SiteDailyAggregator"
SOURCE = "sqlite:///<home>/synergy.db"
ELSEWHERE = "far-away/another-boot/12/34/word"  # an incarnation on another host


def release_leases(store: Store) -> None:
    """Leaves the store as stopped services do."""
    for lease in store.leases.all(""):
        store.leases.release(lease)


def copy(commands: Commands, source: str, target: str, code: int = 0) -> Any:
    return commands.json("store", "copy", "--from", source, "--to", target, code=code)


def refused(commands: Commands, source: str, target: str, code: int = exits.REFUSED) -> str:
    """The message of a copy that ends with this exit code."""
    assert commands.run("store", "copy", "--from", source, "--to", target) == code, commands.text
    return commands.err
