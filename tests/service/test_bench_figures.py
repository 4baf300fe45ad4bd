"""Figures of benches: names, targets, percentiles and numbers."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import (
    accesslog,
    command,
)
from bench.catalogue import BENCHES, chosen
from bench.figures import Figure, percentile
from synergy.cli import exits
from synergy.cli.main import main
from synergy.errors import NotFound
from workers.access_log.ncsa import parse


def test_without_names_the_given_servers_decide_which_benches_run() -> None:
    assert chosen([]) == [found for found in BENCHES if not found.server]
    assert [found.name for found in chosen(["idle", "units"])] == ["units", "idle"]
    assert [found.name for found in chosen([], ["bus"])] == ["bus"]
    served = [found.name for found in chosen([], ["store", "bus"])]
    assert served == ["bus", "trips", "mongodb"]
    assert [found.name for found in chosen(["bus", "units"], ["bus"])] == ["units", "bus"]


def test_a_bench_without_its_server_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "bus"]) == exits.USAGE
    assert "bus needs a server: name it with --bus URL" in capsys.readouterr().err


def test_missing_measurements_are_listed_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (found,) = chosen(["bus"], ["bus"])
    missing = Figure("Celery", None, "1/s", at_least=1, why_not="no network")
    command.show(command.Result(found, 1, 1.0, [Figure("Synergy", 2.0, "1/s"), missing], ""))
    out = capsys.readouterr().out
    assert "Celery: not measured: no network" in out
    assert "MISSED" not in out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotFound, match="did you mean units"):
        chosen(["unit"])
    assert main(["bench", "unit"]) == exits.NOT_FOUND
    assert "did you mean units?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (Figure("rate", 2000, "1/s", at_least=2000), True),
        (Figure("rate", 1999, "1/s", at_least=2000), False),
        (Figure("time", 15, "ms", at_most=15), True),
        (Figure("time", 15.1, "ms", at_most=15), False),
        (Figure("share", 25, "%"), None),
    ],
)
def test_a_target_is_met_or_not(figure: Figure, expected: bool | None) -> None:
    assert figure.is_met is expected


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    values: list[float], share: int
) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= share * len(values)
    assert sum(value < found for value in values) * 100 < share * len(values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0"), (13.0, "13"), (0.0833, "0.0833"), (7.294, "7.29"), (28.34, "28.3"),
     (12_345.6, "12,346"), (20_000, "20,000")],
)  # fmt: skip
def test_numbers_are_shown_to_three_places(value: float, expected: str) -> None:
    assert command.shown(value) == expected


def test_the_generated_log_is_repeatable_and_realistic() -> None:
    lines = list(islice(accesslog.log_lines(), 3000))
    assert lines == list(islice(accesslog.log_lines(), 3000))
    entries = [parse(line.rstrip("\n").encode()) for line in lines]
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    assert len({entry.host for entry in entries}) > 100
    assert len({entry.agent for entry in entries}) > 50
    assert 0 < sum(entry.is_pageview for entry in entries) < len(entries)
