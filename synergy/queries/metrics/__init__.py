"""Metrics: collectors for `prometheus_client`, which `mx.services` registers.

- `deployment`: the current state; `work`: counts, durations and latencies, from the journal.
- `agents`: agents, schedules and runs; requests to MX itself are counted in `mx.traffic`.
- `activity` and `throughput`: entries of the journal, and what was finished in each minute.
"""
