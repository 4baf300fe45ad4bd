"""Those whom `bus` measures Synergy against, on the same broker.

Each is two programs, which run by themselves: one carries out messages, one sends them and
takes the time. Celery and Dramatiq run in an environment of their own, so nothing here may
import more of Synergy than its clock.
"""
