"""Bad configuration, bad files, bad arguments: the reason, the exit code, and nothing changed."""

from __future__ import annotations

import gzip
from contextlib import closing
from datetime import UTC, datetime, timedelta

import apsw
import pytest

from synergy.model.unit_of_work import UnitState
from tests.acceptance.kit import end_of

YESTERDAY = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
START, HOUR = (YESTERDAY + hour for hour in ("20", "21"))
USAGE, NOT_FOUND, REFUSED, UNREACHABLE, CONFIGURATION = 2, 3, 4, 5, 78
SITE = ("--site", "example.com")
SITES = "tests.acceptance.deployments.sites"
HOURLY = "SiteHourlyAggregator"


# Configuration

MISTAKES = (
    "unknown setting stoer: did you mean store?",
    "SYNERGY_START_TIMEPERIOD: '2015-05-17T25' is not a timeperiod",
    "SYNERGY_MX_PORT: 'http': expected a port",
    "process Misspelt: unknown field sorce: did you mean source?",
    "process Weekly: time_qualifier: unknown value 'weekly'",
    "process TooOften: trigger_frequency: trigger 'every 0'",
    "process Grouped: time_grouping: expected a whole number, 1 to 28, not 29",
    "process Homeless: present_on_boxes: 'dev-[' is no regular expression",
    "process Nowhere: classname: workers.site_daily_aggregator has no class SiteDaily",
    "process Commanded: command: unknown ${timeperoid}",
    "tree first: enclosed_processes: unknown process Mispelt: did you mean Misspelt?",
    "process Treeless: a managed process must be in a tree's processes",
    "trees depend on one another in a cycle: first -> second -> first",
)


@pytest.fixture
def mistaken(homes):
    """Ten mistakes in the context, three in the settings."""
    return homes(
        stoer="x",
        start_timeperiod="2015-05-17T25",
        mx_port="http",
        context="tests.acceptance.deployments.mistaken",
    )


def test_check_lists_all_mistakes_at_once(mistaken):
    found = mistaken.ask("check", code=CONFIGURATION)

    assert found["ok"] is False
    assert len(found["mistakes"]) == len(MISTAKES)
    for expected in MISTAKES:
        assert any(expected in mistake for mistake in found["mistakes"]), expected
    assert "13 mistakes" in mistaken.run("check", code=CONFIGURATION).out
    assert not mistaken.path.exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("supervisor", "start"),
        ("supervisor", "start", "--foreground"),
        ("supervisor", "restart"),
        ("process", "start", "TooOften", "--console"),
        ("store", "init"),
    ],
    ids=" ".join,
)
def test_nothing_starts_with_mistakes(mistaken, argv):
    done = mistaken.launch(*argv, code=CONFIGURATION)

    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    # classes are only imported where everything is about to be started
    expected = MISTAKES if argv[0] == "supervisor" else [m for m in MISTAKES if "Nowhere" not in m]
    assert len(errors) == len(expected)
    for mistake in expected:
        assert any(mistake in line for line in errors), mistake
    assert done.out == ""
    assert not mistaken.path.exists()


@pytest.fixture(scope="module")
def working(module_homes):
    """A running home with an unusual name."""
    home = module_homes(
        f"with spaces, ünïcödé, $HOME and 'quotes'/{'long' * 50}",
        start_timeperiod=START,
        context="tests.acceptance.deployments.commanded",
    )
    home.start()
    return home


def test_a_home_may_have_any_name(working):
    working.wait_for("MailHourly", HOUR)
    assert working.ask("timetable", "audit")["unexplained"] == []


def test_a_restart_with_mistakes_stops_nothing(working):
    before = working.leaders()

    working.run("supervisor", "restart", code=CONFIGURATION, mx_port="http")

    assert working.leaders() == before


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"context": "nowhere"}, "cannot be read: No such file"),
        ({"context": "no module"}, "expected a module's name"),
        ({"env": "prdo"}, "did you mean prod?"),
        ({"store": "sqlite:///"}, "expected sqlite:///FILE"),
        ({"home": "/dev/null"}, "/dev/null is not a folder"),
        ({"start_timeperiod": "2999010100"}, "is in the future"),
    ],
)
def test_unusable_settings_are_refused_with_the_reason(homes, variables, reason):
    home = homes()

    done = home.run("supervisor", "start", code=CONFIGURATION, **variables)

    assert reason in done.err
    assert not home.path.exists()


# Files


def line(minute, host="192.0.2.1"):
    return (
        f'{host} - - [17/May/2015:10:{minute:02d}:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"\n'
    ).encode()


@pytest.fixture(scope="module")
def reading(module_homes):
    """A home in which a session worker is all that runs."""
    home = module_homes("reading", start_timeperiod="2015051700")
    home.run("store", "init")
    home.begin("process", "start", "SingleSessionWorker", "--console")
    return home


def sessions(home):
    """The sessions of all logs that were ingested so far."""
    with home.store() as store:
        assert store.messages.depths() == {}
        assert store.messages.buried() == []
        return list(store.documents.read("single_session", "", ""))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("binary", bytes(range(256)) * 4096, "no known format"),
        ("one-long-line", b"x" * 1_000_000, "no known format"),
        ("cut-off.gz", gzip.compress(b"x", mtime=0)[:-9], "cannot be read any further"),
    ],
)
def test_a_file_that_is_no_log_is_refused(reading, tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    before = sessions(reading)

    done = reading.run("ingest", path, *SITE, code=1)

    assert reason in done.err
    assert "Traceback" not in done.err
    assert sessions(reading) == before
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [
        name
    ]  # no .rejected file without --rejects


def test_an_empty_file_is_read_and_adds_nothing(reading, tmp_path):
    path = tmp_path / "empty"
    path.touch()
    before = sessions(reading)

    told = reading.ask("ingest", path, *SITE)

    assert (told["lines"], told["accepted"], told["problems"]) == (0, 0, [])
    assert sessions(reading) == before


def test_good_lines_are_accepted_among_bad_ones_and_before_a_torn_end(reading, tmp_path):
    """The first file has a line of a megabyte and binary data; the second is cut off."""
    path = tmp_path / "mixed"
    path.write_bytes(line(1) + b"x" * 1_000_000 + b"\n" + line(2) + bytes(range(32)) + b"\n")

    told = reading.ask("ingest", path, "--site", "mixed", "--rejects")

    assert (told["accepted"], told["sessions"]) == (2, 1)
    assert told["rejected"] == told["lines"] - 2
    assert "longer than" in told["samples"][0]["reason"]
    assert path.with_name("mixed.rejected").exists()

    torn = tmp_path / "torn.gz"
    torn.write_bytes(gzip.compress(b"".join(line(m) for m in range(60)) * 200)[:-200])
    told = reading.ask("ingest", torn, "--site", "torn", code=1)
    assert told["accepted"] > 0
    assert "cannot be read any further" in told["problems"][0]
    entries = {
        row["domain"]: row["browsing_history"]["number_of_entries"] for row in sessions(reading)
    }
    assert entries == {"mixed": 2, "torn": told["accepted"]}


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [("missing", NOT_FOUND, "no such file"), ("folder", USAGE, "no files in")],
)
def test_no_file_is_read_if_one_of_them_cannot_be(reading, tmp_path, name, code, reason):
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").write_bytes(line(1))
    before = sessions(reading)

    done = reading.run("ingest", tmp_path / "good", tmp_path / name, *SITE, code=code)

    assert reason in done.err
    assert sessions(reading) == before


# Commands


@pytest.fixture(scope="module")
def rested(module_homes, tmp_path_factory):
    """A stopped home with a processed unit."""
    log = tmp_path_factory.mktemp("logs") / "access.log"
    at = datetime.strptime(f"{HOUR} +0000", "%Y%m%d%H %z")
    log.write_text(f'192.0.2.1 - - [{at:%d/%b/%Y:%H}:10:00 +0000] "GET / HTTP/1.1" 200 5\n')
    home = module_homes("rested", start_timeperiod=START, context=SITES)
    home.start()
    home.ask("ingest", log, *SITE, "--wait")
    home.wait_for(HOURLY, HOUR)
    home.until_unit(HOURLY, UnitState.PROCESSED)
    home.stop()
    home.dumped = home.dump()
    return home


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (NOT_FOUND, "process show Nobody"),
        (NOT_FOUND, "process start Nobody --console"),
        (USAGE, "unit list --limit 0"),
        (REFUSED, "store reset"),
        (UNREACHABLE, "gc run"),
        (UNREACHABLE, "process start SiteDailyAggregator"),
    ],
)
def test_a_refused_command_gives_its_reason_and_changes_nothing(rested, code, command):
    """Whether each command is refused is tested in `tests/service/test_cli_errors.py`."""
    done = rested.launch(*command.split(), code=code)

    assert done.err.strip()
    assert done.out == ""
    assert "unexpected" not in done.err
    assert "Traceback" not in done.err
    assert rested.dump() == rested.dumped


# Where there is no store


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("supervisor status", "no supervisor runs"),
        ("supervisor stop", "nothing to stop"),
        ("supervisor stop --dry-run", "nothing to stop"),
        ("supervisor start --dry-run", "would start: "),
        ("store init --dry-run", "would be created"),
        ("store reset --yes", "nothing to reset"),
        ("check", "settings and context are sound"),
        ("box id", "dev-test"),
    ],
)
def test_commands_that_need_no_store_create_none(homes, command, text):
    home = homes()

    assert text in home.run(*command.split()).out
    assert not home.path.exists()


def test_a_closed_pipe_ends_a_command_without_an_error(rested):
    """`launch.py process list | head -1`, with the pipe closed before anything is written."""
    process = rested.begin("process", "list")
    process.stdout.close()
    process.stdout = None

    done = end_of(process)

    assert done.err == ""
    assert rested.dump() == rested.dumped


# Unusable stores and homes


def rubbish(path):
    path.write_bytes(b"this is no database" * 10_000)


def torn(path):
    path.write_bytes(path.read_bytes()[:8000])


def newer(path):
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", 99)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [(rubbish, "is damaged"), (torn, "is damaged"), (newer, "was written by a newer Synergy")],
)
def test_a_store_that_cannot_be_used_is_left_as_it_is(homes, harm, reason):
    home = homes(context=SITES)
    home.run("store", "init")
    path = home.path / "synergy.db"
    harm(path)
    before = path.read_bytes()

    all_done = [home.launch("supervisor", "start", code=UNREACHABLE)]
    for command in ("store status", "store init", "timetable show", "unit list"):
        all_done.append(home.run(*command.split(), code=UNREACHABLE))

    for done in all_done:
        assert reason in done.err
        assert "Traceback" not in done.err
    assert home.marked() == {}
    assert home.supervisor() == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "code"), [("supervisor start", 1), ("store init", UNREACHABLE)]
)
def test_an_impossible_home_is_an_error_of_one_line(homes, tmp_path, command, code):
    (tmp_path / "file").touch()

    home = homes(context=SITES)

    done = home.launch(*command.split(), code=code, home=str(tmp_path / "file" / "home"))

    assert len(done.err.splitlines()) == 1
    assert "Not a directory" in done.err
