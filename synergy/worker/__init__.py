"""The API for authors of workers; most workers import nothing else of Synergy.

The other modules claim units, run the author's work, and conclude the units.
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
