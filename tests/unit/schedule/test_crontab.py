"""Crontab lines of every kind: what each becomes, or why it is not taken."""

from __future__ import annotations

import os
import pwd
from typing import Any

import pytest

from synergy.config.crontab_import import Imported, entries_of, stem_of
from synergy.errors import InvalidValue
from synergy.schedule.cron.crontab import read_crontab

ME = pwd.getpwuid(os.geteuid())
HERE = "Europe/Berlin"  # the zone of the machine in these tests

Became = tuple[str, str] | tuple[str, str, str | None]

# A line, and its times, command and standard input; or, as one text, a part of the reason.
LINES: tuple[tuple[str, Became | str], ...] = (
    # times
    ("* * * * * a", ("* * * * *", "a")),
    ("*/15 * * * * a", ("*/15 * * * *", "a")),
    ("5,35 * * * * a", ("5,35 * * * *", "a")),
    ("0-30/10 9-17 * * 1-5 a", ("0-30/10 9-17 * * 1-5", "a")),
    ("0 2 * * mon a", ("0 2 * * 1", "a")),
    ("0 2 1 JAN,Jul * a", ("0 2 1 1,7 *", "a")),
    ("0 2 * mar-may sat a", ("0 2 * 3-5 6", "a")),
    ("0 0 * * 7 a", ("0 0 * * 0", "a")),
    ("0 0 13 * 5 a", ("0 0 13 * 5", "a")),  # on each 13th, and on each Friday
    ("0 0 */2 * 1 a", ("0 0 */2 * 1", "a")),  # on Mondays with an odd number
    ("  30\t4  *\t* *   a", ("30 4 * * *", "a")),
    ("00 08 * * * a", ("0 8 * * *", "a")),
    ("@hourly a", ("0 * * * *", "a")),
    ("@daily a", ("0 0 * * *", "a")),
    ("@midnight a", ("0 0 * * *", "a")),
    ("@weekly a", ("0 0 * * 0", "a")),
    ("@monthly a", ("0 0 1 * *", "a")),
    ("@yearly a", ("0 0 1 1 *", "a")),
    ("@annually a", ("0 0 1 1 *", "a")),
    ("@DAILY a", ("0 0 * * *", "a")),
    # commands
    ("0 1 * * * cd /tmp && ./a >/dev/null 2>&1", ("0 1 * * *", "cd /tmp && ./a >/dev/null 2>&1")),
    ("0 1 * * * LANG=C sort  -u 'a  b' # why", ("0 1 * * *", "LANG=C sort  -u 'a  b' # why")),
    ('0 1 * * * echo "$HOME" $((1+1)) ${X:-y}', ("0 1 * * *", 'echo "$HOME" $((1+1)) ${X:-y}')),
    (r"0 1 * * * date +\%F", ("0 1 * * *", "date +%F")),
    (r"0 1 * * * printf '\\n' \x", ("0 1 * * *", r"printf '\\n' \x")),
    ("0 1 * * * cat%one%two", ("0 1 * * *", "cat", "one\ntwo\n")),
    (r"0 1 * * * cat%50\% off%", ("0 1 * * *", "cat", "50% off\n")),
    ("0 1 * * * true%", ("0 1 * * *", "true", None)),
    ("-0 1 * * * quiet", ("0 1 * * *", "quiet")),
    # not taken
    ("@reboot a", "no schedule starts with the machine"),
    ("@every 5m a", "@every is no word of cron"),
    ("@fortnightly a", "'@fortnightly' is none of @hourly"),
    ("60 * * * * a", "the minute must be 0 to 59, not '60'"),
    ("* 24 * * * a", "the hour must be 0 to 23"),
    ("* * 0 * * a", "the day of month must be 1 to 31"),
    ("* * * 13 * a", "the month must be 1 to 12"),
    ("* * * * 8 a", "the day of week must be 0 to 7"),
    ("* * * * wend a", "the day of week must be"),
    ("5/10 * * * * a", "a step is at least 1, after * or a range"),
    ("*/0 * * * * a", "a step is at least 1"),
    ("30-10 * * * * a", "runs backwards"),
    ("0~30 * * * * a", "a random time (~) is not supported"),
    ("0 0 31 2 * a", "month 2 has no day 31"),
    ("0 0 L * * a", "Quartz syntax"),
    ("0 1 * * *", "expected a command after the times"),
    ("0 1 * * * %input", "expected a command after the times"),
    ("0 1 * *", "expected five times and a command"),
    ("backup every night", "expected five times and a command"),
    ("0 1 * * * a\x07", "a control character"),
    ("MY-VAR=1", "'MY-VAR' is no name of a variable"),
    ("CRON_TZ=Mars/Olympus", "there is no time zone 'Mars/Olympus'"),
    ("0 1 * * * root /usr/bin/backup", "root is a user of this machine: add --user"),
    ("17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly", "root is a user of this machine"),
)


def imported(text: str, *, has_users: bool = False, runner: int = ME.pw_uid) -> Imported:
    user = None if has_users else ME.pw_name
    return entries_of(read_crontab(text, user), "tab", "box-1", HERE, runner)


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[line for line, _ in LINES])
def test_each_line_becomes_a_schedule_or_is_refused(line: str, expected: Became | str) -> None:
    found = imported(f"# a comment\n\n{line}\n")
    if isinstance(expected, str):
        (remark,) = found.refused
        assert (remark.line, found.processes) == (3, {})
        assert expected in remark.what
        return
    times, command, stdin = (*expected, None)[:3]
    name = found.names[3]
    schedule, process = found.schedules[name], found.processes[name]
    assert found.refused == ()
    assert schedule["trigger"] == {"cron": [times]}
    assert (schedule["process"], schedule["zone"]) == (name, HERE)
    assert process["command"] == ["/bin/sh", "-c", command.replace("$", "$$")]
    assert process.get("stdin") == stdin
    assert process["cwd"] == ME.pw_dir
    assert process["present_on_boxes"] == [r"box\-1"]


def of_line(found: Imported, line: int) -> tuple[dict[str, Any], dict[str, Any]]:
    name = found.names[line]
    return found.processes[name], found.schedules[name]


def test_an_assignment_holds_for_the_lines_after_it() -> None:
    found = imported("0 1 * * * a\n X = 'one  two' \nSHELL=/bin/bash\nHOME=/tmp\n0 1 * * * b\n")
    before, _ = of_line(found, 1)
    assert before["variables"] == {
        "SHELL": "/bin/sh",
        "PATH": "/usr/bin:/bin",
        "HOME": ME.pw_dir,
        "USER": ME.pw_name,
        "LOGNAME": ME.pw_name,
    }
    after, _ = of_line(found, 5)
    assert after["command"] == ["/bin/bash", "-c", "b"]
    assert after["cwd"] == "/tmp"
    assert after["variables"]["X"] == "one  two"


@pytest.mark.parametrize(
    ("assignment", "value"),
    [("A=b", "b"), ("A = b c ", "b c"), ('A="b "', "b "), ("A='b # c'", "b # c"), ("'A'=$B", "$B")],
)
def test_values_are_read_as_cron_reads_them(assignment: str, value: str) -> None:
    process, _ = of_line(imported(f"{assignment}\n0 1 * * * a\n"), 2)
    assert process["variables"]["A"] == value


def test_the_zone_of_times_is_that_of_cron() -> None:
    found = imported("TZ=Asia/Tokyo\n0 1 * * * a\nCRON_TZ=America/New_York\n0 1 * * * b\n")
    assert of_line(found, 2)[1]["zone"] == HERE
    assert of_line(found, 4)[1]["zone"] == "America/New_York"
    assert of_line(found, 4)[0]["variables"]["TZ"] == "Asia/Tokyo"
    assert [(note.line, note.what.partition(";")[0]) for note in found.notes] == [
        (1, "commands get it")
    ]


def test_no_line_below_an_unknown_zone_is_taken_in_another_zone() -> None:
    found = imported("CRON_TZ=Nowhere\nA=b\n0 1 * * * a\nCRON_TZ=UTC\n0 1 * * * b\n")
    assert [remark.line for remark in found.refused] == [1, 3]
    assert list(found.names) == [5]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("MAILTO=ops@example.com", "no mail is sent"),
        ('MAILTO=""', "no mail is sent"),
        ("RANDOM_DELAY=30", "times are not delayed at random"),
        ("LOGNAME=x", "left out"),
        ("HOME=/no/such/home", "its HOME, /no/such/home, is no folder here"),
        ("SHELL=/no/such/shell", "its SHELL, /no/such/shell, is not here"),
        ("-0 2 * * * b", "the - before it is left out"),
        ("0 2 * * * b\r", "the carriage return at its end is left out"),
        ("0 1 * * * a", "the same as line 1: it runs once"),
    ],
)
def test_what_is_different_here_is_said(line: str, what: str) -> None:
    found = imported(f"0 1 * * * a\n{line}\n0 1 * * * c\n")
    (note,) = found.notes
    assert what in note.what
    assert found.refused == ()


@pytest.mark.parametrize(
    ("assignment", "what"),
    [
        ("HOME=here", "its HOME is 'here': expected an absolute path"),
        ("SHELL=", "its SHELL is '': expected an absolute path"),
        ("SYNERGY_RUN=1", "SYNERGY_RUN, assigned above, is set by Synergy"),
    ],
)
def test_surroundings_that_no_command_can_have_are_refused(assignment: str, what: str) -> None:
    found = imported(f"0 1 * * * a\n{assignment}\n0 1 * * * b\n")
    (remark,) = found.refused
    assert (remark.line, list(found.names)) == (3, [1])
    assert what in remark.what


def test_times_of_one_command_become_one_schedule() -> None:
    found = imported("0 9 * * 1-5 a\n0 12 * * 6 a\n")
    assert found.names[1] == found.names[2]
    assert of_line(found, 1)[1]["trigger"] == {"cron": ["0 9 * * 1-5", "0 12 * * 6"]}


def test_names_survive_other_times_another_order_and_other_variables() -> None:
    before = imported("0 1 * * * /opt/a.sh x\n0 2 * * * b\n").names
    after = imported("PATH=/opt\n5 2 * * * b\n5 1 * * * /opt/a.sh x\n").names
    assert (after[3], after[2]) == (before[1], before[2])
    assert before[1].startswith("tab-a.sh-")


def test_one_command_in_two_surroundings_becomes_two_schedules() -> None:
    names = imported("A=1\n0 1 * * * a\nA=2\n0 1 * * * a\n").names
    assert names[4] == f"{names[2]}-2"


def test_a_user_column_says_who_runs_a_command() -> None:
    found = imported(f"0 1 * * *\t{ME.pw_name}\t a  b\n0 1 * * * {ME.pw_name}\n", has_users=True)
    process, _ = of_line(found, 1)
    assert process["command"] == ["/bin/sh", "-c", "a  b"]
    assert "user" not in process
    assert [(r.line, r.what) for r in found.refused] == [
        (2, "expected a user and a command after the times")
    ]


def test_a_user_that_does_not_exist_is_refused() -> None:
    (remark,) = imported("0 1 * * * /usr/bin/x --all\n", has_users=True).refused
    assert remark.what.startswith("this machine has no user /usr/bin/x; ")


def test_a_crontab_may_be_that_of_another_user() -> None:
    found = entries_of(read_crontab("0 1 * * * a\n", "nobody"), "tab", "box-1", HERE, 0)
    process, _ = of_line(found, 1)
    assert process["user"] == "nobody"
    assert process["variables"]["LOGNAME"] == "nobody"
    (remark,) = entries_of(read_crontab("0 1 * * * a\n", "x-y"), "tab", "box", HERE, 0).refused
    assert remark.what == "this machine has no user x-y"


def test_a_deployment_of_root_runs_lines_of_all_users() -> None:
    found = imported("0 1 * * * nobody a\n0 1 * * * root b\n", has_users=True, runner=0)
    process, _ = of_line(found, 1)
    assert process["user"] == "nobody"
    assert process["cwd"] == pwd.getpwnam("nobody").pw_dir
    assert "user" not in of_line(found, 2)[0]


def test_a_deployment_of_another_user_runs_lines_of_that_user_only() -> None:
    daemon = pwd.getpwnam("daemon").pw_uid
    text = "0 1 * * * nobody a\n0 1 * * * daemon a\n"
    found = imported(text, has_users=True, runner=daemon)
    (remark,) = found.refused
    assert remark.what == (
        "it runs as nobody, and this deployment runs as daemon: "
        "import it into a deployment of nobody, or of root"
    )
    assert "user" not in of_line(found, 2)[0]


@pytest.mark.parametrize(
    ("given", "stem"), [("crontab", "crontab"), ("my jobs", "my-jobs"), ("..x", "x")]
)
def test_a_name_begins_with_that_of_the_file(given: str, stem: str) -> None:
    assert stem_of(given) == stem


def test_a_name_needs_a_letter_or_digit() -> None:
    with pytest.raises(InvalidValue, match="use --name"):
        stem_of("//")
