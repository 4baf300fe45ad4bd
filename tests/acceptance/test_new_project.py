"""A project that `init` made leads, by its README, from nothing to a processed hour."""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections import Counter

from synergy.clock import SystemClock
from synergy.config.new_project import new_project
from tests.acceptance.example_kit import ProjectHome

COMMAND = re.compile(r"^    synergy (.*)$", re.MULTILINE)


def test_the_readme_of_a_new_project_leads_to_a_processed_hour(tmp_path):
    new_project(tmp_path / "A Shop", SystemClock().now()).write()
    home = ProjectHome(tmp_path / "A Shop", box_id=f"shop-{os.getpid()}")
    commands = COMMAND.findall((home.folder / "README.md").read_text())
    try:
        said = {}
        for command in commands[:-1]:
            words = shlex.split(command, comments=True)
            said[words[0], words[1] if words[1:] else ""] = home.launch(*words).out
            if "OrderImport" in words:  # a reader takes longer
                home.runs("OrderImport", 1)
        assert "sound: 6 processes, 1 tree" in said["check", ""]
        assert ": processed" in said["timetable", "wait"]
        with (home.folder / "data" / "orders.csv").open() as lines:
            orders = list(csv.DictReader(lines))
        sold = Counter()
        for order in orders:
            sold[order["item"]] += int(order["quantity"])
        day = orders[0]["time"][:10]
        home.wait_for("SalesDaily", day)
        found = Counter()
        for row in home.ask("rows", "sales_daily", day):
            found[row["item"]] += row["quantity"]
        assert found == sold
        assert commands[-1] == "supervisor stop"
        home.stop()
        assert home.marked() == {}
    finally:
        home.end()
