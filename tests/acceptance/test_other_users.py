"""A default home, umask 022: another user of the machine reads, changes and stops nothing.

The home is in a folder that everybody can enter, so that only its own modes protect it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from pathlib import Path

import pytest

from synergy.names import HOME_FOLDERS, local_token
from tests.acceptance.kit import Home
from tests.another_user import as_nobody, needs_root, open_folder, outcome
from tests.mx.test_security_local import as_stranger

USUAL = 0o022  # the umask of most systems


@pytest.fixture(scope="module")
def home():
    needs_root()
    with open_folder() as folder:
        home = Home(Path(folder) / "home")
        home.before_commands = lambda: os.umask(USUAL)
        home.start()
        yield home
        home.before_commands = None
        home.end()


def files(home: Home) -> list[Path]:
    """Everything in the home, as its owner sees it."""
    return sorted(home.path.rglob("*"))


def test_the_home_and_everything_in_it_is_private(home):
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    found = files(home)
    names = {path.name for path in found}
    assert {"synergy.db", "synergy.db-wal", "synergy.db-gate", "supervisor.lock", "token"} <= names
    assert {"MX.log", "Scheduler.log", "Scheduler.out"} <= names
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
    open_ones = {
        path: oct(mode)
        for path, mode in modes.items()
        if mode & 0o077 and not path.is_socket()  # sockets are protected by their folder
    }
    assert open_ones == {}
    assert stat.S_IMODE((home.path / "bells").stat().st_mode) == 0o700


def test_another_user_cannot_open_or_rename_any_file(home):
    paths = [home.path, *files(home)]

    def attempts() -> str:
        found = set()
        for path in paths:
            for flags in (os.O_RDONLY, os.O_WRONLY):
                found.add(outcome(lambda path=path, flags=flags: os.open(path, flags)))
            found.add(outcome(lambda path=path: os.rename(path, "/tmp/synergy-taken")))
        found.add(outcome(lambda: os.listdir(paths[0])))
        found.discard("IsADirectoryError")  # of the home itself, opened for writing
        return " ".join(sorted(found))

    assert as_nobody(attempts) == "PermissionError"


def test_another_user_cannot_stop_writes_with_a_lock(home):
    gate = home.path / "synergy.db-gate"

    def lock() -> str:
        return outcome(lambda: fcntl.flock(os.open(gate, os.O_RDONLY), fcntl.LOCK_SH))

    assert as_nobody(lock) == "PermissionError"
    home.run("event", "emit", "FILE", "/dir/a")


def test_another_user_signals_no_process(home):
    pids = list(home.marked())
    assert len(pids) > 3

    def signals() -> str:
        return " ".join({outcome(lambda pid=pid: os.kill(pid, signal.SIGTERM)) for pid in pids})

    assert as_nobody(signals) == "PermissionError"


def test_another_user_sees_no_environment_and_no_secret_among_the_arguments(home):
    token = local_token(home.path).read_text().strip()
    pids = list(home.marked())

    def look() -> str:
        found = {
            outcome(lambda pid=pid: os.open(f"/proc/{pid}/environ", os.O_RDONLY)) for pid in pids
        }
        lines = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)
        return f"{' '.join(found)} {token.encode() in lines}"

    assert as_nobody(look) == "PermissionError False"


def test_another_user_reaches_mx_only_with_the_token(home):
    port = int(home.variables["mx_port"])
    for path in ("/", "/api/v1/boxes", "/metrics", "/readyz", "/api/openapi.json"):
        expected = "200" if path == "/" else "401"  # the login page
        assert as_stranger(port, path) == expected, path
    token = local_token(home.path).read_text().strip()
    assert as_stranger(port, "/api/v1/boxes", token) == "200"


def test_root_is_warned_about_a_home_that_another_user_has_prepared(home):
    with open_folder() as folder:
        Path(folder).chmod(0o1777)
        taken = Path(folder) / "mylog"
        as_nobody(lambda: taken.mkdir(0o777))
        found = home.ask("check", home=str(taken))
    expected = f"SYNERGY_HOME: {taken} belongs to another user, who can change all of it"
    assert [text for text in found["warnings"] if text.startswith(expected)]


def test_check_knows_all_folders_of_a_home(home):
    made = {path.name for path in home.path.iterdir() if path.is_dir()}
    assert {"bells", "logs", "mx", "run"} <= made <= set(HOME_FOLDERS)


@pytest.mark.parametrize("name", ["logs", "mx", "run"])
def test_nothing_starts_in_a_home_with_a_link_in_place_of_a_folder(home, tmp_path, name):
    target = tmp_path / "target"
    for folder in (tmp_path / "home", target):
        folder.mkdir(0o700)
    (tmp_path / "home" / name).symlink_to(target)
    done = home.launch("supervisor", "start", code=78, home=str(tmp_path / "home"))
    assert f"{tmp_path / 'home' / name} is a symbolic link" in done.err
    assert list(target.iterdir()) == []


def test_check_and_start_refuse_a_users_file_that_others_can_change(home, tmp_path):
    users = tmp_path / "users.json"
    users.touch()
    users.chmod(0o666)
    found = home.ask("check", mx_users_file=str(users), code=78)
    expected = f"SYNERGY_MX_USERS_FILE: {users} is accessible to others: chmod 600 {users}"
    assert found["mistakes"] == [expected]
    place = str(tmp_path / "home")
    done = home.launch("supervisor", "start", code=78, home=place, mx_users_file=str(users))
    assert expected in done.err
