"""The files of the audit log: appended to by several processes, torn, and on a full disk."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.audit_log import files
from synergy.audit_log.chain import Verified, verify
from synergy.audit_log.entry import Act, Entry, decode
from synergy.audit_log.files import AuditLog
from synergy.clock import SteppedClock
from synergy.errors import AuditLogUnavailable
from tests.acceptance.disk_space import a_room

NOW = datetime(2015, 5, 20, 12, 0, 0, 123456, tzinfo=UTC)
ACT = Act("anna", "session", "10.0.0.7", "process off", {"name": "Scheduler"})
PROJECT = Path(__file__).resolve().parents[2]
WRITER = """
import sys
from pathlib import Path
from synergy.audit_log.entry import Act
from synergy.audit_log.files import AuditLog
from synergy.clock import SystemClock

log = AuditLog(Path(sys.argv[1]), SystemClock())
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    log.note(Act(sys.argv[3], "", "", "test", {"number": str(number)}))
"""


def verified_log(log: AuditLog) -> Verified:
    return verify(files.lines(files.files(log.folder)))


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path, SteppedClock(NOW))


def test_the_files_are_private(log: AuditLog) -> None:
    log.note(ACT)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in log.folder.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["audit-log", "audit-log/000000000001.jsonl", "audit-log/lock"])
def test_no_symbolic_link_is_followed(log: AuditLog, tmp_path: Path, name: str) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir() if name == "audit-log" else target.touch()
    link = tmp_path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    with pytest.raises(AuditLogUnavailable):
        log.note(ACT)
    assert not list(target.iterdir()) if target.is_dir() else not target.read_bytes()


def test_begin_and_result_are_two_entries(log: AuditLog) -> None:
    log.note(ACT)
    begun = log.begin(ACT)
    log.note(ACT)
    log.end(begun, "refused", "409")
    newest = next(log.newest())
    assert (newest.seq, newest.of, newest.result, newest.detail) == (4, 2, "refused", "409")
    assert newest.action == ACT.action


def test_entries_are_read_newest_first(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILE_SIZE", 1000)
    for _ in range(9):
        log.note(ACT)
    assert len(files.files(log.folder)) > 2
    assert [entry.seq for entry in log.newest()] == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert [entry.seq for entry in log.newest(before=4)] == [3, 2, 1]


def test_the_chain_goes_on_in_the_next_file(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILE_SIZE", 1000)
    for _ in range(9):
        log.note(ACT)
    first, second, *_ = files.files(log.folder)
    assert verified_log(log).faults == []
    first_entry = decode(second.read_bytes().splitlines(keepends=True)[0])
    assert second.stem == f"{first_entry.seq:012}"
    assert first_entry.previous == decode(first.read_bytes().splitlines(keepends=True)[-1]).hash
    second.unlink()
    assert verified_log(log).faults


def test_an_empty_last_file_is_continued(log: AuditLog) -> None:
    """A crash may leave it."""
    log.note(ACT)
    (log.folder / f"{2:012}.jsonl").touch(0o600)
    log.note(ACT)
    assert verified_log(log).entries == 2
    assert verified_log(log).faults == []


@given(cut=st.integers(1, 10_000))
def test_a_torn_line_is_healed_and_told(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    log = AuditLog(tmp_path_factory.mktemp("home"), SteppedClock(NOW))
    for _ in range(3):
        log.note(ACT)
    (path,) = files.files(log.folder)
    text = path.read_bytes()
    last = text.splitlines(keepends=True)[-1]
    torn = last[: cut % (len(last) - 2) + 1]
    path.write_bytes(text.removesuffix(last) + torn)
    found = verified_log(log)
    assert found.faults == []
    assert "torn" in found.remarks[0]
    log.note(ACT)
    found = verified_log(log)
    assert found.faults == []
    assert "as entry 3 records" in found.remarks[0]
    assert torn in path.read_bytes(), "what is left of it stays"
    assert found.head.seq == 4


def test_an_entry_that_lacks_its_line_feed_only_is_whole(log: AuditLog) -> None:
    log.note(ACT)
    log.note(ACT)
    (path,) = files.files(log.folder)
    path.write_bytes(path.read_bytes()[:-1])
    log.note(ACT)
    found = verified_log(log)
    assert (found.faults, found.remarks, found.entries) == ([], [], 3)


def test_a_changed_last_line_is_not_healed(log: AuditLog) -> None:
    log.note(ACT)
    log.note(ACT)
    (path,) = files.files(log.folder)
    path.write_bytes(path.read_bytes().replace(b'"seq":2', b'"seq":7'))
    log.note(ACT)
    assert verified_log(log).faults == ["000000000001.jsonl:2: the line was changed, or inserted"]


def test_a_file_whose_end_is_damaged_is_not_written(log: AuditLog) -> None:
    log.note(ACT)
    (path,) = files.files(log.folder)
    path.write_bytes(b"x\n" * files.TAIL)
    with pytest.raises(AuditLogUnavailable, match="damaged: move it away"):
        log.note(ACT)


def test_concurrent_processes_lose_no_entry(log: AuditLog, tmp_path: Path) -> None:
    writers = [_writer(tmp_path, 100, f"w{number}") for number in range(4)]
    for writer in writers:
        with writer:
            writer.communicate()
        assert writer.returncode == 0
    found = verified_log(log)
    assert (found.faults, found.remarks, found.entries) == ([], [], 400)
    for number in range(4):
        mine = [entry for entry in log.newest() if entry.who == f"w{number}"]
        assert [entry.object["number"] for entry in mine] == [str(n) for n in range(99, -1, -1)]


def test_a_killed_process_leaves_a_chain_that_goes_on(log: AuditLog, tmp_path: Path) -> None:
    for _ in range(5):
        with _writer(tmp_path, 10**6, "killed") as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            before = _newest_seq(log)
            while _newest_seq(log) < before + 5:
                pass
            writer.send_signal(signal.SIGKILL)
    log.note(ACT)
    found = verified_log(log)
    assert found.faults == []
    assert found.head.who == ACT.who
    assert found.entries >= 26


def test_a_write_that_fails_leaves_nothing(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.note(ACT)
    with _limited_files(log), pytest.raises(AuditLogUnavailable, match="the audit log failed"):
        log.note(ACT)
    found = verified_log(log)
    assert (found.faults, found.remarks, found.entries) == ([], [], 1)
    log.note(ACT)
    assert verified_log(log).entries == 2


def test_a_full_disk_leaves_a_whole_chain(tmp_path: Path) -> None:
    with a_room(tmp_path / "room") as room:
        log = AuditLog(room.path / "home", SteppedClock(NOW))
        log.note(ACT)
        room.fill(_this_process)
        try:
            with pytest.raises(AuditLogUnavailable, match=room.said):
                _note_much(log)
        finally:
            room.free(_this_process)
        log.note(ACT)
        found = verified_log(log)
        assert (found.faults, found.remarks) == ([], [])


def _note_much(log: AuditLog) -> None:
    """Notes more than the last block of a file has room for."""
    for _ in range(100):
        log.note(ACT)


def _this_process() -> set[int]:
    return {os.getpid()}


@contextmanager
def _limited_files(log: AuditLog) -> Iterator[None]:
    """Lets the file grow by a few bytes only, as on a disk that is nearly full."""
    (path,) = files.files(log.folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _newest_seq(log: AuditLog) -> int:
    newest: Entry | None = next(log.newest(), None)
    return 0 if newest is None else newest.seq


def _writer(home: Path, number: int, who: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(home), str(number), who]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=home)


def test_a_line_without_line_feed_is_read_in_parts(tmp_path: Path) -> None:
    endless = tmp_path / "000000000001.jsonl"
    endless.touch()
    os.truncate(endless, 3 * files.TAIL)
    assert max(len(line) for _, line in files.lines([endless])) <= files.TAIL + 1
    assert verify(files.lines([endless])).faults
