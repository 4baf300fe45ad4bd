"""Aggregates days of clients to months."""

from __future__ import annotations

from workers.aggregators import ClientAggregator


class ClientMonthlyAggregator(ClientAggregator):
    """Adds up the days of a month for each client."""
