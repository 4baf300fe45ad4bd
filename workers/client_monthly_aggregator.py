"""Days of clients to months."""

from __future__ import annotations

from workers.sums import AddingUpClients


class ClientMonthlyAggregator(AddingUpClients):
    """Adds up the days of a month, for each client."""
