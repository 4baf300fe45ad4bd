"""Checks which other users of the machine could change a deployment, or read what it keeps secret.

A file that every user can write is a mistake: settings and `context.py` are executed, and the home
holds everything. A file that its group can write, or that others can read, is a warning: it may be
intended. So is code of another user, who may have installed it, and for root all that belongs to
others.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from synergy import private_files
from synergy.config.findings import Findings
from synergy.config.settings import Settings
from synergy.names import HOME_FOLDERS

_GROUP_WRITES, _ALL_WRITE = 0o020, 0o002
_NAMED = 4  # files of another user that a finding names


def check_permissions(settings: Settings, code: Iterable[Path], findings: Findings) -> None:
    """Adds the findings about home, store, key and users file, and about `code` with its folders.

    What does not exist is left out.
    """
    _check_home(settings.home, findings)
    if settings.store_file is not None:
        _check_writers("SYNERGY_STORE", settings.store_file.parent, findings)
    if settings.mx_key is not None and (found := _stat(settings.mx_key)):
        _check_key(settings.mx_key, found, findings)
    if settings.mx_users_file is not None and (found := _stat(settings.mx_users_file)):
        _check_users_file(settings.mx_users_file, found, findings)
    files = list(code)
    _check_code(dict.fromkeys((*files, *(file.parent for file in files))), findings)


def check_secret_file(where: str, file: Path, findings: Findings) -> None:
    """Adds the findings about a file that holds a secret, and about its folder.

    That every user can read or change it is a warning. As with keys, its group may read it.
    """
    if not (found := _stat(file)):
        return
    _check_owner(where, file, found, findings)
    if found.st_mode & 0o026:
        findings.warning(where, f"other users can access {file}, a secret: chmod 600 {file}")
    _check_folders(where, file, findings)


def _check_home(home: Path, findings: Findings) -> None:
    where = "SYNERGY_HOME"
    if found := _stat(home):
        is_foreign = _check_owner(where, home, found, findings, "use a folder of your own")
        if not is_foreign and found.st_mode & _ALL_WRITE:
            findings.mistake(where, f"every user can write to {home}: chmod 700 {home}")
        elif not is_foreign and found.st_mode & private_files.OTHERS:
            findings.warning(where, f"other users can look into {home}: chmod 700 {home}")
        _check_folders_of_home(home, found.st_uid, findings)
    if (link := _stat(home, follow=False)) and stat.S_ISLNK(link.st_mode):
        _check_owner(where, f"the link {home}", link, findings, "make the link yourself")
    for folder in _folders(home):
        _check_writers(where, folder, findings)


def _check_folders_of_home(home: Path, owner: int, findings: Findings) -> None:
    for name in HOME_FOLDERS:
        path = home / name
        if not (found := _stat(path, follow=False)):
            continue
        if stat.S_ISLNK(found.st_mode):
            step = "replace it by a folder, or let the home itself be a link"
            findings.mistake("SYNERGY_HOME", f"{path} is a symbolic link: {step}")
        elif found.st_uid != owner:
            _check_owner("SYNERGY_HOME", path, found, findings)


def _check_key(key: Path, found: os.stat_result, findings: Findings) -> None:
    """The group may read it: Debian gives keys to services in this way."""
    if found.st_mode & 0o027:
        findings.mistake("SYNERGY_MX_KEY", f"other users can access {key}: chmod 600 {key}")
    else:
        _check_owner("SYNERGY_MX_KEY", key, found, findings)


def _check_users_file(file: Path, found: os.stat_result, findings: Findings) -> None:
    """MX refuses what is a mistake here."""
    where = "SYNERGY_MX_USERS_FILE"
    if why := private_files.distrust(file, found):
        findings.mistake(where, why)
    elif not os.access(file, os.R_OK):
        step = "chown it to the user that runs Synergy"
        findings.mistake(where, f"{file} cannot be read: {step}")
    else:
        _check_owner(where, file, found, findings)
    _check_folders(where, file, findings)


def _check_folders(where: str, file: Path, findings: Findings) -> None:
    """Checks who could replace a file."""
    for folder in _folders(file):
        if found := _stat(folder):
            _check_owner(where, folder, found, findings)
        _check_writers(where, folder, findings)


def _check_writers(where: str, folder: Path, findings: Findings) -> None:
    if (found := _stat(folder)) and _is_open(found):
        findings.mistake(where, f"every user can write to {folder}: chmod o-w {folder}")


def _check_owner(
    where: str,
    path: Path | str,
    found: os.stat_result,
    findings: Findings,
    step: str = "chown it to the user that runs Synergy",
) -> bool:
    """Whether it belongs to neither this user nor root, which is added to the findings."""
    if private_files.belongs_to_another(found):
        findings.mistake(where, f"{path} belongs to another user: {step}")
        return True
    if _is_foreign(found):
        advice = "who can change all of it: run Synergy as that user"
        findings.warning(where, f"{path} belongs to another user, {advice}")
        return True
    return False


def _check_code(paths: Iterable[Path], findings: Findings) -> None:
    foreign = []
    for path in paths:
        if found := _stat(path):
            _check_modes(path, found, findings)
            if _is_foreign(found):
                foreign.append(str(path))
    if not foreign:
        return
    more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
    where, what = ", ".join(foreign[:_NAMED]) + more, "another user owns what is executed"
    findings.warning(where, f"{what}: chown it to root or to the user that runs Synergy")


def _check_modes(path: Path, found: os.stat_result, findings: Findings) -> None:
    where = str(path)
    if _is_open(found):
        findings.mistake(where, f"every user can change it, and it is executed: chmod o-w {path}")
    elif found.st_mode & _GROUP_WRITES and not _is_private_group(found):
        findings.warning(where, f"its group can change it, and it is executed: chmod g-w {path}")


def _is_foreign(found: os.stat_result) -> bool:
    return found.st_uid not in (0, os.geteuid())


def _is_open(found: os.stat_result) -> bool:
    """Whether every user can change it; in a sticky folder only the owner replaces a file."""
    return bool(found.st_mode & _ALL_WRITE) and not found.st_mode & stat.S_ISVTX


def _is_private_group(found: os.stat_result) -> bool:
    """Whether this is the group that many systems give each user, with the user as only member."""
    return found.st_uid == found.st_gid


def _folders(path: Path) -> Iterable[Path]:
    """The folder of a path; for a link, also the folder that it leads to."""
    return dict.fromkeys((path.parent, Path(os.path.realpath(path)).parent))


def _stat(path: Path, *, follow: bool = True) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=follow)
    except OSError:
        return None
