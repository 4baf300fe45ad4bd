"""What happens next to jobs, units of work and runs: legal moves and pure decisions.

- `legal_moves`: the tables; `state_changes` applies them.
- `situations` and `decision`: what is known of a job, and what can be decided about it.
- `machines`: the decision of each state machine; `reclaim`: that of the collector about a unit.
- `superseded_units`: whether a unit still serves its job.
"""
