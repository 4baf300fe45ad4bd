"""A process that the fork server forks is like one that was started by itself, and as safe."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys

import psutil
import pytest

from synergy.supervisor import fork_client, proctable
from synergy.supervisor.host import ProcessHost
from synergy.supervisor.states import Slot
from tests.service.supervisor.kit import FAILS, FORK_SERVER, SLEEPS, wait_for_end

SLOT = Slot("A", 1)
FORKS = [sys.executable, "-c", FORK_SERVER]
# what a process sees of itself; the ready pipe has any number
SEEN = """
import json, os, signal, sys, threading
ready = os.environ['SYNERGY_READY_FD']
files = {fd: os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')
         if os.path.exists(f'/proc/self/fd/{fd}') or fd == ready}
pipe = files.pop(ready)
print(json.dumps({
    'files': files, 'is_pipe': pipe.startswith('pipe:'), 'cwd': os.getcwd(),
    'leads': os.getsid(0) == os.getpid() == os.getpgid(0), 'umask': os.umask(0o77),
    'signals': [repr(signal.getsignal(n)) for n in sorted(signal.valid_signals())
                if n != signal.SIGINT],
    'masked': len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    'threads': threading.active_count(),
    'environ': {k: v for k, v in os.environ.items()
                if k not in ('SYNERGY_READY_FD', 'SYNERGY_RUN', 'LC_CTYPE')},
    'limits': open('/proc/self/limits').read(), 'oom': open('/proc/self/oom_score_adj').read(),
    'comm': open('/proc/self/comm').read(), 'exe': os.readlink('/proc/self/exe'),
    'cgroup': open('/proc/self/cgroup').read(),
}), flush=True)
"""


@pytest.fixture
def subreaper():
    """The process of the tests is one for a while, as a supervisor is."""
    yield
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


@pytest.fixture
def a_host(tmp_path, subreaper):
    hosts = []

    def make(fork_server=()):
        hosts.append(ProcessHost(tmp_path, tmp_path, fork_server))
        hosts[-1].become_subreaper()
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()
        assert not host.sweep()
        host.reap_orphans(())


@pytest.fixture
def forking(a_host):
    return a_host(FORKS)


def spawn(host, program, command=(sys.executable, "-ISc")):
    return host.spawn(SLOT, [*command, program], host.marker("dev-test", SLOT))


def end(group):
    """The exit code of a process, once it has ended."""
    assert wait_for_end(group.pidfd)
    return group.close()


def kill(group):
    group.signal_leader(signal.SIGKILL)
    return end(group)


def servers():
    """The pids of the fork servers of this process; other deployments have theirs."""
    table = proctable.read_table().values()
    return [e.pid for e in table if e.parent == os.getpid() and "/fork-server/" in e.marker]


def server():
    (found,) = servers()
    return found


def said(tmp_path):
    return (tmp_path / "logs" / "A.out").read_text().splitlines()


def test_a_forked_process_sees_the_same_of_itself_as_a_started_one(a_host, tmp_path):
    for host in (a_host(), a_host(FORKS)):
        assert end(spawn(host, SEEN)) == 0

    started, forked = map(json.loads, said(tmp_path))
    assert started == forked
    assert forked["leads"]
    assert set(forked["files"]) == {"0", "1", "2"}


@pytest.mark.parametrize("fork_server", [(), FORKS])
def test_others_see_the_command_the_marker_and_the_parent(a_host, fork_server):
    host = a_host(fork_server)
    words = (sys.executable, "-IS", "-X", "a long word " * 500, "-c")
    group = spawn(host, SLEEPS, words)
    assert wait_for_end(group.ready)
    pid = group.leader.pid

    with open(f"/proc/{pid}/cmdline") as file:
        assert file.read() == "\0".join([*words, SLEEPS, ""])
    process = psutil.Process(pid)
    assert process.cmdline() == [*words, SLEEPS]
    assert process.ppid() == os.getpid()
    assert process.environ() == {
        **os.environ,
        "SYNERGY_RUN": group.leader.marker,
        "SYNERGY_READY_FD": process.environ()["SYNERGY_READY_FD"],
    }
    assert group.take_ready()
    assert kill(group) == -signal.SIGKILL


@pytest.mark.parametrize("fork_server", [(), FORKS])
def test_the_exit_code_is_known_even_of_a_process_that_ends_at_once(a_host, fork_server):
    host = a_host(fork_server)

    assert end(spawn(host, FAILS)) == 3
    assert end(spawn(host, "import os; os._exit(4)")) == 4
    assert end(spawn(host, "raise KeyError")) == 1
    assert end(spawn(host, "import os; os.kill(os.getpid(), 15)")) == -signal.SIGTERM


def test_a_forked_process_ends_like_an_interpreter(forking, tmp_path):
    program = """
import atexit, threading
atexit.register(print, "last")
threading.Thread(target=lambda: print("thread\\n", end="")).start()
print("main\\n", end="")
"""
    assert end(spawn(forking, program)) == 0

    assert sorted(said(tmp_path)) == ["last", "main", "thread"]
    assert said(tmp_path)[-1] == "last"


def test_random_numbers_differ(forking, tmp_path):
    for _ in range(2):
        end(spawn(forking, "import random, uuid; print(random.random(), uuid.uuid4())"))

    first, second = (line.split() for line in said(tmp_path))
    assert not set(first) & set(second)


def test_processes_of_one_start_share_what_is_read_then(forking, tmp_path):
    for value in ("first", "second"):
        (tmp_path / "prepared").write_text(value)
        with forking.together():
            for _ in range(2):
                assert end(spawn(forking, "print(prepared)")) == 0
    end(spawn(forking, "print(prepared)"))

    assert said(tmp_path) == ["first", "first", "second", "second", "None"]


@pytest.mark.parametrize(
    "preparation",
    [
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "global kept; kept = open('/dev/null')",
        "raise ValueError",
        "import sys; sys.exit(0)",
    ],
)
def test_what_cannot_be_shared_is_prepared_by_each_process(a_host, tmp_path, caplog, preparation):
    call = f"lambda: exec({preparation!r}, globals())"
    host = a_host([*FORKS[:2], FORK_SERVER.replace('Path("prepared").read_text', call)])

    with host.together():
        assert end(spawn(host, "print(prepared, 'kept' in globals())")) == 0

    assert said(tmp_path) == ["None False"]
    assert caplog.records == []


def test_a_killed_server_is_replaced_at_the_next_start(forking, tmp_path, caplog):
    before = spawn(forking, SLEEPS)
    first = server()
    os.kill(first, signal.SIGKILL)

    after = spawn(forking, SLEEPS)  # starts without a server
    assert [record.event for record in caplog.records] == ["supervisor.fork_server_failed"]
    last = spawn(forking, SLEEPS)

    assert server() != first
    assert [kill(group) for group in (before, after, last)] == [-signal.SIGKILL] * 3


def test_a_server_that_hangs_is_given_up_in_time_and_forks_nothing_later(forking, caplog):
    kill(spawn(forking, SLEEPS))
    forking._launcher._server._channel.settimeout(0.1)
    hung = os.pidfd_open(server())
    os.kill(server(), signal.SIGSTOP)

    group = spawn(forking, SLEEPS)

    assert proctable.has_ended(hung)
    os.close(hung)
    assert "does not answer" in caplog.text
    found = [e.pid for e in proctable.read_table().values() if e.marker == group.leader.marker]
    assert found == [group.leader.pid]
    assert kill(group) == -signal.SIGKILL


def test_a_process_that_a_lost_server_has_forked_does_not_run_beside_its_replacement(
    forking, monkeypatch
):
    monkeypatch.setattr(fork_client.ForkServer, "_answer", answer_is_lost_after_the_fork)

    group = spawn(forking, SLEEPS)

    found = [e.pid for e in proctable.read_table().values() if e.marker == group.leader.marker]
    assert found == [group.leader.pid]
    assert kill(group) == -signal.SIGKILL


_answer = fork_client.ForkServer._answer


def answer_is_lost_after_the_fork(server):
    if "pid" in (answer := _answer(server)):
        raise fork_client.ForkFailed("the test lost the answer")
    return answer


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(1)",
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
        + FORK_SERVER,
    ],
)
def test_without_a_server_processes_are_started_and_it_is_not_tried_for_ever(
    a_host, caplog, program
):
    caplog.set_level(logging.WARNING)
    host = a_host([sys.executable, "-c", program])

    codes = [end(spawn(host, FAILS)) for _ in range(5)]

    assert codes == [3] * 5
    assert len(caplog.records) == 3


def test_only_a_subreaper_forks(tmp_path):
    host = ProcessHost(tmp_path, tmp_path, FORKS)

    group = spawn(host, SLEEPS)

    assert servers() == []
    assert kill(group) == -signal.SIGKILL
