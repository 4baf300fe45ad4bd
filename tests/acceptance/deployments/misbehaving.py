"""Workers with defective work functions: a different defect in each of the first hours.

In all later hours the same worker succeeds. The defect that kills its process would affect units
beside it, so it has a process of its own, `Dying`, which dies in the first hour.
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


class Defect:
    """A way to misbehave; the recorded failure must contain `reason`."""

    reason: str

    def misbehave(self, task: Task) -> object:
        raise NotImplementedError


class ForgetsToAnswer(Defect):
    reason = "TypeError: work returned NoneType, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return None


class AnswersNonsense(Defect):
    reason = "TypeError: work returned str, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return "done"


class CountsInWords(Defect):
    reason = "TypeError: the count 'rows' is not a whole number"

    def misbehave(self, task: Task) -> object:
        return Processed({"rows": object()})


class WritesRowsTwice(Defect):
    reason = "row 2 (domain='d') would replace row 1"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d"}, {"domain": "d"}])
        return Processed()


class WritesElsewhere(Defect):
    reason = "document 'd' at 2001010100 lies outside"

    def misbehave(self, task: Task) -> object:
        task.sink.replace("2001010100", [{"domain": "d"}])
        return Processed()


class WritesWhatCannotBeKept(Defect):
    reason = "row 1 (domain='d'): field x is a set, which cannot be stored"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "at": datetime.now(UTC), "x": {1, 2}}])
        return Processed()


class WritesHugeNumbers(Defect):
    reason = "row 1 (domain='d'): field n is a whole number beyond 64 bits"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 10**30}])
        return Processed()


class WritesNoNumber(Defect):
    reason = "row 1 (domain='d'): field stat.mean is nan"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "stat": {"mean": float("nan")}}])
        return Processed()


class LacksAKey(Defect):
    reason = "row 1 has no field 'domain'"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"site": "d"}])
        return Processed()


class HasNoSource(Defect):
    reason = "ValueError: Misbehaving has no source in the store"

    def misbehave(self, task: Task) -> object:
        return list(task.source)


class LogsWhatCannotBeFormatted(Defect):
    reason = "ValueError: the last word"

    def misbehave(self, task: Task) -> object:
        task.log.info("%d rows", "many")
        raise ValueError("the last word")


class Exits(Defect):
    reason = "SystemExit: I have had enough"

    def misbehave(self, task: Task) -> object:
        sys.exit("I have had enough")


class Recurses(Defect):
    reason = "RecursionError: "

    def misbehave(self, task: Task) -> object:
        return self.misbehave(task)


class SaysMuch(Defect):
    reason = "ValueError: ? ? yyy"

    def misbehave(self, task: Task) -> object:
        task.log.info("x" * 10_000_000)
        for number in range(20_000):
            task.log.info("line %d", number)
        raise ValueError("\ud800 \x00 " + "y" * 10_000_000)


def defects(start):
    """The hours in which the worker misbehaves, with the defect of each."""
    return {f"{start[:8]}{hour:02}": defect for hour, defect in enumerate(Defect.__subclasses__())}


class Misbehaving(Worker):
    """Misbehaves in hours that have a defect; writes a row in all others."""

    unique_by = ("domain",)

    def work(self, task: Task) -> object:
        defect = defects(START).get(task.timeperiod)
        if defect is not None:
            return defect().misbehave(task)
        task.sink.replace(task.timeperiod, [{"domain": "d"}])
        return Processed()


class Dying(Worker):
    """Kills its process in the first hour; writes a row in all others."""

    reason = "failed 2 times; last: its worker is gone"

    def work(self, task: Task) -> object:
        if task.timeperiod == START:
            os._exit(9)
        task.sink.replace(task.timeperiod, [{"domain": "d"}])
        return Processed()


def hourly(name):
    return managed_context_entry(
        process_name=name,
        classname=f"tests.acceptance.deployments.misbehaving.{name}.start",
        time_qualifier=QUALIFIER_HOURLY,
        sink=name.lower(),
        settle="0s",
        trigger_frequency="every 60",
        retry_backoff="0s",
        max_attempts=2,
        present_on_boxes=[".*"],
    )


process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=[".*"],
    ),
    "Misbehaving": hourly("Misbehaving"),
    "Dying": hourly("Dying"),
}
timetable_context = {
    name: timetable_tree_entry(tree_name=name, enclosed_processes=[name])
    for name in ("Misbehaving", "Dying")
}
schedule_context: dict[str, object] = {}
