"""The programs that `bus` compares Synergy with, on the same broker.

Each contestant is two programs: one processes messages, one sends them and takes the time. Celery
and Dramatiq run in an environment of their own, so nothing here may import more of Synergy than its
clock.
"""
