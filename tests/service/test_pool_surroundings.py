"""What work of one process changes in a member of the pool concerns no other process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.service.pools import Members, a_pooled_system, launched, pooled

NAME = "SYNERGY_TEST_SURROUNDINGS"


def umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def surroundings() -> tuple[Path, str | None, int]:
    return Path.cwd(), os.environ.get(NAME), umask()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that A's work enters; the surroundings are put back after the test."""
    monkeypatch.setenv(NAME, "outside")
    monkeypatch.chdir(Path.cwd())
    before = umask()
    yield tmp_path
    os.umask(before)


def test_a_process_keeps_the_changes_of_its_work_and_others_do_not_get_them(folder):
    system = a_pooled_system(pooled("A"), pooled("B"))
    seen = []

    def act(task):
        system.clock.advance(1.0)  # a group of one unit
        seen.append((task.process.name, *surroundings()))
        if task.process.name == "A":
            os.chdir(folder)
            os.environ[NAME] = "inside"
            os.umask(0)

    members = Members(system, act)
    launched(system, "A", 2)
    launched(system, "B", 2)
    outside = surroundings()
    with members.member() as member:
        while member.round():
            assert surroundings() == outside
    assert seen == [
        ("A", *outside),
        ("B", *outside),
        ("A", folder, "inside", 0),
        ("B", *outside),
    ]


def test_a_variable_that_work_removed_is_there_for_others(folder):
    system = a_pooled_system(pooled("A"))
    members = Members(system, lambda _task: os.environ.clear())
    launched(system, "A")
    before = dict(os.environ)
    with members.member() as member:
        member.round()
    assert dict(os.environ) == before


def test_a_member_can_be_asked_to_stop_after_work_that_ignores_signals():
    system = a_pooled_system(pooled("A"))
    asked = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)

    def ignore(_task):
        for number in asked:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, asked)
        signal.alarm(60)

    members = Members(system, ignore)
    launched(system, "A")
    before = [signal.getsignal(number) for number in asked]
    try:
        with members.member() as member:
            member.round()
        assert [signal.getsignal(number) for number in asked] == before
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(asked)
        assert signal.alarm(0) == 0
    finally:
        signal.alarm(0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, asked)
        for number, handler in zip(asked, before, strict=True):
            signal.signal(number, handler)


def test_work_that_removed_its_folder_leaves_the_member_where_it_was(folder):
    system = a_pooled_system(pooled("A"))
    gone = folder / "gone"

    def remove(_task):
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()

    members = Members(system, remove)
    launched(system, "A", 2)
    outside = Path.cwd()
    with members.member() as member:
        while member.round():
            assert Path.cwd() == outside
