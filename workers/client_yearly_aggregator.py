"""Aggregates months of clients to years."""

from __future__ import annotations

from workers.aggregators import ClientAggregator


class ClientYearlyAggregator(ClientAggregator):
    """Adds up the months of a year for each client."""
