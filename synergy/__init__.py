"""Synergy: a timetable for time-partitioned data processing."""

__version__ = "0.1.0"
