"""Months of sites to years."""

from __future__ import annotations

from workers.sums import AddingUpSites


class SiteYearlyAggregator(AddingUpSites):
    """Adds up the months of a year, for each site."""
