"""The base of workers: claims units, runs the author's work, concludes.

Authors of workers import from here only; the other modules carry their work out.
"""

from synergy.errors import InvalidValue, MessagingUnavailable, StorageUnavailable
from synergy.messaging.message import BadMessage, EventsMessage
from synergy.runtime.workplace import Daemon, Workplace
from synergy.storage.protocol import Documents
from synergy.worker.base import EventConsumer, Worker
from synergy.worker.outcome import Nothing, Outcome, Processed
from synergy.worker.task import Task

__all__ = [
    "BadMessage",
    "Daemon",
    "Documents",
    "EventConsumer",
    "EventsMessage",
    "InvalidValue",
    "MessagingUnavailable",
    "Nothing",
    "Outcome",
    "Processed",
    "StorageUnavailable",
    "Task",
    "Worker",
    "Workplace",
]
