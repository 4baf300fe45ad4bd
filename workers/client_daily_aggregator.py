"""Aggregates days of sites to days of clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from synergy.worker import Task
from workers.aggregators import ClientAggregator
from workers.statistics import Row

UNASSIGNED = "unassigned"


class ClientDailyAggregator(ClientAggregator):
    """Adds up the sites of each client.

    The process argument `clients` maps sites to clients; other sites belong to `unassigned`.
    """

    def owner_of(self, task: Task, row: Row) -> str:
        clients = cast("Mapping[str, str]", task.arguments.get("clients", {}))
        return clients.get(row["domain"], UNASSIGNED)
