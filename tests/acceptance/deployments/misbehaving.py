"""Work that does what none should do: in each of the timetable's first hours something else.

In all hours after these the same worker does what it should. The work that ends its process, and
with that all that is in the same hands, has a process of its own: it does so in the first hour.
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


class Way:
    """`reason` is what shall be told of the hour."""

    reason: str

    def misbehave(self, task: Task) -> object:
        raise NotImplementedError


class ForgetsToAnswer(Way):
    reason = "TypeError: work returned NoneType, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return None


class AnswersNonsense(Way):
    reason = "TypeError: work returned str, not Processed or Nothing"

    def misbehave(self, task: Task) -> object:
        return "done"


class CountsInWords(Way):
    reason = "TypeError: the count 'rows' is not a whole number"

    def misbehave(self, task: Task) -> object:
        return Processed({"rows": object()})


class WritesRowsTwice(Way):
    reason = "row 2 (domain='d') would replace row 1"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d"}, {"domain": "d"}])
        return Processed()


class WritesElsewhere(Way):
    reason = "document 'd' at 2001010100 lies outside"

    def misbehave(self, task: Task) -> object:
        task.sink.replace("2001010100", [{"domain": "d"}])
        return Processed()


class WritesWhatCannotBeKept(Way):
    reason = "row 1 (domain='d'): field x is a set, which cannot be stored"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "at": datetime.now(UTC), "x": {1, 2}}])
        return Processed()


class WritesHugeNumbers(Way):
    reason = "row 1 (domain='d'): field n is a whole number beyond 64 bits"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "n": 10**30}])
        return Processed()


class WritesNoNumber(Way):
    reason = "row 1 (domain='d'): field stat.mean is nan"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"domain": "d", "stat": {"mean": float("nan")}}])
        return Processed()


class LacksAKey(Way):
    reason = "row 1 has no field 'domain'"

    def misbehave(self, task: Task) -> object:
        task.sink.replace(task.timeperiod, [{"site": "d"}])
        return Processed()


class HasNoSource(Way):
    reason = "ValueError: Misbehaving has no source in the store"

    def misbehave(self, task: Task) -> object:
        return list(task.source)


class LogsWhatCannotBeFormatted(Way):
    reason = "ValueError: the last word"

    def misbehave(self, task: Task) -> object:
        task.log.info("%d rows", "many")
        raise ValueError("the last word")


class Exits(Way):
    reason = "SystemExit: I have had enough"

    def misbehave(self, task: Task) -> object:
        sys.exit("I have had enough")


class Recurses(Way):
    reason = "RecursionError: "

    def misbehave(self, task: Task) -> object:
        return self.misbehave(task)


class SaysMuch(Way):
    reason = "ValueError: ? ? yyy"

    def misbehave(self, task: Task) -> object:
        task.log.info("x" * 10_000_000)
        for number in range(20_000):
            task.log.info("line %d", number)
        raise ValueError("\ud800 \x00 " + "y" * 10_000_000)


def ways(start):
    """The hours in which the worker misbehaves, each with how it does."""
    return {f"{start[:8]}{hour:02}": way for hour, way in enumerate(Way.__subclasses__())}


class Misbehaving(Worker):
    """Writes a row in hours without a way."""

    unique_by = ("domain",)

    def work(self, task: Task) -> object:
        way = ways(START).get(task.timeperiod)
        if way is not None:
            return way().misbehave(task)
        task.sink.replace(task.timeperiod, [{"domain": "d"}])
        return Processed()


class Dying(Worker):
    """Writes a row, if it comes so far."""

    reason = "its worker is gone, 2 times"

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
