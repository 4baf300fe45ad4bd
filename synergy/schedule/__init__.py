"""Schedules, without I/O and clock: triggers and run constraints, due times, and runs.

`cron` reads cron expressions, `format` converts schedules from and to documents, `progress`
decides which runs a schedule makes as time passes and events arrive.
"""
