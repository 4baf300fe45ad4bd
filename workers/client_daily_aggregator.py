"""Days of sites to days of clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from synergy.worker import Task
from workers.statistics import Row
from workers.sums import AddingUpClients

UNASSIGNED = "unassigned"


class ClientDailyAggregator(AddingUpClients):
    """Adds up the sites of each client.

    The argument `clients` of the process says which client owns a site, `{site: client}`;
    the sites that it does not name belong to `unassigned`.
    """

    def whose(self, task: Task, row: Row) -> str:
        clients = cast("Mapping[str, str]", task.arguments.get("clients", {}))
        return clients.get(row["domain"], UNASSIGNED)
