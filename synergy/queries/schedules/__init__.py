"""Queries of schedules, their runs, and the events that trigger them."""
