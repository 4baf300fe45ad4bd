"""Agents: one of them decides for all schedules, and all of them deliver."""
