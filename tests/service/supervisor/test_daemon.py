"""The supervisor as a process of its own: started, started twice, killed, stopped."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from synergy.model.process import Deployment
from synergy.runtime.identity import start_time
from synergy.supervisor import control, home_lock, proctable
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.host import ProcessHost
from synergy.supervisor.status import status
from tests.service.supervisor.kit import BOX, FAILS, IGNORES_TERM, SLEEPS, FragileStore

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path):
    yield tmp_path
    control.stop(tmp_path, timeout=20.0)
    assert not ProcessHost(tmp_path, tmp_path).sweep()


def declare(home, **settings):
    (home / "deployment.json").write_text(json.dumps(settings))


@pytest.fixture(autouse=True)
def hangups_end_processes():
    """Child processes inherit this, even if the caller of the tests ignores hangups."""
    with on_hangup(signal.SIG_DFL):
        yield


@contextmanager
def on_hangup(act):
    before = signal.signal(signal.SIGHUP, act)
    yield
    signal.signal(signal.SIGHUP, before)


def launch(verb, home):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.service.supervisor.kit", verb, str(home)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )


def until_running(process):
    """Reads the output of a foreground supervisor until a process runs."""
    while json.loads(process.stdout.readline())["state"] != "running":
        pass


def report_of(process):
    out, _ = process.communicate(timeout=60)
    return json.loads(out.splitlines()[-1])


def start(home):
    return report_of(launch("start", home))


def observed(home):
    with closing(FragileStore(home)) as store:
        return store.boxes.observed(BOX)


def status_of(home):
    with closing(FragileStore(home)) as store:
        return status(home, store, BOX, Deployment({}, {}))


def marked(home):
    return {entry.pid for entry in ProcessHost(home, home).leftovers()}


def leaders(home):
    return {
        seen.pid
        for seen in observed(home)
        if seen.pid is not None and start_time(seen.pid) == seen.started
    }


def kill(pid):
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert proctable.has_ended(pidfd, 20)
    os.close(pidfd)


def test_start_returns_when_all_is_up_and_stop_leaves_nothing(home):
    declare(home, programs={"A": SLEEPS, "B": IGNORES_TERM}, instances=2, grace=0.5)

    report = start(home)

    assert report["outcome"] == "started"
    assert home_lock.holder(home).pid == report["pid"]
    assert leaders(home) == {c["pid"] for c in report["changes"] if c["state"] == "running"}
    assert len(leaders(home)) == 4
    assert len(marked(home)) == 2 + 2 * 3
    assert os.getsid(report["pid"]) not in {os.getsid(0), *leaders(home)}

    stopped = control.stop(home, timeout=20.0)

    assert (stopped.was_running, stopped.is_stopped, stopped.left) == (True, True, ())
    assert marked(home) == set()
    assert home_lock.holder(home) is None
    assert {o.state for o in observed(home)} == {"stopped"}


def test_a_second_start_reports_the_running_supervisor_and_changes_nothing(home):
    declare(home, programs={"A": SLEEPS})
    first = start(home)
    before = marked(home)

    second = start(home)

    assert (second["outcome"], second["pid"]) == ("already running", first["pid"])
    assert marked(home) == before


def test_one_of_several_concurrent_starts_wins(home):
    declare(home, programs={"A": SLEEPS}, instances=2)

    racing = [launch("start", home) for _ in range(4)]
    outcomes = sorted(report_of(process)["outcome"] for process in racing)

    assert outcomes == ["already running"] * 3 + ["started"]
    assert len(marked(home)) == 2


def test_the_successor_of_a_killed_supervisor_adopts_its_processes(home):
    declare(home, programs={"A": SLEEPS, "B": SLEEPS}, instances=2)
    first = start(home)
    before = leaders(home)
    victim = min(before)

    kill(first["pid"])
    assert marked(home) == before  # its processes still run
    kill(victim)
    second = start(home)

    assert second["outcome"] == "started"
    assert before - {victim} < leaders(home)
    assert leaders(home) == marked(home)
    assert len(marked(home)) == 4


def test_stop_ends_what_a_killed_supervisor_left_behind(home):
    declare(home, programs={"A": SLEEPS, "B": SLEEPS})
    report = start(home)
    kill(report["pid"])
    seen = status_of(home)
    assert not seen.running
    assert all(process.rss > 0 for process in seen.processes)

    stopped = control.stop(home)

    assert (stopped.was_running, stopped.is_stopped, stopped.ended) == (False, True, 2)
    assert marked(home) == set()
    assert [p.state for p in status_of(home).processes] == ["lost", "lost"]


def test_stop_where_nothing_ever_ran_creates_nothing(tmp_path):
    stopped = control.stop(tmp_path / "none")

    assert (stopped.was_running, stopped.is_stopped) == (False, True)
    assert not (tmp_path / "none").exists()


def test_a_process_that_does_not_stay_up_is_named(home):
    declare(home, programs={"Good": SLEEPS, "Bad": FAILS})

    report = start(home)

    assert report["outcome"] == "incomplete"
    assert [missing["process"] for missing in report["missing"]] == ["Bad"]


def test_a_store_that_cannot_be_reached_fails_the_start_with_its_reason(home):
    declare(home, programs={"A": SLEEPS}, unreachable=True)

    report = start(home)

    assert (report["outcome"], report["reason"]) == ("unreachable", "nobody answers")
    assert home_lock.holder(home) is None


def test_a_daemon_that_fails_early_reports_its_error(home):
    declare(home, programs={"A": SLEEPS}, broken=True)

    report = start(home)

    assert report["outcome"] == "failed"
    assert "RuntimeError: broken on purpose" in report["reason"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_a_foreground_supervisor_cleanly(home, number):
    declare(home, programs={"A": SLEEPS})
    process = launch("foreground", home)
    until_running(process)

    process.send_signal(number)

    assert report_of(process)["outcome"] == "stopped"
    assert process.returncode == 0
    assert marked(home) == set()


def test_a_foreground_supervisor_under_nohup_ignores_a_hangup(home):
    declare(home, programs={"A": SLEEPS})
    with on_hangup(signal.SIG_IGN):
        process = launch("foreground", home)
    until_running(process)

    process.send_signal(signal.SIGHUP)
    [victim] = leaders(home)
    kill(victim)
    until_running(process)  # it still runs, and restarts the process

    process.send_signal(signal.SIGTERM)
    assert report_of(process)["outcome"] == "stopped"
    assert marked(home) == set()


def test_a_start_for_another_box_on_a_running_home_is_refused(home):
    declare(home, programs={"A": SLEEPS})
    report = start(home)
    declare(home, box="other", programs={"A": SLEEPS})

    refused = start(home)

    assert refused["outcome"] == "refused"
    assert f"has the supervisor of box {BOX} (pid {report['pid']})" in refused["reason"]
    assert "start is for box other" in refused["reason"]
    with closing(FragileStore(home)) as store:
        assert not status(home, store, "other", Deployment({}, {})).running
        assert status(home, store, BOX, Deployment({}, {})).running


def test_a_start_without_room_on_the_disk_says_so(home):
    declare(home, programs={"A": SLEEPS})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))  # inherited by the start
    try:
        report = start(home)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert report["outcome"] == "unreachable"
    assert "needs 16 MiB; free some" in report["reason"]
    assert not (home / "run" / "space").exists()


def test_a_supervisor_whose_home_is_removed_ends_with_all_it_runs(home):
    declare(home, programs={"A": SLEEPS, "B": FAILS})  # restarts of B make it check its home
    report = start(home)
    pidfd = os.pidfd_open(report["pid"])

    shutil.rmtree(home)

    assert proctable.has_ended(pidfd, 30)
    os.close(pidfd)
    home.mkdir()
    assert marked(home) == set()


def test_the_lock_is_free_again_when_its_holder_is_gone(tmp_path):
    first, second = HomeLock(tmp_path), HomeLock(tmp_path)

    assert first.acquire()
    assert first.is_intact
    assert home_lock.holder(tmp_path).pid == os.getpid()
    assert not second.acquire()
    first.release()
    assert home_lock.holder(tmp_path) is None
    assert second.acquire()
    second.release()
