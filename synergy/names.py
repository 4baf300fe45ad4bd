"""Names that several parts share: topics, queues, facts of the store, the defaults of the MX."""

from __future__ import annotations

from pathlib import Path

SCHEDULER_TOPIC = "scheduler"
"""Wakes the schedulers."""
AGENT_TOPIC = "agent"
"""Wakes the agents, which follow the runs of schedules."""
JOURNAL_TOPIC = "journal"
"""Wakes readers of the journal, after jobs have finished or the collector has run."""
SUPERVISOR_TOPIC = "supervisor"
"""Wakes the supervisors of all boxes, after assignments have changed."""
POOL_TOPIC = "pool"
"""Wakes the pools, after messages were published for processes that they serve."""

POOL = "Pool"
"""The process whose instances carry out the units of pooled processes; no other has this name."""
DELIVERIES = "deliveries"
"""The queue of the runs that agents send to their targets."""

SET_FOR_COMMANDS = (
    *("SYNERGY_RUN", "SYNERGY_UNIT", "SYNERGY_TIMEPERIOD", "SYNERGY_GENERATION"),
    *("SYNERGY_ATTEMPT", "SYNERGY_IDEMPOTENCY_KEY"),
)
"""The variables that Synergy sets for the programs that it starts."""

TIMETABLE_START = "timetable.start"
"""The fact that holds the first hour of the timetable."""
LAST_AUDIT = "audit/last"
"""The fact that holds the result of the newest audit."""
ROW_CHECK = "rows/check"
"""The fact that holds the progress of the check of all rows, and the malformed ones."""
STORE_COPY = "store.copy"
"""The fact that holds the progress of a copy of the store; also the name of the copier's lease."""
DECIDED_EVENT = "agent.events"
"""The fact that holds the number of the newest event that an agent has processed."""
RUN_COUNTS = "metrics/runs"
"""The fact that holds how many runs are in which unfinished state."""
PAUSED_SCHEDULES = "schedules/paused"
"""The fact that holds the names of the schedules that were paused after failures."""

MX_HOST = "127.0.0.1"
MX_PORT = 5000
MX_SESSION_IDLE = 30  # minutes without use, after which a session ends

HOME_FOLDERS = ("audit-log", "bells", "logs", "mx", "run")
"""The folders that Synergy creates in a home."""


def local_token(home: Path) -> Path:
    """The file with the token by which other users of this machine may use an MX without users."""
    return home / "mx" / "token"


def process_memory(box: str) -> str:
    """The fact that holds the resident memory of the processes of a box."""
    return f"memory/{box}"


def reload_request(box: str) -> str:
    """The fact that holds the newest request to take over the context on a box."""
    return f"reload/{box}"


def reload_answer(box: str) -> str:
    """The fact that holds what became of the newest context that was taken over on a box."""
    return f"reloaded/{box}"


def reload_reply(box: str) -> str:
    """The fact that holds the newest answer that took nothing over: a dry run, or mistakes."""
    return f"reload-reply/{box}"


def agent_counters(member: int) -> str:
    """The fact that holds the counts of the agent with this member number."""
    return f"metrics/agent/{member}"
