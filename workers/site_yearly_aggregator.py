"""Aggregates months of sites to years."""

from __future__ import annotations

from workers.aggregators import SiteAggregator


class SiteYearlyAggregator(SiteAggregator):
    """Adds up the months of a year for each site."""
