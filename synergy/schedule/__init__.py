"""Schedules, without I/O and clock: triggers and constraints, when they are due, what they cause.

`cron` reads cron expressions, `format` converts schedules from and to documents, `progress`
decides which runs a schedule makes as time passes and events arrive.
"""
