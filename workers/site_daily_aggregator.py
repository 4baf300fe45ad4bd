"""Aggregates hours of sites to days."""

from __future__ import annotations

from workers.aggregators import SiteAggregator


class SiteDailyAggregator(SiteAggregator):
    """Adds up the hours of a day for each site."""
