"""Places of the pool: limited, exclusive among processes, and free again after any death."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from synergy.worker.pool.places import Places


def test_there_are_as_many_places_as_the_limit_says(tmp_path: Path) -> None:
    places, others = Places(tmp_path), Places(tmp_path)
    first, second = places.take("A", 2), others.take("A", 2)
    assert first is not None
    assert second is not None
    assert places.take("A", 2) is None
    first.release()
    assert others.take("A", 2) is not None


def test_the_places_of_processes_are_independent(tmp_path: Path) -> None:
    places = Places(tmp_path)
    assert places.take("A", 1) is not None
    assert places.take("B", 1) is not None
    assert places.take("a/../b\\0", 1) is not None, "any name will do"


def test_a_killed_process_leaves_its_place(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        Places(tmp_path).take("A", 1)
        os.write(writer, b"!")
        signal.pause()
    os.read(reader, 1)
    places = Places(tmp_path)
    assert places.take("A", 1) is None
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert places.take("A", 1) is not None
    os.close(reader)
    os.close(writer)


def test_a_process_that_work_forked_does_not_keep_the_place(tmp_path: Path) -> None:
    place = Places(tmp_path).take("A", 1)
    assert place is not None
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        place.release()
        assert Places(tmp_path).take("A", 1) is not None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_the_files_are_private(tmp_path: Path) -> None:
    Places(tmp_path).take("A", 1)
    (file,) = (tmp_path / "run" / "pool").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
