"""Each example, copied to an empty folder and started there, gives the results it promises."""

from __future__ import annotations

import csv
import json
from collections import Counter
from datetime import timedelta
from decimal import Decimal

import duckdb
import pytest

from synergy.clock import SystemClock
from tests.acceptance.example_kit import copy_of
from tests.acceptance.kit import until
from tests.servers.ports import free_port


@pytest.fixture
def day():
    """The last day whose hours have all closed."""
    return SystemClock().now() - timedelta(days=1, minutes=10)


def states(home, process, day):
    """How many jobs of the day are in each state."""
    begin, end = f"{day:%Y-%m-%d}", f"{day + timedelta(days=1):%Y-%m-%d}"
    shown = home.ask("timetable", "show", "--from", begin, "--to", end)
    [found] = [p for tree in shown["trees"] for p in tree["processes"] if p["name"] == process]
    return Counter(job["state"] for job in found["jobs"])


def lines_of(logs):
    return sum(len(log.read_text().splitlines()) for log in logs)


def day_sum(home, day):
    return int((home.path / "counts" / f"{day:%Y%m%d}00.sum").read_text())


def test_hourly_files_become_the_totals_of_a_day(tmp_path, day):
    late = f"{day:%Y-%m-%dT}14"
    with copy_of("files_duckdb", tmp_path, start_timeperiod=f"{day:%Y%m%d}00") as home:
        home.program("deliver.py", "--without", late)
        home.start()
        until(lambda: states(home, "SalesHourly", day)["failed"])
        why = home.launch("timetable", "why", "SalesDaily", f"{day:%Y-%m-%d}").out
        assert f"{day:%Y%m%d}14.csv has not arrived" in why
        home.program("deliver.py")
        home.launch("timetable", "retry", "SalesHourly", late)
        home.wait_for("SalesDaily", f"{day:%Y-%m-%d}")

        with (home.folder / "sample.csv").open() as lines:
            sold = list(csv.DictReader(lines))
        quantity, revenue = Counter(), Counter()
        for sale in sold:
            quantity[sale["product"]] += int(sale["quantity"])
            revenue[sale["product"]] += int(sale["quantity"]) * Decimal(sale["price"])
        with home.store() as store:
            rows = list(store.documents.read("sales_daily", f"{day:%Y%m%d}00", f"{day:%Y%m%d}01"))
        assert {row["product"]: row["quantity"] for row in rows} == quantity
        assert {row["product"]: row["revenue"] for row in rows} == revenue
        with duckdb.connect() as db:
            file = home.path / "warehouse" / "daily" / f"{day:%Y%m%d}00.parquet"
            [(number,)] = db.read_parquet(str(file)).aggregate("count(*)").fetchall()
        assert number == len(sold)
        hours = {sale["time"][:2] for sale in sold}
        assert states(home, "SalesHourly", day) == {
            "processed": len(hours),
            "noop": 24 - len(hours),
        }


def test_commands_count_fail_and_send_a_request(tmp_path, day):
    port = str(free_port())
    with copy_of("commands", tmp_path, start_timeperiod=f"{day:%Y%m%d}00") as home:
        home.more["RECEIVER_PORT"] = port
        received = home.folder / "received.jsonl"
        home.python("programs/receiver.py", port, received)
        home.start()
        for process in ("Publish", "Backup"):
            home.launch("process", "trigger", process)
        home.wait_for("SumDaily", f"{day:%Y-%m-%d}")

        logs = list((home.folder / "input").iterdir())
        counted = {"processed": len(logs), "noop": 24 - len(logs)}
        assert states(home, "CountHourly", day) == counted
        assert day_sum(home, day) == lines_of(logs)

        until(lambda: home.ask("schedule", "list")["items"])  # what ends before does not count
        with (home.folder / "input" / "09.log").open("a") as log:
            log.write("09:59 sale\n")
        home.launch("timetable", "reprocess", "CountHourly", f"{day:%Y-%m-%d}T09")
        home.wait_for("SumDaily", f"{day:%Y-%m-%d}")
        assert day_sum(home, day) == lines_of(logs)
        home.runs("day-is-done", 1)
        sent = [json.loads(line) for line in received.read_text().splitlines()]
        assert {"day": f"{day:%Y%m%d}00", "state": "processed"} in sent

        [failed] = home.runs("Backup", 1, "failed")
        assert "the disk is not mounted" in failed["reason"]
        (home.path / "disk").mkdir()
        home.launch("schedule", "retry", "--all")
        home.runs("Backup", 1)
        assert (home.path / "disk" / "input" / "09.log").exists()
        [published] = home.runs("Publish", 1)
        unit = home.ask("unit", "show", published["id"])
        assert unit["attempt"] == 2
        assert (home.path / "published" / published["id"]).exists()


def test_a_crontab_runs_and_missed_nights_are_run_in_their_zone(tmp_path):
    with copy_of("cron", tmp_path) as home:
        imported = home.ask("schedule", "import-crontab", "crontab.txt")
        assert [line["line"] for line in imported["lines"]] == [4, 5]
        assert [line["line"] for line in imported["refused"]] == [6]
        home.start()
        schedules = {found["name"]: found for found in home.ask("schedule", "list")["items"]}
        assert {found["zone"] for found in schedules.values()} == {"Europe/Berlin"}
        assert {"digest", *(line["schedule"] for line in imported["lines"])} == set(schedules)

        span = ("--from", "2025-10-25", "--to", "2025-10-28", "--zone", "Europe/Berlin")
        home.launch("schedule", "backfill", "digest", *span)
        greeting = imported["lines"][1]["schedule"]
        home.launch("schedule", "trigger", greeting)
        home.runs("digest", 3)
        # Clocks were set back on the 26th, at 03:00 summer time, which is 01:00 UTC.
        expected = {"20251025003000", "20251026003000", "20251027013000"}
        assert {file.name for file in (home.path / "digests").iterdir()} == expected
        [run] = home.runs(greeting, 1)
        log = home.ask("unit", "log", run["id"])
        assert [line["text"] for line in log["lines"]] == ["GOOD MORNING"]
