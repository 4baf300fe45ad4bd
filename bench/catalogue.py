"""The benches and their sizes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import cast

from bench.figures import Figure
from bench.stage import Lab
from synergy.errors import InvalidValue, NotFound
from synergy.schedule.format.literals import suggestion

Measure = Callable[[Lab, int], list[Figure]]


@dataclass(frozen=True, slots=True)
class Bench:
    """A measurement; `size`, and `quick` with `--quick`, are in the unit `of`.

    `server` is the option that names the server it needs, if any.
    """

    name: str
    about: str
    size: int
    quick: int
    of: str
    server: str = ""

    def measure(self, lab: Lab, size: int) -> list[Figure]:
        """Runs the measurement; raises BenchFailed if it cannot be completed."""
        module = importlib.import_module(f"bench.{self.name}")
        return cast("Measure", module.measure)(lab, size)


BENCHES = (
    Bench("units", "catch-up of units that do nothing, by two workers", 20_000, 2_000, "units"),
    Bench("latency", "conclusion to dependant, without other work", 200, 30, "samples"),
    Bench("timetable", "100 processes, each with its hours", 10, 2, "years"),
    Bench("empty", "empty periods of two closed processes", 87_600, 8_760, "hours each"),
    Bench("ingest", "an access log, by two session workers", 300_000, 30_000, "lines"),
    Bench("aggregate", "an hour of sessions into a row a site", 100_000, 10_000, "sessions"),
    Bench("start", "supervisor start in a fresh home", 3, 1, "starts"),
    Bench("idle", "the default deployment at rest", 60, 10, "seconds"),
    Bench("schedules", "many at rest, a thousand due at once, events", 100_000, 5_000, "schedules"),
    Bench(
        "mx", "pages and REST over 20 processes, each with its hours", 200_000, 20_000, "hours each"
    ),
    Bench("stream", "fifty clients of the stream of MX, many entries", 60, 5, "seconds"),
    Bench("bus", "units over RabbitMQ, compared with others", 10_000, 2_000, "units", "bus"),
    Bench("trips", "round trips to MongoDB for a unit", 100, 10, "units at once", "store"),
    Bench("mongodb", "units over MongoDB, by two workers", 2_000, 200, "units", "store"),
)


def chosen(names: Sequence[str], servers: Collection[str] = ()) -> list[Bench]:
    """The benches of these names; raises NotFound, or InvalidValue if a server is missing.

    Without names: those for which the `servers` are given; without servers, all that need none.
    """
    by_name = {bench.name: bench for bench in BENCHES}
    for name in names:
        if name not in by_name:
            raise NotFound("bench", name, suggestion(name, by_name))
        if (server := by_name[name].server) and server not in servers:
            raise InvalidValue(f"{name} needs a server: name it with --{server} URL")
    wanted = set(servers) or {""}
    return [
        bench for bench in BENCHES if bench.name in names or (not names and bench.server in wanted)
    ]
