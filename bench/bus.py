"""Units over RabbitMQ, compared with pika alone, Celery and Dramatiq.

All take turns on the same broker with the same number of messages, in several rounds. Ratios are
taken within a round, so that other load of the machine matters less.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench import others
from bench.contestants.race import TIMEOUT, Race
from bench.contexts.noop import PROCESS
from bench.figures import BenchFailed, Figure
from bench.history import closed_hours_ago
from bench.programs import output_of
from bench.stage import STOP_SECONDS, Lab, Stage
from bench.units import CONTEXT, CatchUp, catch_up
from synergy.clock import SystemClock
from synergy.runtime.masking import mask

ROUNDS = 3
LEFT_OUT = "left out by --without-others"
_PROGRAMS = "bench.contestants"
_TAIL = 1000


@dataclass(frozen=True, slots=True)
class Contestant:
    """Two programs, as arguments for Python: one processes messages, one sends them."""

    name: str
    work: Sequence[str]
    send: Sequence[str]


FLOOR = Contestant(
    "pika alone, two commits a unit",
    (f"{_PROGRAMS}.pika_floor", "work"),
    (f"{_PROGRAMS}.pika_floor", "send"),
)
CELERY = Contestant(
    "Celery, which keeps no state",
    (
        "celery",
        "-A",
        f"{_PROGRAMS}.celery_noop",
        "worker",
        "--concurrency",
        "2",
        "--loglevel",
        "ERROR",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ),
    (f"{_PROGRAMS}.celery_noop",),
)
DRAMATIQ = Contestant(
    "Dramatiq, which keeps no state",
    ("dramatiq", f"{_PROGRAMS}.dramatiq_noop", "--processes", "2"),
    (f"{_PROGRAMS}.dramatiq_noop",),
)


OTHERS = (CELERY, DRAMATIQ)


@dataclass(frozen=True, slots=True)
class Round:
    """The results of a round: units a second of Synergy, messages a second by contestant."""

    ours: CatchUp
    rates: Mapping[Contestant, float]


class Match:
    """Rounds of `size` units or messages for each contestant.

    `why_not` has the reasons of contestants that cannot take part.
    """

    def __init__(self, lab: Lab, size: int) -> None:
        self._lab = replace(lab, tell=lambda done, total: None)
        self._size = size
        self._pythons = {FLOOR: sys.executable}
        self.why_not: dict[Contestant, str] = {}
        self.rounds: list[Round] = []

    def admit_others(self) -> None:
        """Adds Celery and Dramatiq, which need an environment of their own."""
        why = LEFT_OUT
        if self._lab.with_others:
            try:
                self._pythons |= dict.fromkeys(OTHERS, str(others.python(self._lab.say)))
            except others.NotInstalled as error:
                why = str(error)
            else:
                return
        self.why_not |= dict.fromkeys(OTHERS, why)

    def play(self) -> None:
        """Plays a round."""
        first_hour = closed_hours_ago(self._size, SystemClock().now())
        bus = self._lab.bus
        with self._lab.stage(CONTEXT, start_timeperiod=first_hour, bus=bus) as stage:
            ours = catch_up(stage, self._size)
            _clean(stage, Race(bus, f"synergy.{PROCESS}", stage.home, 0))
        rates = {}
        with self._lab.stage() as stage:
            for contestant, python in list(self._pythons.items()):
                try:
                    rates[contestant] = race(stage, contestant, python, bus, self._size)
                except BenchFailed as error:
                    if contestant is FLOOR:
                        raise
                    del self._pythons[contestant]
                    self.why_not[contestant] = str(error)
        self.rounds.append(Round(ours, rates))

    def rate(self, contestant: Contestant) -> Figure:
        """The median of all rounds."""
        rates = [each.rates[contestant] for each in self.rounds if contestant in each.rates]
        return self._figure(contestant, contestant.name, rates, "1/s")

    def share(self, contestant: Contestant, at_least: float) -> Figure:
        """The rate of Synergy in per cent of a contestant's: the median ratio of all rounds."""
        ratios = [
            each.ours.rate / each.rates[contestant] * 100
            for each in self.rounds
            if contestant in each.rates
        ]
        name = f"Synergy to {contestant.name.partition(',')[0]}"
        return self._figure(contestant, name, ratios, "%", at_least)

    def _figure(
        self,
        contestant: Contestant,
        name: str,
        values: Sequence[float],
        unit: str,
        at_least: float | None = None,
    ) -> Figure:
        if contestant in self.why_not:
            return Figure(name, None, unit, at_least, why_not=self.why_not[contestant])
        return Figure(name, median(values), unit, at_least)


def measure(lab: Lab, size: int) -> list[Figure]:
    """Several rounds of `size` units or messages each."""
    match = Match(lab, size)
    match.admit_others()
    for number in range(ROUNDS):
        lab.tell(number, ROUNDS)
        match.play()
    ours = median(each.ours.rate for each in match.rounds)
    return [
        Figure("Synergy, durable units", ours, "1/s", at_least=1500),
        *(match.rate(contestant) for contestant in (FLOOR, *OTHERS)),
        match.share(FLOOR, at_least=60),
        *(match.share(contestant, at_least=100) for contestant in OTHERS),
        *match.rounds[-1].ours.cpu(),
    ]


def race(stage: Stage, contestant: Contestant, python: str, url: str, size: int) -> float:
    """Messages a second, from the first sent to the last processed."""
    queue = f"synergy-bench-{secrets.token_hex(4)}"
    where = Race(url, queue, stage.home / queue, size)
    environ = _environ(stage, where)
    output = where.marks.with_suffix(".out")
    try:
        with _running([python, "-m", *contestant.work], environ, output):
            seconds = _output([python, "-m", *contestant.send], environ)
    except BenchFailed as error:
        text = output.read_text(errors="replace").strip()[-_TAIL:]
        raise BenchFailed(mask(f"{contestant.name}: {error} {text}")) from None
    finally:
        _clean(stage, where)
    return size / float(seconds)


def _clean(stage: Stage, where: Race) -> None:
    """Deletes the queues of a race, if the broker can be reached."""
    with suppress(BenchFailed):
        _output([sys.executable, "-m", f"{_PROGRAMS}.pika_floor", "clean"], _environ(stage, where))


def _environ(stage: Stage, where: Race) -> dict[str, str]:
    return {**stage.environ, **where.environ(), "PYTHONPATH": str(stage.path)}


def _output(command: Sequence[str], environ: Mapping[str, str]) -> str:
    return output_of(command, command[2], 2 * TIMEOUT, environ=environ)


@contextmanager
def _running(command: Sequence[str], environ: Mapping[str, str], output: Path) -> Iterator[None]:
    """Runs a program; afterwards it and its children have ended."""
    with output.open("wb") as out:
        child = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield
    finally:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
