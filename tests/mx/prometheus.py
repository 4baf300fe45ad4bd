"""A strict parser of the text format of Prometheus: unknown lines are errors."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HELP = re.compile(rf"# HELP ({NAME}) (.+)")
_TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram)")
_SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')

Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    """A metric: its kind, and its samples by name and labels."""

    kind: str
    told: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        """The sample with these labels."""
        (found,) = (
            value
            for (name, of), value in self.samples.items()
            if dict(of) == labels and (not suffix or name.endswith(suffix))
        )
        return found


def parse(text: str) -> dict[str, Family]:
    """The metrics by name; raises AssertionError for any deviation from the format."""
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    told = ""
    family = None
    for line in text.removesuffix("\n").split("\n"):
        if match := _HELP.fullmatch(line):
            assert match[1] not in families, f"{match[1]} comes twice"
            told = match[2]
            name = match[1]
        elif match := _TYPE.fullmatch(line):
            assert match[1] == name, f"{match[1]} has no help"
            family = families[name] = Family(match[2], told)
        else:
            match = _SAMPLE.fullmatch(line)
            assert match is not None, f"{line!r} is nothing"
            assert family is not None, f"{line!r} has no heading"
            _add(family, name, match)
    for name, family in families.items():
        assert family.kind != "counter" or name.endswith("_total"), f"{name} is a counter"
        if family.kind == "histogram":
            _check_histogram(name, family)
    return families


def _add(family: Family, name: str, match: re.Match[str]) -> None:
    suffix = match[1].removeprefix(name)
    allowed = {"_bucket", "_sum", "_count"} if family.kind == "histogram" else {""}
    assert match[1].startswith(name), f"{match[1]} stands under {name}"
    assert suffix in allowed, f"{match[1]} stands under {name}"
    labels = _labels(match[2] or "")
    assert len({label for label, _ in labels}) == len(labels), f"{match[0]}: a label comes twice"
    assert (match[1], labels) not in family.samples, f"{match[0]} comes twice"
    value = float(match[3])
    assert value == value, f"{match[0]} is no number"
    assert family.kind == "gauge" or value >= 0, f"{match[0]} counts below nothing"
    family.samples[match[1], labels] = value


def _labels(text: str) -> Labels:
    found, at = [], 0
    while at < len(text):
        match = _LABEL.match(text, at)
        assert match is not None, f"{text!r} are no labels"
        found.append((match[1], match[2]))
        at = match.end()
    return tuple(found)


def _check_histogram(name: str, family: Family) -> None:
    buckets: defaultdict[Labels, list[tuple[float, float]]] = defaultdict(list)
    for (sample, labels), value in family.samples.items():
        if sample == f"{name}_bucket":
            rest = tuple(pair for pair in labels if pair[0] != "le")
            buckets[rest].append((float(dict(labels)["le"]), value))
    for labels, found in buckets.items():
        bounds, counts = zip(*found, strict=True)
        assert list(bounds) == sorted(bounds), f"{name} {labels}: its buckets are not in order"
        assert bounds[-1] == float("inf"), f"{name} {labels} has no last bucket"
        assert list(counts) == sorted(counts), f"{name} {labels}: its buckets do not add up"
        assert family.samples[f"{name}_count", labels] == counts[-1]
        assert (f"{name}_sum", labels) in family.samples
    assert len(family.samples) == sum(len(found) + 2 for found in buckets.values())
