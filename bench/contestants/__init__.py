"""The programs that `bus` and `schedules` compare Synergy with.

Each contestant of `bus` is two programs: one processes messages, one sends them to the same broker
and takes the time. Celery, Dramatiq and APScheduler run in an environment of their own, so nothing
here may import modules of Synergy that need its packages.
"""
