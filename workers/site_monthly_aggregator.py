"""Aggregates days of sites to months."""

from __future__ import annotations

from workers.aggregators import SiteAggregator


class SiteMonthlyAggregator(SiteAggregator):
    """Adds up the days of a month for each site."""
