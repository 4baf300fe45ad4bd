"""What a period is: qualifiers, timeperiods and ordinals, grouping; and how people write it."""

from synergy.timeperiod.grouping import checkpoint, covered, largest_grouping
from synergy.timeperiod.qualifier import Qualifier
from synergy.timeperiod.written import (
    parse_between,
    parse_hour,
    parse_named,
    parse_period,
    parse_range,
)

__all__ = [
    "Qualifier",
    "checkpoint",
    "covered",
    "largest_grouping",
    "parse_between",
    "parse_hour",
    "parse_named",
    "parse_period",
    "parse_range",
]
