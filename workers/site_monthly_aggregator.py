"""Days of sites to months."""

from __future__ import annotations

from workers.sums import AddingUpSites


class SiteMonthlyAggregator(AddingUpSites):
    """Adds up the days of a month, for each site."""
