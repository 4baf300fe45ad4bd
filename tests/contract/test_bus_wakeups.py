"""Wake-ups end waits: within a process, between processes, and from a signal handler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from synergy.messaging.message import UnitMessage
from synergy.messaging.protocol import Bus, Waiter
from synergy.messaging.wakeups import SocketWakeups
from synergy.storage.protocol import Store
from tests.logged import events_of
from tests.servers.standing_still import stand_still

WAIT_SECONDS = 30.0  # a bound: no passing test waits that long


@pytest.fixture
def listener(bus: Bus) -> Iterator[Waiter]:
    with closing(bus.listener("scheduler")) as listener:
        yield listener


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bells"


@pytest.fixture
def wakeups(folder: Path) -> Iterator[SocketWakeups]:
    with closing(SocketWakeups(folder)) as wakeups:
        yield wakeups


def test_a_wait_without_wake_up_ends_by_its_timeout(listener: Waiter) -> None:
    assert not listener.wait(0)
    assert not listener.wait(0.01)


def test_wake_ups_before_a_wait_are_kept_and_end_one_wait(bus: Bus, listener: Waiter) -> None:
    for _ in range(1_000):
        bus.notify("scheduler")
    assert listener.wait(WAIT_SECONDS)
    assert not listener.wait(0)


def test_a_wake_up_ends_a_wait_of_another_thread(bus: Bus, listener: Waiter) -> None:
    woken = []
    thread = threading.Thread(target=lambda: woken.append(listener.wait(WAIT_SECONDS)))
    thread.start()
    bus.notify("scheduler")
    thread.join()
    assert woken == [True]


def test_all_listeners_of_the_topic_are_woken_and_no_others(bus: Bus, listener: Waiter) -> None:
    with closing(bus.listener("scheduler")) as second, closing(bus.listener("other")) as other:
        bus.notify("scheduler")
        assert listener.wait(0)
        assert second.wait(0)
        assert not other.wait(0)


@pytest.mark.parametrize("topic", ["a/b", "../x", "a.b", "Zürich 東京", "x" * 500, "", "a\0b\n"])
def test_any_text_can_be_a_topic(bus: Bus, topic: str) -> None:
    with closing(bus.listener(topic)) as mine, closing(bus.listener(topic + "x")) as other:
        bus.notify(topic)
        assert mine.wait(0)
        assert not other.wait(0)


def test_a_queue_and_a_topic_with_the_same_name_are_independent(store: Store, bus: Bus) -> None:
    with closing(bus.listener("q")) as listener, closing(bus.consumer("q")) as consumer:
        with store.batch() as batch:
            bus.publish("q", [UnitMessage("u", 1)], batch)
            assert not consumer.wait(0), "no consumer is woken before the commit"
        assert consumer.wait(0)
        assert not listener.wait(0)


def test_an_interrupt_ends_a_wait_of_another_thread(listener: Waiter) -> None:
    woken = []
    thread = threading.Thread(target=lambda: woken.append(listener.wait(WAIT_SECONDS)))
    thread.start()
    listener.interrupt()
    thread.join()
    assert woken == [True]


def test_an_interrupt_before_the_wait_ends_it(listener: Waiter) -> None:
    listener.interrupt()
    assert listener.wait(WAIT_SECONDS)
    assert not listener.wait(0)


def test_an_interrupt_may_come_from_a_signal_handler(listener: Waiter) -> None:
    before = signal.signal(signal.SIGALRM, lambda *_: listener.interrupt())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        assert listener.wait(WAIT_SECONDS)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_interrupts_and_wake_ups_after_closing_are_ignored(bus: Bus) -> None:
    listener = bus.listener("scheduler")
    listener.close()
    listener.interrupt()
    bus.notify("scheduler")
    bus.close()
    bus.notify("scheduler")


# Across processes

WAKER = """
import sys
from pathlib import Path
from synergy.messaging.wakeups import SocketWakeups
wakeups = SocketWakeups(Path(sys.argv[1]))
waiter = wakeups.waiter("mine")
print("ready", flush=True)
sys.stdin.readline()
wakeups.wake("yours")
sys.stdin.readline()
"""


@pytest.fixture
def waker(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with a waiter for `mine`, which wakes `yours` when it reads a line."""
    command = [sys.executable, "-c", WAKER, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_wake_up_from_another_process_arrives(
    wakeups: SocketWakeups, waker: subprocess.Popen[str]
) -> None:
    with closing(wakeups.waiter("yours")) as waiter:
        assert waker.stdin is not None
        print(file=waker.stdin, flush=True)
        assert waiter.wait(WAIT_SECONDS)


def test_sockets_of_a_killed_process_are_removed_by_the_next_wake_up(
    wakeups: SocketWakeups, waker: subprocess.Popen[str], folder: Path
) -> None:
    with closing(wakeups.waiter("mine")) as mine:
        waker.kill()
        waker.wait()
        assert len(list(folder.iterdir())) == 2
        wakeups.wake("mine")
        assert mine.wait(0)
        assert len(list(folder.iterdir())) == 1
    assert list(folder.iterdir()) == []


def test_a_stopped_process_blocks_no_other(
    wakeups: SocketWakeups, waker: subprocess.Popen[str]
) -> None:
    stand_still(waker.pid)
    for _ in range(1_000):
        wakeups.wake("mine")
    os.kill(waker.pid, signal.SIGCONT)


def test_the_folder_of_sockets_is_private_to_its_owner(
    wakeups: SocketWakeups, folder: Path
) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700


def test_wake_ups_work_in_a_folder_with_a_very_long_path(tmp_path: Path) -> None:
    home = tmp_path.joinpath(*["long" * 20] * 4)
    with (
        closing(SocketWakeups(home)) as wakeups,
        closing(wakeups.waiter("scheduler" * 20)) as waiter,
    ):
        wakeups.wake("scheduler" * 20)
        assert waiter.wait(0)


def test_waking_does_not_raise_if_the_folder_is_gone(wakeups: SocketWakeups, folder: Path) -> None:
    waiter = wakeups.waiter("a")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    wakeups.wake("a")
    assert not waiter.wait(0)
    waiter.close()


def delete(folder: Path, *, with_folder: bool) -> None:
    for file in folder.iterdir():
        file.unlink()
    if with_folder:
        folder.rmdir()


@pytest.mark.parametrize("with_folder", [False, True])
def test_a_deleted_socket_is_made_again_and_logged(
    wakeups: SocketWakeups,
    folder: Path,
    with_folder: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("synergy.messaging.wakeups.LOOK_SECONDS", 0.01)
    with closing(SocketWakeups(folder)) as other, closing(wakeups.waiter("a")) as waiter:
        delete(folder, with_folder=with_folder)
        assert waiter.wait(WAIT_SECONDS), "a byte may have been lost meanwhile"
        assert not waiter.wait(0.05)
        other.wake("a")
        assert waiter.wait(0.0)
        waiter.interrupt()
        assert waiter.wait(0.0)
    assert events_of(caplog) == ["wakeups.restored"]
    assert list(folder.iterdir()) == []


def test_a_socket_that_cannot_be_made_again_is_logged_once(
    wakeups: SocketWakeups,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("synergy.messaging.wakeups.LOOK_SECONDS", 0.01)
    with closing(wakeups.waiter("a")) as waiter:
        delete(folder, with_folder=True)
        folder.write_text("in its place")
        assert not waiter.wait(0.05)
        assert events_of(caplog) == ["wakeups.unavailable"]
        folder.unlink()
        assert waiter.wait(WAIT_SECONDS)


def test_a_wait_does_not_poll(wakeups: SocketWakeups) -> None:
    """A second of waiting costs next to no processor time."""
    with closing(wakeups.waiter("a")) as waiter:
        before = os.times()
        assert not waiter.wait(1.0)
        after = os.times()
    assert (after.user + after.system) - (before.user + before.system) < 0.1
