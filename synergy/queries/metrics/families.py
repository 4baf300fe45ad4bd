"""Metric families of `prometheus_client`, as the collectors of this package yield them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import disable_created_metrics
from prometheus_client.core import GaugeMetricFamily

NAMESPACE = "synergy"

# The creation time of each counter would double the number of series, and is not used.
disable_created_metrics()

Samples = Iterable[tuple[dict[str, str], float]]
"""Labels and values."""


def full_name(name: str) -> str:
    """The name of a metric with the prefix that all have."""
    return f"{NAMESPACE}_{name}"


def gauge(name: str, description: str, samples: Samples) -> GaugeMetricFamily:
    """A gauge with these samples; `name` is without the prefix."""
    family = GaugeMetricFamily(full_name(name), description)
    for labels, value in samples:
        family.add_sample(family.name, labels, value)
    return family


def cumulative(bounds: Iterable[float], buckets: Iterable[int]) -> Iterator[tuple[str, float]]:
    """The upper bound of each bucket and the count up to it; `buckets` has one more than bounds."""
    total = 0
    for bound, count in zip((*map(str, bounds), "+Inf"), buckets, strict=True):
        total += count
        yield bound, total
