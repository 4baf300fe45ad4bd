"""Work functions that do what none should do, each in a process of its own.

For the timetable's first hour each misbehaves; for all others it does what it should.
"""

import os
import sys
from datetime import UTC, datetime

from synergy.config.context import (
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)
from synergy.worker import Processed, Task, Worker

START = os.environ.get("SYNERGY_START_TIMEPERIOD", "")
HERE = "tests.acceptance.deployments.misbehaving"


class Good(Worker):
    """Writes a row. `reason` is what shall be told of the first hour."""

    reason: str

    def work(self, task: Task) -> object:
        if task.timeperiod == START:
            return self.misbehave(task)
        task.sink.replace(task.timeperiod, [{"domain": "d"}])
        return Processed()

    def misbehave(self, task: Task) -> object:
        raise NotImplementedError


class ForgetsToAnswer(Good):
    reason = "TypeError: work gave back NoneType, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return None


class AnswersNonsense(Good):
    reason = "TypeError: work gave back str, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return "done"


class CountsInWords(Good):
    reason = "TypeError: the count 'rows' is no whole number"

    def misbehave(self, task: Task) -> object:
        return Processed({"rows": object()})


class WritesRowsTwice(Good):
    reason = "row 2 (domain='d') would take the place of row 1"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d"}, {"domain": "d"}])
        return Processed()


class WritesElsewhere(Good):
    reason = "document 'd' at 2001010100 lies outside"

    def misbehave(self, task: Task) -> object:
        task.sink.replace("2001010100", [{"domain": "d"}])
        return Processed()


class WritesWhatCannotBeKept(Good):
    reason = "row 1 (domain='d'): field x is a set, which cannot be stored"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "at": datetime.now(UTC), "x": {1, 2}}])
        return Processed()


class WritesHugeNumbers(Good):
    reason = "row 1 (domain='d'): field n is a whole number beyond 64 bits"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 10**30}])
        return Processed()


class WritesNoNumber(Good):
    reason = "row 1 (domain='d'): field stat.mean is nan"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "stat": {"mean": float("nan")}}])
        return Processed()


class LacksAKey(Good):
    reason = "row 1 has no field 'domain'"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"site": "d"}])
        return Processed()


class HasNoSource(Good):
    reason = "ValueError: HasNoSource has no source in the store"

    def misbehave(self, task: Task) -> object:
        return list(task.source)


class LogsWhatCannotBeFormatted(Good):
    reason = "ValueError: the last word"

    def misbehave(self, task: Task) -> object:
        task.log.info("%d rows", "many")
        raise ValueError("the last word")


class Exits(Good):
    reason = "SystemExit: I have had enough"

    def misbehave(self, task: Task) -> object:
        sys.exit("I have had enough")


class Recurses(Good):
    reason = "RecursionError: "

    def misbehave(self, task: Task) -> object:
        return self.misbehave(task)


class SaysMuch(Good):
    reason = "ValueError: ? ? yyy"

    def misbehave(self, task: Task) -> object:
        task.log.info("x" * 10_000_000)
        for number in range(20_000):
            task.log.info("line %d", number)
        raise ValueError("\ud800 \x00 " + "y" * 10_000_000)


class Dies(Good):
    reason = "its worker is gone, 2 times"

    def misbehave(self, task: Task) -> object:
        os._exit(9)


MISBEHAVING = Good.__subclasses__()
process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=[".*"],
    ),
    **{
        one.__name__: managed_context_entry(
            process_name=one.__name__,
            classname=f"{HERE}.{one.__name__}.start",
            time_qualifier=QUALIFIER_HOURLY,
            sink=one.__name__.lower(),
            settle="0s",
            trigger_frequency="every 60",
            retry_backoff="0s",
            max_attempts=2,
            present_on_boxes=[".*"],
        )
        for one in MISBEHAVING
    },
}
timetable_context = {
    one.__name__: timetable_tree_entry(tree_name=one.__name__, enclosed_processes=[one.__name__])
    for one in MISBEHAVING
}
schedule_context: dict[str, object] = {}
