"""Hours of sites to days."""

from __future__ import annotations

from workers.sums import AddingUpSites


class SiteDailyAggregator(AddingUpSites):
    """Adds up the hours of a day, for each site."""
