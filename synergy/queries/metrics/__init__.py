"""Collectors of metrics for `prometheus_client`; `mx.services` registers them.

- `deployment`: the current state. `agents`: agents, schedules and runs.
- `activity`: reads new journal entries and passes them to `work` (counts, durations and latencies)
  and `throughput` (the units and jobs that were finished in each minute).
- `families`: how the metric families are made.

`mx.request_metrics` counts the requests to MX itself.
"""
