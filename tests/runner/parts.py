"""Parts of the tests, which run at the same time, and a second try for tests of real processes.

A part is a process of pytest. Each lane runs one part at a time and then takes the next one, so all
lanes end at about the same time if the longest parts come first.

Tests of real processes can fail because the machine is slow. Such a failed test is repeated once,
alone, after all parts have ended. Tests within a process are not repeated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from synergy.cli.output import colour, say
from synergy.clock import SystemClock
from tests.runner import outcomes

LANES = (os.cpu_count() or 1) + 1  # one more than processors: tests of real processes wait a lot
SOUND = (0, 5)  # exit codes of pytest for success; 5: no tests were collected
_WORST = ("failed", "skipped", "passed")


@dataclass(frozen=True, slots=True)
class Part:
    """Arguments of pytest; `is_real`: the tests start real processes and get a second try."""

    name: str
    words: tuple[str, ...]
    is_real: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a test, or of a module that could not be imported."""

    test: str
    outcome: str
    reason: str = ""
    is_story: bool = False

    @property
    def again(self) -> str:
        """The test or module to run for a second try."""
        return self.test.partition("::")[0] if self.is_story else self.test


@dataclass(frozen=True, slots=True)
class Ended:
    """A part that was run, with its tests by their names."""

    part: Part
    code: int
    tests: Mapping[str, Outcome]
    seconds: float

    @property
    def failed(self) -> list[Outcome]:
        return [test for test in self.tests.values() if test.outcome == "failed"]

    @property
    def is_broken(self) -> bool:
        """Whether pytest failed although no test did."""
        return self.code not in SOUND and not self.failed


@dataclass
class Summary:
    """The results of all parts; tests that passed only at the second try are `unsteady`."""

    ended: list[Ended]
    seconds: float
    unsteady: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.failed


class Runner:
    """Runs parts of the tests in the folder `root`."""

    def __init__(self, root: Path, lanes: int = LANES) -> None:
        self._root = root
        self._lanes = lanes
        self._clock = SystemClock()
        self._environ: Mapping[str, str] = os.environ
        self._speaks = Lock()

    def run(self, parts: Sequence[Part]) -> Summary:
        """Runs all parts, repeats failed tests of real processes, and returns the results."""
        begun = self._clock.monotonic()
        with tempfile.TemporaryDirectory() as compiled:
            self._environ = _that_compiles_once(compiled)
            with ThreadPoolExecutor(self._lanes) as pool:
                ended = list(pool.map(self._run, parts))
            summary = Summary(ended, 0.0)
            for one in ended:
                self._judge(one, summary)
        summary.seconds = self._clock.monotonic() - begun
        return summary

    def _run(self, part: Part) -> Ended:
        with self._speaks:
            say(f"{part.name}: begun")
            sys.stdout.flush()
        begun = self._clock.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            said, file = Path(folder, "said"), Path(folder, "outcomes")
            file.touch()
            with said.open("wb") as output:
                code = self._pytest(part.words, file, output.fileno())
            ended = Ended(part, code, _read(file), self._clock.monotonic() - begun)
            with self._speaks:
                _show(ended, said.read_text(encoding="utf-8", errors="replace"))
        return ended

    def _pytest(self, words: Iterable[str], file: Path, output: int) -> int:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", outcomes.__name__, *words],
            cwd=self._root,
            env={**self._environ, outcomes.FILE: str(file)},
            check=False,
            stdout=output,
            stderr=output,
        ).returncode

    def _judge(self, ended: Ended, summary: Summary) -> None:
        if ended.is_broken:
            summary.failed.append(f"{ended.part.name} (pytest ended with {ended.code})")
        if not ended.part.is_real:
            summary.failed += [test.test for test in ended.failed]
            return
        again = dict.fromkeys(test.again for test in ended.failed)
        for module in dict.fromkeys(name.partition("::")[0] for name in again):
            names = [name for name in again if name.partition("::")[0] == module]
            second = self._run(Part(f"{module}, alone, a second time", tuple(names)))
            _compare(ended, module, second, summary)


def _that_compiles_once(folder: str) -> dict[str, str]:
    """Returns the environment of the tests, in which processes share compiled code in `folder`.

    Images of containers often set PYTHONDONTWRITEBYTECODE. Then every process of every test would
    compile all that it imports, which doubles the time of imports. A folder that the environment
    names already is kept.
    """
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"PYTHONPYCACHEPREFIX": folder, **kept}


def _compare(first: Ended, module: str, second: Ended, summary: Summary) -> None:
    """Reports both outcomes of each test that failed at first, and records them in `summary`."""
    for test in first.failed:
        if test.test.partition("::")[0] != module:
            continue
        found = second.tests.get(test.test)
        # A module that can be imported now has no outcome of its own, but its tests have.
        is_read = "::" not in test.test and second.code == 0
        outcome = found.outcome if found else "passed" if is_read else "not run"
        say(f"{test.test}: failed, and then alone: {outcome}")
        (summary.unsteady if outcome == "passed" else summary.failed).append(test.test)
    known = {*summary.failed, *summary.unsteady}
    summary.failed += [test.test for test in second.failed if test.test not in known]


def _read(file: Path) -> dict[str, Outcome]:
    """Returns the outcome of each test: the worst, if setup, call and teardown differ."""
    found: dict[str, Outcome] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        one = Outcome(**json.loads(line))
        before = found.get(one.test)
        if before is None or _WORST.index(one.outcome) < _WORST.index(before.outcome):
            found[one.test] = one
    return found


def _show(ended: Ended, said: str) -> None:
    """Prints the output of pytest if something failed, and the numbers of outcomes."""
    if ended.failed or ended.is_broken:
        say(said.rstrip())
    is_sound = not (ended.failed or ended.is_broken)
    verdict = colour("sound", "green") if is_sound else colour("FAILED", "red")
    say(f"{ended.part.name}: {verdict}, {_counted([ended])} in {ended.seconds:.0f} s")
    sys.stdout.flush()


def _counts(ended: Iterable[Ended]) -> Counter[str]:
    return Counter(test.outcome for one in ended for test in one.tests.values())


def _counted(ended: Iterable[Ended]) -> str:
    counts = _counts(ended)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))


def conclude(summary: Summary) -> None:
    """Prints skipped tests with reasons, failed and unsteady tests, and totals."""
    reasons = Counter(
        test.reason.removeprefix("Skipped: ")
        for one in summary.ended
        for test in one.tests.values()
        if test.outcome == "skipped"
    )
    for reason, count in reasons.most_common():
        say(f"skipped: {count}: {reason or 'no reason given'}")
    for name in summary.failed:
        say(f"failed: {name}")
    say(f"unsteady: {', '.join(summary.unsteady) or 'none'}")
    verdict = colour("sound", "green") if summary.is_sound else colour("FAILED", "red")
    say(f"verdict: {verdict}, in {summary.seconds:.0f} s")
    counts = _counts(summary.ended)
    passed = counts["passed"] + len(summary.unsteady)
    say(f"tests: {passed} passed, {len(summary.failed)} failed, {counts['skipped']} skipped")
    sys.stdout.flush()
