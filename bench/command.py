"""`launch.py bench`: measures this machine with real processes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.catalogue import Bench
    from bench.figures import Figure
    from bench.machine import Machine
    from bench.stage import Lab

EXAMPLE = """What each of them measures, and what to expect: docs/benchmarks.md

example:
  launch.py bench --quick             all of them, small: half a minute
  launch.py bench units latency       these two, in full
  launch.py bench --bus amqp://guest:guest@localhost/bench
                                      units over RabbitMQ, beside pika, Celery and Dramatiq
  launch.py bench --store mongodb://localhost/bench
                                      units over MongoDB, and its round trips; the database must
                                      not exist yet
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a bench; `error` is empty if there are figures."""

    bench: Bench
    size: int
    seconds: float
    figures: Sequence[Figure]
    error: str


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "bench",
        help="measure this machine",
        description="Measures this machine with real processes, in a temporary home of its own.",
        epilog=EXAMPLE,
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="default: all that need no server")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    parser.add_argument(
        "--home", metavar="DIR", type=Path, help="where to make the home; default: SYNERGY_HOME"
    )
    parser.add_argument("--bus", metavar="URL", default="", help="a RabbitMQ for the bench bus")
    parser.add_argument(
        "--store", metavar="URL", default="", help="a MongoDB for the benches trips and mongodb"
    )
    parser.add_argument(
        "--without-others", action="store_true", help="bus: leave Celery and Dramatiq out"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measures, one after the other; returns 1 if one of them failed."""
    from bench.catalogue import chosen
    from bench.machine import this_machine
    from bench.stage import Lab
    from synergy import compose
    from synergy.cli import exits, output

    servers = {"bus": arguments.bus, "store": arguments.store}
    benches = chosen(arguments.names, [name for name, url in servers.items() if url])
    project = compose.open_project()
    folder = (arguments.home or project.settings.home).absolute()
    with _interruptible():
        with Lab(project.path, folder, lambda done, total: None).stage() as stage:
            machine = this_machine(stage.store.status().version)
        _note_if_busy(project.settings.home)
        if not arguments.json:
            output.pairs(asdict(machine))
        results = []
        for bench in benches:
            with output.Progress(bench.name) as line:
                lab = Lab(
                    project.path,
                    folder,
                    line.show,
                    output.note,
                    **servers,
                    with_others=not arguments.without_others,
                )
                results.append(
                    _measured(lab, bench, bench.quick if arguments.quick else bench.size)
                )
            if not arguments.json:
                show(results[-1])
    if arguments.json:
        output.print_json(_as_json(machine, results))
    return exits.FAILED if any(result.error for result in results) else exits.DONE


@contextmanager
def _interruptible() -> Iterator[None]:
    """Handles SIGTERM as Ctrl-C: everything is cleaned up."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _note_if_busy(home: Path) -> None:
    from synergy.cli import output
    from synergy.supervisor import home_lock

    if home_lock.holder(home) is not None:
        output.note("a supervisor runs in this project: its work slows these numbers down")


def _measured(lab: Lab, bench: Bench, size: int) -> Result:
    from synergy.clock import SystemClock
    from synergy.errors import SynergyError

    clock = SystemClock()
    began = clock.monotonic()
    figures: list[Figure] = []
    error = ""
    try:
        figures = bench.measure(lab, size)
    except SynergyError as failure:
        error = str(failure)
    return Result(bench, size, clock.monotonic() - began, figures, error)


def show(result: Result) -> None:
    """Prints the result as a table."""
    from synergy.cli import output

    bench = result.bench
    output.say()
    output.say(output.colour(f"{bench.name}: {bench.about} ({result.size:,} {bench.of})", "bold"))
    if result.error:
        output.note(f"{output.colour('error', 'red')}: {bench.name}: {result.error}")
        return
    values = [_value(figure) for figure in result.figures]
    width = max(map(len, values))
    output.table(
        ["what", "value".rjust(width), "unit", "target", ""],
        [
            [figure.name, value.rjust(width), figure.unit, _target(figure), _verdict(figure)]
            for figure, value in zip(result.figures, values, strict=True)
        ],
    )
    for figure in result.figures:
        if figure.why_not:
            output.say(f"{figure.name}: not measured: {figure.why_not}")


def _value(figure: Figure) -> str:
    return "not measured" if figure.value is None else shown(figure.value)


def shown(value: float) -> str:
    """A number with three significant digits."""
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _target(figure: Figure) -> str:
    if figure.at_least is not None:
        return f">= {shown(figure.at_least)}"
    return "" if figure.at_most is None else f"<= {shown(figure.at_most)}"


def _verdict(figure: Figure) -> str:
    return {True: "met", False: "MISSED", None: ""}[figure.is_met]


def _as_json(machine: Machine, results: Sequence[Result]) -> dict[str, object]:
    return {
        "machine": machine,
        "benches": [
            {
                "name": result.bench.name,
                "about": result.bench.about,
                "size": result.size,
                "of": result.bench.of,
                "seconds": round(result.seconds, 3),
                "error": result.error,
                "figures": [
                    {**asdict(figure), "is_met": figure.is_met} for figure in result.figures
                ],
            }
            for result in results
        ],
    }
