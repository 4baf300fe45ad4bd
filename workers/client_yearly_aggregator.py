"""Months of clients to years."""

from __future__ import annotations

from workers.sums import AddingUpClients


class ClientYearlyAggregator(AddingUpClients):
    """Adds up the months of a year, for each client."""
