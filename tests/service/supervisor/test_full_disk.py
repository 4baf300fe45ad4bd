"""Starting and stopping while the disk is full, or looked at by others."""

from __future__ import annotations

import errno
import os

import pytest

from synergy.supervisor import control, daemon
from synergy.supervisor.home_lock import HomeLock


def test_starts_at_the_same_time_share_the_probe_for_space(tmp_path, monkeypatch):
    probe = tmp_path / "run" / "space"
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: probe.unlink())
    assert daemon._lack_of_space(tmp_path) is None


def test_stopping_without_a_supervisor_needs_no_space_on_the_disk(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert control.stop(tmp_path).is_stopped
    with pytest.raises(OSError, match=r"No space left on device: '.*supervisor.lock'"):
        HomeLock(tmp_path).acquire()
    assert control.stop(tmp_path).is_stopped, "the lock is free again"
