"""`launch.py ingest FILE… --site NAME`: reads access logs."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from synergy.cli import exits, options, output
from synergy.names import TIMETABLE_START
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from workers.access_log.report import IngestReport, Progress

EXAMPLE = """Reading a file again, or after it has grown, counts nothing twice. The logs are read in
order of time; lines that two of them hold count once, and a visit may go on from one to the next.

example:
  launch.py ingest access.log access.log.1.gz --site example.com
  launch.py ingest /var/log/nginx 'old/access.log*' --site example.com
  zcat old/*.gz | launch.py ingest - --site example.com
"""
QUEUE_TIMEOUT = 5.0
"""Seconds without any event being processed after which the command ends, without `--wait`."""


def add(subparsers: Any) -> None:
    """Adds the command to the parser."""
    from workers.access_log.formats import FORMATS

    parser = subparsers.add_parser(
        "ingest",
        help="read access logs",
        description="Reads the access logs of a site, as web servers write them.",
        epilog=EXAMPLE,
    )
    help_ = "a log, a folder of logs or a pattern; .gz, .bz2 and .zst are unpacked; - is stdin"
    parser.add_argument("files", metavar="FILE", nargs="+", help=help_)
    parser.add_argument("--site", metavar="NAME", required=True, help="the site of the logs")
    help_ = "the format of all lines; otherwise each log's is recognised from its first lines"
    parser.add_argument("--format", choices=list(FORMATS), help=help_)
    help_ = "keep lines that do not parse in FILE.rejected"
    parser.add_argument("--rejects", action="store_true", help=help_)
    help_ = "wait until the session workers have processed everything, however long that takes"
    parser.add_argument("--wait", action="store_true", help=help_)
    options.JSON(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Reads the files and prints the report."""
    from synergy import clock, compose, extras
    from synergy.runtime.stop import Stop

    extras.require("access-logs", "ua_parser")
    from workers.access_log import files, pipeline
    from workers.access_log.formats import FORMATS
    from workers.access_log.outlet import Outlet

    logs, site = files.logs(arguments.files), pipeline.checked_site(arguments.site)
    project = compose.open_project()
    queue = pipeline.session_queue(project.deployment)
    with (
        closing(compose.open_store(project.settings)) as store,
        closing(compose.open_bus(project, store)) as bus,
        output.Progress("lines read") as line,
    ):
        outlet = Outlet(store, bus, queue, Stop())
        ingestion = pipeline.Ingestion(
            site,
            outlet,
            store.documents,
            store.facts.get(TIMETABLE_START) or "",
            keep_rejected=arguments.rejects,
            progress=lambda progress: line.show(*_shown(progress)),
            format_=FORMATS.get(arguments.format),
        )
        timeout = None if arguments.wait else QUEUE_TIMEOUT
        report = pipeline.ingest(logs, ingestion, outlet, clock.SystemClock(), timeout)
    if arguments.json:
        output.print_json({**asdict(report), "rate": round(report.rate)})
    else:
        _print(report)
    return exits.FAILED if report.problems else exits.DONE


def _shown(progress: Progress) -> tuple[int, int | None]:
    """The lines read so far, and an estimate of those in the file."""
    if not progress.size or not progress.position:
        return progress.lines, None
    return progress.lines, round(progress.lines * progress.size / progress.position)


def _print(report: IngestReport) -> None:
    from workers.access_log.formats import FORMATS

    for format_ in FORMATS.values():
        if files := [file for file, name in report.formats.items() if name == format_.name]:
            named = files[0] if len(files) == 1 else f"{len(files):,} logs"
            output.say(f"{named}: {format_.title} ({format_.name})")
    output.say(
        f"{report.lines:,} lines read, {report.accepted:,} accepted, "
        f"{report.rejected:,} rejected{_lines_of(report)}, "
        + (f"{report.ignored:,} blank or directives, " if report.ignored else "")
        + (f"{report.repeated:,} of another log, " if report.repeated else "")
        + f"{report.sessions:,} sessions in {report.hours:,} hours"
        + (f" ({report.first_hour} to {report.last_hour})" if report.hours else "")
        + f", {report.rate:,.0f} lines/s"
    )
    for sample in report.samples:
        output.say(f"  {sample.file}, line {sample.line}: {sample.reason}: {sample.excerpt!r}")
    for note in report.notes:
        output.say(note)
    for path in report.rejected_files:
        output.say(f"rejected lines are in {path}")
    if report.early_events:
        output.say(
            f"{report.early_events:,} events are before the timetable's start: "
            f"{PROGRAM} timetable extend --from {report.early_from} includes them"
        )
    if report.waiting:
        output.say(
            f"{report.waiting:,} messages still wait in the queue: the session workers do not "
            f"run ({PROGRAM} supervisor status), or are busy"
        )
    for problem in report.problems:
        output.error(problem)


def _lines_of(report: IngestReport) -> str:
    """The numbers of the rejected lines, if they are few and of one file."""
    if not report.samples or len(report.samples) < report.rejected or len(report.files) > 1:
        return ""
    numbers = ", ".join(str(sample.line) for sample in report.samples)
    return f" (line{'s' * (len(report.samples) > 1)} {numbers})"
