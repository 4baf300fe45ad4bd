"""Cron expressions: their fields, and the times that they match."""
