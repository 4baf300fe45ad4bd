"""Commands before the first start, of unknown names, and with wrong usage."""

from __future__ import annotations

import pytest

from tests.service.commands import DAY, SESSIONS


@pytest.mark.parametrize(
    "argv",
    [
        ["process", "list"], ["process", "show", DAY], ["process", "on", DAY],
        ["process", "off", DAY], ["process", "trigger", DAY], ["process", "start", DAY],
        ["process", "stop", DAY], ["process", "interval", DAY, "every 60"], ["box", "list"],
        ["box", "sync"], ["box", "start", DAY], ["unit", "list"], ["unit", "show", "x"],
        ["unit", "log", "x"], ["unit", "cancel", "x"], ["unit", "retry", "x"], ["gc", "run"],
        ["gc", "status"], ["queue", "list"], ["queue", "dead"], ["queue", "replay"],
        ["queue", "purge", DAY], ["store", "status"], ["store", "backup", "/x.db"], ["shell"],
    ],
)  # fmt: skip
def test_before_the_first_start_nothing_is_made(commands, argv):
    assert commands.run(*argv) in (4, 5)
    assert "supervisor start" in commands.err or "/x.db" in commands.err
    assert not commands.home.exists()


@pytest.mark.parametrize(
    "argv",
    [
        ["process", "show", "SiteDailyAgregator"], ["process", "on", "NoSuch"],
        ["process", "start", "NoSuch"], ["process", "start", "NoSuch", "--console"],
        ["process", "trigger", "Scheduler"], ["process", "interval", "Scheduler", "every 60"],
        ["box", "start", "NoSuch"], ["box", "start", DAY, "--box", "nowhere"],
        ["box", "stop", DAY], ["unit", "show", "0" * 24], ["unit", "log", "0" * 24],
        ["unit", "cancel", "0" * 24], ["unit", "retry", "0" * 24],
        ["unit", "list", "--process", "NoSuch"], ["gc", "run", "--process", "NoSuch"],
        ["queue", "purge", "NoSuch"], ["queue", "replay", "77"],
    ],
)  # fmt: skip
def test_what_there_is_not_is_said_and_nothing_changes(commands, deployed, argv):
    deployed.schedule()
    before = deployed.store.journal.last_seq()
    assert commands.run(*argv) == 3, commands.text
    assert "no such" in commands.err
    assert deployed.store.journal.last_seq() == before


@pytest.mark.parametrize(
    "argv",
    [
        ["process"], ["process", "show"], ["process", "interval", DAY, "every 0"],
        ["process", "interval", DAY, "every 1h"], ["unit", "list", "--state", "lost"],
        ["unit", "list", "--limit", "0"], ["queue", "replay", "x"], ["queue", "purge"],
        ["queue", "purge", DAY, "--dead"], ["gc"], ["store", "backup"],
        ["process", "start", SESSIONS, "--console", "--instance", "3"],
    ],
)  # fmt: skip
def test_wrong_usage(commands, deployed, argv):
    deployed.schedule()
    assert commands.run(*argv) == 2
    assert commands.err
