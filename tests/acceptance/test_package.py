"""The package, as people install it: in an environment and in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from synergy import __version__
from synergy.clock import SystemClock
from synergy.supervisor import proctable
from tests import missing
from tests.acceptance.kit import PROJECT
from tests.servers.ports import free_port

pytestmark = pytest.mark.story
LIMIT = 300.0
ASKED = 300  # times that a command is asked for rows of the open hour
ILLUSTRATION = ("context.py", "settings", "workers")
CACHES = ("__pycache__", ".pyc")


class Installed:
    """An environment with the package, whose commands run in a folder."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python
        self.folder = folder
        self.variables = {"SYNERGY_MX_PORT": str(free_port()), "SYNERGY_BOX_ID": "dev-package"}

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "SYNERGY" not in name}
        kept.pop("PYTHONPATH", None)
        return {**kept, **self.variables}

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """The command `synergy`, which is asked to end if it still runs at the end."""
        program = str(self.python.with_name("synergy"))
        with subprocess.Popen(
            [program, *words], cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.terminate()

    def states(self) -> set[str]:
        return {one["state"] for one in self.ask("supervisor", "status")["processes"]}

    def run(self, *words: str, code: int = 0, module: bool = False) -> str:
        """Runs the command `synergy` (or the module) to its end; returns what it prints."""
        program = [self.python, "-m", "synergy"] if module else [self.python.with_name("synergy")]
        done = subprocess.run(
            [*map(str, program), *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == code, (words, done)
        return done.stdout if code == 0 else done.stderr

    def ask(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


def carried_out(*command: str | Path, **options: Any) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("built")
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d"]
    carried_out(*hatchling, folder, "-t", "sdist", cwd=PROJECT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    carried_out(*hatchling, folder, "-t", "wheel", cwd=folder / source.name.removesuffix(".tar.gz"))
    (wheel,) = folder.glob("*.whl")
    return {"source": source, "wheel": wheel}


@pytest.fixture(scope="module")
def installed(
    built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The wheel in an empty environment, and an empty folder whose name has a space."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=True, symlinks=True)
    python = folder / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-input"]
    locked = re.findall(r"^[A-Za-z0-9][^\\\n]*", (PROJECT / "requirements.txt").read_text(), re.M)
    (folder / "locked.txt").write_text("\n".join(locked))
    done = subprocess.run(
        [*map(str, pip), "-c", str(folder / "locked.txt"), str(built["wheel"])],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        missing.lacking("packages of PyPI", f"connect this machine: {done.stderr[-300:]}")
    (folder / "an empty folder").mkdir()
    found = Installed(python, folder / "an empty folder")
    yield found
    if (found.folder / "synergy-demo").exists():
        found.run("supervisor", "stop")


def files_below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder.parent).as_posix()
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.is_file() and not any(cache in str(path) for cache in CACHES)
    }


def test_the_wheel_holds_every_file_of_the_library_and_the_illustration(
    built: dict[str, Path],
) -> None:
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = {name for name in archive.namelist() if not name.startswith("synergy_timetable-")}
    illustration = {name for one in ILLUSTRATION for name in files_below(PROJECT / one)}
    expected = files_below(PROJECT / "synergy")
    expected |= {f"synergy/illustration/{name}" for name in illustration}
    assert names == expected
    kinds = {Path(name).suffix for name in names}
    assert {".py", ".html", ".js", ".css", ".sql", ".svg", ".typed"} <= kinds


def test_the_commands_are_one_program_and_say_its_version(installed: Installed) -> None:
    assert installed.run("--version") == f"synergy {__version__}\n"
    assert installed.run("--version", module=True) == f"synergy {__version__}\n"
    assert installed.run("-h").startswith("usage: synergy [-h]")
    assert "  synergy supervisor start " in installed.run("-h")


def test_outside_of_a_project_commands_say_how_to_make_one(installed: Installed) -> None:
    said = installed.run("status", code=78)
    assert f"there is no project in {installed.folder} or above it: synergy init NAME" in said


def test_the_demo_runs_in_an_empty_folder(installed: Installed) -> None:
    installed.run("demo", "--dry-run")
    assert list(installed.folder.iterdir()) == []
    assert "stop: synergy supervisor stop" in installed.run("demo")
    installed.folder /= "synergy-demo"
    names = {path.name for path in installed.folder.iterdir()}
    assert names == {*ILLUSTRATION, "var"}
    states = {one["state"] for one in installed.ask("supervisor", "status")["processes"]}
    assert states == {"running"}


def test_the_demo_processes_its_visits(installed: Installed) -> None:
    today = SystemClock().now().date()
    times = ("--from", str(today - timedelta(days=1)), "--to", str(today))
    (tree,) = installed.ask("timetable", "show", "site", *times)["trees"]
    hourly = next(one for one in tree["processes"] if one["qualifier"] == "hourly")
    assert len(hourly["jobs"]) == 24
    last = hourly["jobs"][-1]["timeperiod"]
    installed.run("timetable", "wait", hourly["name"], last, "--timeout", "240")
    for _ in range(ASKED):
        if rows := installed.ask("report", "site_hourly"):
            break
    assert sum(row["stat"]["number_of_visits"] for row in rows) > 0


def test_commands_of_the_illustration_are_there_and_name_their_extra(installed: Installed) -> None:
    assert "  synergy report site_daily " in installed.run("report", "-h")
    said = installed.run("ingest", "access.log", "--site", "example.com", code=2)
    assert "ua_parser is not installed: pip install 'synergy-timetable[access-logs]'" in said


def test_a_second_start_changes_nothing_and_a_stop_leaves_nothing(installed: Installed) -> None:
    home = installed.folder / "var"
    pids = {one["pid"] for one in installed.ask("supervisor", "status")["processes"]}
    assert len(pids) > 10
    installed.run("supervisor", "stop")
    assert pids & set(proctable.read_table()) == set()
    assert (home / "synergy.db").exists()


def test_the_steps_of_the_image_of_a_new_project_make_a_box(
    installed: Installed, tmp_path: Path
) -> None:
    """There may be no engine, so its steps are carried out here: COPY, RUN pip, CMD, HEALTHCHECK.

    The base image, the user and the volume are not.
    """
    folder, image = tmp_path / "shop", tmp_path / "image"
    installed.run("init", str(folder))
    steps = (folder / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    image.mkdir()
    for pattern in next(step for step in steps if step.startswith("COPY r")).split()[1:-1]:
        for file in folder.glob(pattern):
            shutil.copy(file, image)
    assert [wheel.name.split("-")[0] for wheel in image.glob("*.whl")] == ["synergy_timetable"]
    pip = next(step for step in steps if step.startswith("RUN pip ")).split()[2:]
    carried_out(installed.python, "-m", "pip", *pip, cwd=image)
    ignored = (folder / ".dockerignore").read_text().split()
    shutil.copytree(
        folder, image, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", *ignored)
    )
    assert not (image / "tests").exists()
    carried_out(installed.python, "-m", "compileall", "-q", ".", cwd=image)
    box = Installed(installed.python, image)
    box.variables |= {"SYNERGY_ENV": "prod", "SYNERGY_PROJECT": str(image)}
    box.variables |= {"SYNERGY_HOME": str(tmp_path / "home"), "SYNERGY_BOX_ID": "shop-1"}
    command = json.loads(steps[-1].removeprefix("CMD "))[1:]
    with box.started(*command) as supervisor:
        for _ in range(ASKED):
            status = box.run("supervisor", "status", "--json")
            if '"running": true' in status and box.states() == {"running"}:
                break
        assert box.states() == {"running"}
        supervisor.terminate()
        assert supervisor.wait(LIMIT) == 0
    assert '"running": false' in box.run("supervisor", "status", "--json")
