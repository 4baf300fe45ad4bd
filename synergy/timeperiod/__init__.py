"""What a period is: qualifiers, timeperiods and ordinals, grouping."""

from synergy.timeperiod.grouping import checkpoint, covered, largest_grouping
from synergy.timeperiod.qualifier import Qualifier

__all__ = ["Qualifier", "checkpoint", "covered", "largest_grouping"]
