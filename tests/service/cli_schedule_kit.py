"""Schedule files."""

from __future__ import annotations

TWO = """
name: nightly
target: https://user.example.com/hook?token=t0ken
headers: {Authorization: Bearer s3cret}
payload: |
  {"day": "${yesterdaysDate}", "what": "${nothing}"}
trigger: cron 30 2 * * *
zone: Europe/Berlin
---
name: hourly
target: sqs:jobs
trigger: every 3600
"""
WRONG = """
name: first
target: ftp://x
trigger: every 0
---
name: second
target: https://x.example.com/
trigger: cron 99 * * * *
"""
NIGHTLY = """
name: nightly
target: https://user.example.com/hook
payload: {"day": "${yesterday}"}
trigger: cron 30 2 * * *
"""
IMPORT = """
name: import-orders
target: https://user.example.com/hook
trigger: {event: {type: FILE, resource: /data/in, life: 1h}}
"""


def everything(system) -> object:
    """All that a refused command must leave unchanged."""
    store = system.store
    return (
        store.schedules.find(1000), store.runs.find(limit=1000), store.events.find(1000),
        dict(store.status().rows), store.journal.last_seq(),
    )  # fmt: skip
