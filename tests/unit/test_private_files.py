"""Folders and files of a home are for one user only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synergy import private_files

CREATE = os.O_RDWR | os.O_CREAT


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(value: int) -> Iterator[None]:
    old = os.umask(value)
    try:
        yield
    finally:
        os.umask(old)


@pytest.mark.parametrize("value", [0o000, 0o022, 0o077])
def test_the_modes_do_not_depend_on_the_umask(tmp_path: Path, value: int) -> None:
    with umask(value):
        private_files.make_folder(tmp_path / "a" / "b")
        os.close(private_files.open_file(tmp_path / "a" / "b" / "file", CREATE))
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "file") == 0o600


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o750)
    private_files.make_folder(tmp_path / "home")
    assert mode(tmp_path / "home") == 0o750


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(OSError, match="Not a directory"):
        private_files.make_folder(tmp_path / "home" / "logs")


def test_a_folder_of_a_home_is_private_as_the_home_is(tmp_path: Path) -> None:
    with umask(0):
        private_files.make_home_folder(tmp_path / "home" / "logs")
    private_files.make_home_folder(tmp_path / "home" / "logs")
    assert mode(tmp_path / "home") == mode(tmp_path / "home" / "logs") == 0o700


def test_a_removed_home_is_not_created_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        private_files.make_home_folder(tmp_path / "home" / "logs", with_home=False)


@pytest.mark.parametrize("target", ["there", "missing", "file"])
def test_a_folder_of_a_home_is_no_link(tmp_path: Path, target: str) -> None:
    for name in ("home", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "home" / "logs").symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="it is a symbolic link"):
        private_files.make_home_folder(tmp_path / "home" / "logs")
    assert not (tmp_path / "missing").exists()


def test_the_home_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "target")
    private_files.make_home_folder(tmp_path / "home" / "logs")
    assert (tmp_path / "target" / "logs").is_dir()


def test_a_folder_of_another_user_in_a_home_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(private_files, "belongs_to_another", lambda found: True)
    with pytest.raises(OSError, match="it belongs to another user"):
        private_files.make_home_folder(tmp_path / "logs")


def test_a_file_in_the_place_of_a_folder_of_a_home_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(OSError, match="Not a directory"):
        private_files.make_home_folder(tmp_path / "logs")


def test_a_file_of_an_earlier_version_becomes_private(tmp_path: Path) -> None:
    for name in ("opened", "named"):
        (tmp_path / name).write_text("kept")
        (tmp_path / name).chmod(0o644)
    os.close(private_files.open_file(tmp_path / "opened", os.O_RDONLY))
    private_files.make_private(tmp_path / "named")
    for name in ("opened", "named"):
        assert mode(tmp_path / name) == 0o600
        assert (tmp_path / name).read_text() == "kept"


def check_refused(path: Path, why: str) -> None:
    with pytest.raises(OSError, match=why):
        private_files.open_file(path, CREATE)
    with pytest.raises(OSError, match=why):
        private_files.make_private(path)


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("unchanged")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "dangling").symlink_to(tmp_path / "created by the link")
    for name in ("link", "dangling"):
        check_refused(tmp_path / name, "it is a symbolic link")
    assert not (tmp_path / "created by the link").exists()


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")  # a plain open would wait for a writer
    with pytest.raises(OSError, match=r"not a regular file|No such device"):
        private_files.open_file(tmp_path / "fifo", os.O_RDONLY)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    other = (tmp_path / "file").stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    if other == 1:  # the file belongs to root, who is trusted
        monkeypatch.setattr(private_files, "belongs_to_another", lambda found: True)
    check_refused(tmp_path / "file", "it belongs to another user")


@pytest.mark.parametrize(
    ("user", "owner", "is_foreign"),
    [(1000, 1000, False), (1000, 0, False), (1000, 1001, True), (0, 1000, False)],
)
def test_files_of_root_are_trusted_and_root_trusts_all(
    monkeypatch: pytest.MonkeyPatch, user: int, owner: int, is_foreign: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = os.stat_result((0o100600, 0, 0, 1, owner, owner, 0, 0, 0, 0))
    assert private_files.belongs_to_another(found) is is_foreign
