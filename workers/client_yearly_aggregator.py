"""Months of clients to years."""

from __future__ import annotations

from workers.adding_up import AddingUpClients


class ClientYearlyAggregator(AddingUpClients):
    """Adds up the months of a year, for each client."""
