"""Commands before the first start, of unknown names, and with wrong usage: nothing changes."""

from __future__ import annotations

import pytest

from synergy.cli import exits
from tests.records import everything
from tests.service.commands import SESSIONS, START, Commands
from tests.service.scheduler_harness import SchedulerHarness

ENORMOUS = "9" * 23
PERIOD, HOUR = "2015051800", "2015051807"

NEEDING_A_STORE = """
box list
box start SiteDailyAggregator
box sync
event emit TABLE /x
event list
gc run
gc status
process interval SiteDailyAggregator hourly
process list
process off SiteDailyAggregator
process on SiteDailyAggregator
process show SiteDailyAggregator
process start SiteDailyAggregator
process stop SiteDailyAggregator
process trigger SiteDailyAggregator
queue dead
queue list
queue purge SiteDailyAggregator
queue replay
report site_daily
schedule cancel x
schedule disable x
schedule enable x
schedule list
schedule pending
schedule preview x
schedule remove x
schedule retry x
schedule run x
schedule runs
schedule show x
schedule trigger x
shell
store backup /x.db
store status
timetable audit
timetable extend --from 2015010100
timetable reprocess SiteDailyAggregator PERIOD
timetable show
timetable skip SiteDailyAggregator PERIOD
timetable wait SiteDailyAggregator PERIOD
timetable why SiteDailyAggregator PERIOD
unit cancel x
unit list
unit log x
unit retry x
unit show x
""".strip().splitlines()
UNKNOWN_NAMES = """
box start Nobody
box start SiteDailyAggregator --box nowhere
box stop Nobody
box stop SiteDailyAggregator
box stop SiteDailyAggregator --box nowhere
gc run --process Nobody
gc run --process Scheduler --dry-run
ingest /nowhere/at/all --site example.com
process interval Nobody hourly
process interval Scheduler hourly
process off Nobody
process on Nobody
process show Nobody
process start Nobody
process start Nobody --console
process stop Nobody
process trigger Nobody
process trigger Scheduler
queue purge Nobody
queue purge Nobody --yes
queue replay 99
report nowhere
schedule cancel x
schedule disable x
schedule enable x
schedule preview x
schedule remove x
schedule retry x
schedule run x
schedule show x
schedule trigger x
timetable reprocess Nobody PERIOD
timetable reprocess Scheduler PERIOD
timetable show nowhere
timetable skip Nobody PERIOD
timetable wait Nobody PERIOD
timetable why Nobody PERIOD
timetable why Scheduler PERIOD
unit cancel x
unit list --process Nobody
unit log x
unit retry x
unit show x
""".strip().splitlines()
PERIODS_OUT_OF_RANGE = """
timetable reprocess SiteDailyAggregator 2014051700
timetable reprocess SiteDailyAggregator 2014051700..2099051700
timetable reprocess SiteDailyAggregator PERIOD..2016051800
timetable reprocess SiteHourlyAggregator 2099051700
timetable skip SiteDailyAggregator 2014051700
timetable skip SiteDailyAggregator 2014051700..PERIOD
timetable wait SiteDailyAggregator 2014051700 --timeout 0
timetable why SiteDailyAggregator 2014051700
timetable why SiteHourlyAggregator 2099051700
""".strip().splitlines()
NO_PERIODS = """
report site_daily --from PERIOD --to PERIOD
report site_daily --from yesterday
timetable extend --from 201505
timetable extend --from 2015051732
timetable extend --from soon
timetable reprocess SiteDailyAggregator 0001010100..9999010100
timetable reprocess SiteDailyAggregator 20150517
timetable reprocess SiteDailyAggregator PERIOD..
timetable reprocess SiteDailyAggregator PERIOD..2015051700
timetable reprocess SiteDailyAggregator PERIOD..PERIOD
timetable show --from 201505
timetable show --from PERIOD --to PERIOD
timetable skip SiteHourlyAggregator 2015051724
timetable wait SiteDailyAggregator 20150517
timetable why SiteDailyAggregator 2015023000
timetable why SiteDailyAggregator HOUR
timetable why SiteDailyAggregator PERIODx
timetable why SiteMonthlyAggregator PERIOD
""".strip().splitlines()
WRONG_USAGE = """
gc
ingest /nowhere/access.* --site example.com
ingest FILE
nonsense
process
process show
process start SingleSessionWorker --console --instance 3
process start SiteDailyAggregator --console --instance 0
process start SiteDailyAggregator --instance 99 --dry-run
queue dead --limit ENORMOUS
queue purge
queue purge SingleSessionWorker --dead
queue replay x
report site_daily --csv /proc
report site_daily --csv /proc/x/y.csv
store backup
store backup /no/such/folder/store.db
supervisor strat
timetable
timetable extend
timetable skip SiteDailyAggregator
timetable wait SiteDailyAggregator PERIOD --timeout -1
timetable wait SiteDailyAggregator PERIOD --timeout nan
unit list --cursor x
unit list --limit 0
unit list --limit ENORMOUS
unit list --state lost
""".strip().splitlines()
REFUSED = """
store backup FILE
store reset
timetable extend --from 2099010100
timetable extend --from PERIOD
timetable extend --from START
unit cancel UNIT
unit retry UNIT
""".strip().splitlines()
WITHOUT_A_SUPERVISOR = """
process start SiteDailyAggregator
process stop SiteDailyAggregator
""".strip().splitlines()


def argv(command: str, **words: str) -> list[str]:
    """The arguments of a command, with these words replaced."""
    for word, value in {"PERIOD": PERIOD, "HOUR": HOUR, "ENORMOUS": ENORMOUS, **words}.items():
        command = command.replace(word, value)
    return ["every 60" if word == "hourly" else word for word in command.split()]


@pytest.mark.parametrize("command", NEEDING_A_STORE)
def test_before_the_first_start_nothing_is_made(commands, command):
    assert commands.run(*argv(command)) == exits.UNREACHABLE
    assert "there is no store yet" in commands.err
    assert "supervisor start" in commands.err
    assert not commands.home.exists()


@pytest.fixture
def worked(deployed: SchedulerHarness) -> SchedulerHarness:
    """A deployment with a processed unit, in which nothing runs."""
    deployed.write("single_session", HOUR, 1)
    deployed.settle()
    return deployed


@pytest.mark.parametrize(
    ("code", "command"),
    [
        *((exits.NOT_FOUND, command) for command in UNKNOWN_NAMES + PERIODS_OUT_OF_RANGE),
        *((exits.USAGE, command) for command in NO_PERIODS + WRONG_USAGE),
        *((exits.REFUSED, command) for command in REFUSED),
        *((exits.UNREACHABLE, command) for command in WITHOUT_A_SUPERVISOR),
    ],
)
def test_a_refused_command_gives_its_reason_and_changes_nothing(
    commands: Commands, worked: SchedulerHarness, tmp_path, code, command
):
    before = everything(worked.store)
    (tmp_path / "file").touch()
    (unit, *_) = worked.units("SiteHourlyAggregator", HOUR)
    words = {"UNIT": unit.id, "START": START, "FILE": str(tmp_path / "file")}
    assert commands.run(*argv(command, **words)) == code, commands.text
    assert commands.err.startswith(("error: ", "launch.py"))
    assert command not in UNKNOWN_NAMES or "no such" in commands.err
    assert commands.out == ""
    assert "unexpected" not in commands.err
    assert everything(worked.store) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("store", "backup", ""), "FILE: '' is not the path of a file"),
        (("report", "site_daily", "--csv", ""), "--csv: '' is not the path of a file"),
        (("store", "copy", "--from", "", "--to", "sqlite:///x.db"), "--from: expected sqlite:"),
        (("store", "copy", "--from", "sqlite:///x.db", "--to", ""), "--to: expected sqlite:"),
        (("process", "start", SESSIONS, "--instance", "99", "--dry-run"), "needs --console"),
    ],
)
def test_an_empty_or_useless_value_is_named(commands, deployed, words, said):
    assert commands.run(*words) == exits.USAGE
    assert said in commands.err


@pytest.mark.parametrize("trigger", ["", "every 0", "every 1h"])
def test_a_wrong_trigger_is_quoted(commands, deployed, trigger):
    assert commands.run("process", "interval", "SiteDailyAggregator", trigger) == exits.USAGE
    assert f"trigger {trigger!r}" in commands.err
