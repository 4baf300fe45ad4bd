"""Metrics in Prometheus' text form: names, labels and numbers, a line each."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

PREFIX = "synergy_"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
Values = tuple[str, ...]
"""The values of a metric's labels, in their order."""


def heading(name: str, told: str, kind: str) -> Iterator[str]:
    """What stands before the samples of a metric; `name` without the prefix."""
    yield f"# HELP {PREFIX}{name} {told}"
    yield f"# TYPE {PREFIX}{name} {kind}"


def sample(name: str, labels: Labels, value: float) -> str:
    """One number of a metric."""
    inner = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{PREFIX}{name}{{{inner}}} {value}" if inner else f"{PREFIX}{name} {value}"


def gauge(name: str, told: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """A metric that goes up and down."""
    yield from heading(name, told, "gauge")
    yield from (sample(name, labels, value) for labels, value in samples)


def histogram(
    name: str, labels: Labels, bounds: Sequence[float], buckets: Sequence[int], total: float
) -> Iterator[str]:
    """The samples of a histogram; `buckets` has one more than there are `bounds`."""
    below = 0
    for bound, number in zip((*map(str, bounds), "+Inf"), buckets, strict=True):
        below += number
        yield sample(f"{name}_bucket", {**labels, "le": bound}, below)
    yield sample(f"{name}_sum", labels, total)
    yield sample(f"{name}_count", labels, below)


def escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Counter:
    """Counts in this process, from 0; may be used by several threads."""

    def __init__(self, name: str, told: str, *labels: str) -> None:
        self._name = name
        self._told = told
        self._labels = labels
        self._lock = threading.Lock()
        self._numbers: dict[Values, int] = {}

    def count(self, *values: str, number: int = 1) -> None:
        """Adds to the count with these labels."""
        with self._lock:
            self._numbers[values] = self._numbers.get(values, 0) + number

    def lines(self) -> Iterator[str]:
        with self._lock:
            numbers = sorted(self._numbers.items())
        yield from heading(self._name, self._told, "counter")
        for values, number in numbers:
            yield sample(self._name, dict(zip(self._labels, values, strict=True)), number)


class Durations:
    """A histogram of seconds, counted in this process; may be used by several threads."""

    def __init__(self, name: str, told: str, bounds: Sequence[float], *labels: str) -> None:
        self._name = name
        self._told = told
        self._bounds = bounds
        self._labels = labels
        self._lock = threading.Lock()
        self._counts: dict[Values, tuple[list[int], float]] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Adds a duration; one that is negative, by the clocks of two boxes, counts as 0."""
        seconds = max(0.0, seconds)
        with self._lock:
            empty: tuple[list[int], float] = [0] * (len(self._bounds) + 1), 0.0
            buckets, total = self._counts.get(values, empty)
            buckets[bisect_left(self._bounds, seconds)] += 1
            self._counts[values] = buckets, total + seconds

    def lines(self) -> Iterator[str]:
        with self._lock:
            counts = sorted((v, (list(b), total)) for v, (b, total) in self._counts.items())
        yield from heading(self._name, self._told, "histogram")
        for values, (buckets, total) in counts:
            labels = dict(zip(self._labels, values, strict=True))
            yield from histogram(self._name, labels, self._bounds, buckets, total)
