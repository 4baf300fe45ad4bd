"""The fork server of a supervisor that runs as a daemon: nothing of it is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from synergy.runtime.identity import start_time
from synergy.supervisor import control, home_lock, proctable
from synergy.supervisor.host import ProcessHost
from tests.service.supervisor.kit import SLEEPS
from tests.service.supervisor.test_daemon import declare, kill, leaders, marked, start


@pytest.fixture(params=["a program", "itself"])
def home(tmp_path, request):
    declare(tmp_path, programs={"A": SLEEPS, "B": SLEEPS}, instances=2, forks=request.param)
    yield tmp_path
    control.stop(tmp_path, timeout=20.0)
    assert not ProcessHost(tmp_path, tmp_path).sweep()


def servers(home):
    host = ProcessHost(home, home)
    return [e.pid for e in host.leftovers() if "/fork-server/" in e.marker]


def children_of(pid):
    return {e.pid for e in proctable.read_table().values() if e.parent == pid}


def test_a_supervisor_has_one_fork_server_and_stops_it(home):
    report = start(home)

    assert report["outcome"] == "started"
    assert len(leaders(home)) == 4
    assert children_of(report["pid"]) == marked(home) == {*leaders(home), *servers(home)}
    assert len(servers(home)) == 1

    stopped = control.stop(home, timeout=20.0)

    assert (stopped.is_stopped, stopped.left) == (True, ())
    assert marked(home) == set()


@pytest.mark.parametrize("home", ["itself"], indirect=True)
def test_a_supervisor_shares_its_memory_with_the_fork_server_until_that_dies(home):
    pid = start(home)["pid"]
    (first,) = servers(home)
    assert address_of_stack(first) == address_of_stack(pid)

    kill(first)
    known = {first, *leaders(home)}
    kill(min(leaders(home)))
    await_child(pid, without=known)  # by itself, as the server is gone
    known |= leaders(home)
    kill(min(leaders(home)))
    await_child(pid, without=known)

    (second,) = servers(home)
    assert address_of_stack(second) != address_of_stack(pid)


def address_of_stack(pid):
    """Random for each program; the same in the forks of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[25]


def test_a_killed_process_is_forked_again(home):
    report = start(home)
    victim = min(leaders(home))
    kill(victim)

    restarted = await_child(report["pid"], without={victim, *leaders(home), *servers(home)})

    assert start_time(restarted) is not None
    assert len(servers(home)) == 1


def await_child(parent, without):
    while not (found := children_of(parent) - without):
        os.sched_yield()
    return found.pop()


@pytest.mark.parametrize("is_hung", [False, True])
def test_a_fork_server_ends_with_a_killed_supervisor_and_its_processes_are_adopted(home, is_hung):
    first = start(home)
    before = leaders(home)
    (server,) = servers(home)
    pidfd = os.pidfd_open(server)
    if is_hung:
        os.kill(server, signal.SIGSTOP)

    kill(first["pid"])
    if not is_hung:
        assert proctable.has_ended(pidfd, 20)
        assert marked(home) == before
    victim = min(before)
    kill(victim)
    second = start(home)

    assert second["outcome"] == "started"
    assert proctable.has_ended(pidfd, 20)
    os.close(pidfd)
    assert before - {victim} < leaders(home)
    assert marked(home) == {*leaders(home), *servers(home)}
    assert len(marked(home)) == 5


def test_a_stop_ends_a_fork_server_that_hangs(home):
    start(home)
    os.kill(servers(home)[0], signal.SIGSTOP)

    stopped = control.stop(home, timeout=20.0)

    assert (stopped.is_stopped, stopped.left) == (True, ())
    assert home_lock.holder(home) is None
    assert marked(home) == set()
