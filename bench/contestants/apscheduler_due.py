"""APScheduler in memory: its size with many jobs, and its delay with many due at once."""

from __future__ import annotations

import json
import sys
import threading
from datetime import timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from bench.figures import percentile
from bench.machine import MIB
from bench.procfs import own_rss_bytes
from synergy.clock import SystemClock

LEAD = 5.0  # seconds

_clock = SystemClock()


def memory(count: int) -> float:
    """The resident memory that so many cron jobs take, in MiB."""
    before = own_rss_bytes()
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.start(paused=True)
    for number in range(count):
        scheduler.add_job(print, "cron", minute=number % 60, hour=number // 60 % 24)
    return (own_rss_bytes() - before) / MIB


def lateness(count: int) -> float:
    """The 99th percentile of the delays of so many jobs that are due at once, in ms."""
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"misfire_grace_time": None})
    scheduler.start()
    due = (_clock.now() + timedelta(seconds=LEAD)).replace(microsecond=0)
    late: list[float] = []
    done = threading.Event()

    def begin() -> None:
        late.append((_clock.now() - due).total_seconds() * 1000)
        if len(late) == count:
            done.set()

    for _ in range(count):
        scheduler.add_job(begin, "date", run_date=due)
    done.wait(60)
    scheduler.shutdown()
    return percentile(late, 99)


if __name__ == "__main__":
    p99 = lateness(int(sys.argv[2]))
    sys.stdout.write(json.dumps({"p99": p99, "memory": memory(int(sys.argv[1]))}))
