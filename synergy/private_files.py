"""Folders and files that other users of the machine can neither read, change nor lock.

A home may lie in a folder that others can write to. Therefore a file is not used if it is a
symbolic link or belongs to another user: both may have been placed there by somebody else. Existing
folders are used as they are; `config.permissions` checks the home. The mode of a file does not
depend on the umask. Reading is enough to lock a file, so locks are private too.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

FILE, FOLDER = 0o600, 0o700
OTHERS = 0o077  # the rights of the group and of all other users

_LINK = "it is a symbolic link"
_FOREIGN = "it belongs to another user"


def make_folder(path: Path) -> None:
    """Creates a private folder, with its parents; an existing folder stays as it is."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        path.mkdir(FOLDER)
    except FileExistsError as error:
        if not path.is_dir():
            raise _refused(errno.ENOTDIR, "Not a directory", path) from error


def make_home_folder(path: Path, *, with_home: bool = True) -> None:
    """Creates a private folder of a home; with `with_home` also the home, if it is missing.

    An existing folder stays as it is. Raises OSError if it is a symbolic link or belongs to another
    user; the home itself may be a link.
    """
    if with_home:
        make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(FOLDER)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _refused(errno.ELOOP, _LINK, path)
    if not stat.S_ISDIR(found.st_mode):
        raise _refused(errno.ENOTDIR, "Not a directory", path)
    if belongs_to_another(found):
        raise _refused(errno.EPERM, _FOREIGN, path)


def open_file(path: str | Path, flags: int) -> int:
    """The descriptor of a private file, which `flags` may create, as `os.open` does.

    An own file that others can access, left by an earlier version, becomes private. Raises OSError
    for a symbolic link, for anything but a regular file, and for a file of another user but root.
    """
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refused(errno.ELOOP, _LINK, path) from error
        raise
    try:
        _check(os.fstat(handle), path)
        _make_private(handle, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def make_private(path: Path) -> None:
    """Makes an existing file private, unless root owns it; raises OSError as `open_file` does.

    The file is not opened for reading or writing: to close it again would release the locks that
    this process holds on it, which matters for a database.
    """
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if stat.S_ISLNK(found.st_mode):
            raise _refused(errno.ELOOP, _LINK, path)
        _check(found, path)
        _make_private(f"/proc/self/fd/{handle}", found)
    finally:
        os.close(handle)


def distrust(path: Path, found: os.stat_result) -> str:
    """Why a file of credentials cannot be trusted, with the next step; "" if it can be.

    Other users could read it, or have written it.
    """
    if not stat.S_ISREG(found.st_mode):
        return f"{path} is not a regular file"
    if found.st_mode & OTHERS:
        return f"{path} is accessible to others: chmod 600 {path}"
    if belongs_to_another(found):
        return f"{path} belongs to another user: chown it to the user that runs Synergy"
    return ""


def belongs_to_another(found: os.stat_result) -> bool:
    """Whether the owner is neither this user nor root; False if this user is root."""
    return os.geteuid() != 0 and found.st_uid not in (0, os.geteuid())


def _check(found: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refused(errno.EINVAL, "it is not a regular file", path)
    if belongs_to_another(found):
        raise _refused(errno.EPERM, _FOREIGN, path)


def _make_private(file: int | str, found: os.stat_result) -> None:
    if found.st_mode & OTHERS and found.st_uid == os.geteuid():
        os.chmod(file, FILE)


def _refused(number: int, why: str, path: str | Path) -> OSError:
    return OSError(number, why, str(path))
