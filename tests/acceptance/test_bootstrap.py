"""`launch.py` creates its own environment once, and names the remedy when it cannot.

Each test works on a small project of its own: the real `launch.py`, a command line that prints
where it runs, and requirements without network: wheels that the test builds. Creating an
environment and running pip takes seconds, so tests copy environments that were created once.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from synergy import __version__
from tests.missing import reason

LAUNCH = Path(__file__).parents[2] / "launch.py"
COMMAND_LINE = """
import json, sys
NOUNS = {}
def main(argv):
    print(json.dumps({"prefix": sys.prefix, "argv": argv, "path": sys.path[0]}))
    return 7
"""


def a_project(path: Path, requirements: str = "# nothing\n") -> Path:
    (path / "synergy" / "cli").mkdir(parents=True)
    (path / "synergy" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (path / "synergy" / "cli" / "__init__.py").touch()
    (path / "synergy" / "cli" / "main.py").write_text(COMMAND_LINE)
    (path / "requirements.txt").write_text(requirements)
    (path / "requirements-test.txt").write_text("# nothing\n")
    shutil.copy(LAUNCH, path)
    return path


@dataclass(frozen=True)
class Made:
    """A project with an environment; exit code and output of the commands that created it."""

    project: Path
    ended: list[tuple[int, str, str]]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Two commands started at once without an environment; no packages are required."""
    project = a_project(tmp_path_factory.mktemp("fresh") / "project")
    racing = [begin(project, "go", str(n), HOME=str(project.parent)) for n in range(2)]
    told = [process.communicate(timeout=120) for process in racing]
    return Made(project, [(p.returncode, *t) for p, t in zip(racing, told, strict=True)])


@pytest.fixture(scope="module")
def installed(fresh, tmp_path_factory):
    """An environment in which `alpha` 1.0 was installed."""
    folder = tmp_path_factory.mktemp("installed")
    project = a_project(folder / "project", locked(folder, "alpha", "1.0"))
    copy_environment(fresh.project, project)
    return Made(project, [launch(project, "go")])


@pytest.fixture
def project(installed, tmp_path):
    """A project with such an environment."""
    made = a_project(tmp_path / "project", (installed.project / "requirements.txt").read_text())
    copy_environment(installed.project, made)
    return made


def copy_environment(one: Path, other: Path) -> None:
    subprocess.run(["cp", "-a", one / ".venv", other / ".venv"], check=True)


def a_wheel(folder: Path, name: str, version: str, body: str = "") -> Path:
    """A wheel with one module."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": body,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return path


def locked(folder: Path, name: str, version: str) -> str:
    """A requirements file that locks one package, found in the folder."""
    digest = hashlib.sha256(a_wheel(folder, name, version).read_bytes()).hexdigest()
    return f"--find-links {folder}\n{name}=={version} \\\n    --hash=sha256:{digest}\n"


def python_of(project: Path) -> Path:
    return project / ".venv" / "bin" / "python"


def packages(project: Path) -> dict[str, str]:
    """The installed packages and versions, without pip and setuptools."""
    infos = project.glob(".venv/lib/*/site-packages/*.dist-info")
    found = dict(info.stem.split("-", 1) for info in infos)
    return {name: found[name] for name in found if name not in ("pip", "setuptools")}


def made_at(project: Path) -> list[int]:
    return [stamp.stat().st_mtime_ns for stamp in sorted(project.glob(".venv/stamps/*"))]


def environment(**more: str) -> dict[str, str]:
    """A user's variables; bytecode is kept in the environment, so that copies contain it."""
    others = ("PIP_", "SYNERGY_", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    return {**kept, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, **more}


def begin(project: Path, *argv: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(project / "launch.py"), *argv],
        cwd="/",
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def launch(project: Path, *argv: str, **more: str) -> tuple[int, str, str]:
    process = begin(project, *argv, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def load(project: Path):
    spec = importlib.util.spec_from_file_location("launch_under_test", project / "launch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_of_two_commands_creates_the_environment_once(fresh):
    project, told = fresh.project, []
    for number, (code, out, err) in enumerate(fresh.ended):
        told += err.splitlines()
        assert code == 7, err
        assert json.loads(out) == {
            "prefix": str(project / ".venv"),
            "argv": ["go", str(number)],
            "path": str(project),
        }
    assert told.count("Making the environment .venv ...") == 1  # by one of them, on a pipe too
    assert told.count("The environment is ready.") == 1
    made = made_at(project)

    assert launch(project, "install") == (0, "The environment is ready.\n", "")
    assert launch(project, "go")[::2] == (7, "")
    assert made_at(project) == made
    assert not {".cache", ".config", ".local"} & set(os.listdir(project.parent))  # its HOME


def test_an_update_installs_in_place_and_shows_its_progress(installed, project, tmp_path):
    ((code, _, err),) = installed.ended
    assert code == 7
    assert err.splitlines() == [
        "Installing the packages of requirements.txt ...",
        "  unpacking 1 packages",
        "The environment is ready.",
    ]
    (project / "requirements-local.txt").write_text(f"{a_wheel(tmp_path, 'mine', '1.0')}\n")
    assert launch(project, "go")[0] == 7
    with zipfile.ZipFile(a_wheel(tmp_path, "added", "1.0")) as wheel:  # as pip does it
        wheel.extractall(next(project.glob(".venv/lib/*/site-packages")))
    assert packages(project) == {"alpha": "1.0", "mine": "1.0", "added": "1.0"}

    (project / "requirements.txt").write_text(locked(tmp_path, "alpha", "2.0"))
    code, _, err = launch(project, "go")

    assert code == 7
    assert "Making the environment" not in err
    assert packages(project) == {"alpha": "2.0", "mine": "1.0", "added": "1.0"}
    assert launch(project, "go")[2] == ""


def test_only_test_and_bench_install_the_test_requirements(project, tmp_path, monkeypatch):
    (project / "requirements-test.txt").write_text(locked(tmp_path, "trial", "1.0"))
    for words in (["supervisor", "start"], ["test", "-h"], ["bench", "--help"], ["install"]):
        assert launch(project, *words)[0] in (0, 7)
        assert packages(project) == {"alpha": "1.0"}

    assert launch(project, "test", "tests/unit", "-k", "x")[0] == 7
    assert packages(project) == {"alpha": "1.0", "trial": "1.0"}

    (project / "requirements-test.txt").write_text(locked(tmp_path, "trial", "2.0"))
    assert launch(project, "check")[2] == ""  # check needs no test packages
    inside = subprocess.run(
        [python_of(project), project / "launch.py", "bench"], env=environment(), capture_output=True
    )
    assert inside.returncode == 7
    assert packages(project)["trial"] == "2.0"

    launcher, ensured = load(project), []
    monkeypatch.delenv("SYNERGY_NO_VENV", raising=False)
    monkeypatch.setattr(launcher, "ensure_environment", ensured.append)
    assert launcher.main(["install", "--test"]) == 0
    assert ensured == [[launcher.RUNTIME, launcher.TEST]]


def test_an_installation_that_was_interrupted_is_done_again(project):
    stamp = project / ".venv" / "stamps" / "requirements.txt"
    (module,) = project.glob(".venv/lib/*/site-packages/alpha.py")

    stamp.write_text("unfinished\n")  # as it is from the first moment of an installation
    module.unlink()  # pip would take the package for installed, because of its metadata
    assert launch(project, "go")[0] == 7
    assert module.exists()
    assert packages(project) == {"alpha": "1.0"}


def test_another_python_recreates_the_environment_with_local_packages(
    fresh, project, tmp_path, monkeypatch, capsys
):
    (project / "requirements-local.txt").write_text(f"{a_wheel(tmp_path, 'mine', '1.0')}\n")
    (project / ".venv" / "of-the-other").touch()
    (project / ".venv" / "stamps" / "python").write_text("3.10\n")
    launcher = load(project)
    run = launcher.run

    def run_quickly(step, command, *rest):
        """Copies pip from another environment, which is faster than `ensurepip`."""
        if "ensurepip" in command:
            places = [next(p.glob(".venv/lib/*/site-packages")) for p in (fresh.project, project)]
            shutil.copytree(*places, dirs_exist_ok=True)
        else:
            run(step, command, *rest)

    monkeypatch.setattr(launcher, "run", run_quickly)
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    launcher.ensure_environment([launcher.RUNTIME])

    assert "is not one of Python" in capsys.readouterr().err
    assert launch(project, "go")[::2] == (7, "")
    assert not (project / ".venv" / "of-the-other").exists()
    assert packages(project) == {"alpha": "1.0", "mine": "1.0"}


def test_an_environment_of_an_earlier_version_is_updated_in_place(project):
    shutil.rmtree(project / ".venv" / "stamps")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (project / ".venv" / "installed").write_text(f"0123abcd {version}\n")
    (project / ".venv" / "kept").touch()

    assert launch(project, "go")[0] == 7

    assert (project / ".venv" / "kept").exists()
    assert launch(project, "go")[2] == ""


def test_local_packages_are_installed_last_and_change_no_locked_one(project, tmp_path):
    (project / "requirements-test.txt").write_text(locked(tmp_path, "trial", "1.0"))
    local = project / "requirements-local.txt"

    local.write_text(f"{a_wheel(tmp_path, 'trial', '2.0')}\n")  # Synergy runs without it
    for words in (["go"], ["test"], ["go"]):
        assert launch(project, *words)[0] == 7
        assert packages(project) == {"alpha": "1.0", "trial": "2.0"}

    local.write_text(f"{a_wheel(tmp_path, 'alpha', '2.0')}\n")
    code, out, err = launch(project, "go")
    assert (code, out) == (1, "")
    assert "alpha==1.0" in err
    assert "Next: correct requirements-local.txt" in err
    assert packages(project)["alpha"] == "1.0"
    assert "Installing the packages of requirements-local.txt ended with 1" in err

    local.unlink()
    assert launch(project, "go")[::2] == (7, "")


def test_a_missing_package_is_an_error_with_the_remedy(project, tmp_path):
    launcher = load(project)
    lock = project / "requirements.txt"
    lock.write_text("no-such-package==1.0 --hash=sha256:" + 64 * "0")

    code, out, err = launch(project, "go")

    assert (code, out) == (1, "")
    assert "no-such-package" in err
    assert "Next: see the lines above (no network, a proxy?)" in err
    assert launcher.outdated([launcher.RUNTIME]) == [launcher.RUNTIME]  # to be tried again

    lock.write_text(locked(tmp_path, "alpha", "2.0"))
    a_wheel(tmp_path, "alpha", "2.0", body="evil = True\n")
    code, _, err = launch(project, "go")
    assert code == 1
    assert "DO NOT MATCH THE HASHES" in err
    assert packages(project) == {"alpha": "1.0"}


def test_full_and_read_only_disks_are_errors_with_the_remedy(tmp_path):
    tmp_path.joinpath("disk").mkdir()
    with mounted(tmp_path / "disk", "size=4m") as disk:
        project = a_project(disk / "project")
        code, _, err = launch(project, "go")
        assert code == 1
        assert "No space left on device" in err
        assert "Next: free some space" in err

        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        code, _, err = launch(project, "go")
        assert code == 1
        assert "Read-only file system" in err
        assert "Next: move the project to a writable file system" in err


@contextmanager
def mounted(path, options):
    """A small file system in memory; skips where none may be mounted."""
    mount = ["mount", "-t", "tmpfs", "-o", options, "synergy-test", str(path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip(reason("right to mount", "be root, where file systems may be mounted"))
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_version_works_without_an_environment_and_launch_is_executable(tmp_path):
    project = a_project(tmp_path)
    done = subprocess.run([project / "launch.py", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "synergy 1.2.3\n")
    assert not (project / ".venv").exists()

    done = subprocess.run([LAUNCH, "--version"], capture_output=True, text=True)
    assert done.stdout == f"synergy {__version__}\n"


def test_install_has_help(tmp_path):
    project = a_project(tmp_path)

    code, out, _ = launch(project, "install", "-h")
    assert code == 0
    assert "launch.py install [--test]" in out
    code, _, err = launch(project, "install", "--tset")
    assert code == 2
    assert "launch.py install [--test]" in err
    assert not (project / ".venv").exists()


def test_the_environment_can_be_disabled(tmp_path):
    project = a_project(tmp_path)

    code, out, _ = launch(project, "go", SYNERGY_NO_VENV="1")

    assert code == 7
    assert json.loads(out)["prefix"] == sys.prefix
    assert not (project / ".venv").exists()


def test_a_python_without_ensurepip_names_the_package_to_install(tmp_path, monkeypatch, capsys):
    launcher = load(a_project(tmp_path))
    monkeypatch.delenv("SYNERGY_NO_VENV", raising=False)
    monkeypatch.setattr(launcher.importlib.util, "find_spec", lambda name: None)

    assert launcher.main(["go"]) == 1

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in capsys.readouterr().err
    assert not (tmp_path / ".venv").exists()


def test_an_old_python_gets_a_clear_error(tmp_path):
    source = LAUNCH.read_text()
    pretend = "import sys; sys.version_info = (3, 8, 1); exec(open(sys.argv[1]).read())"

    done = subprocess.run(
        [sys.executable, "-c", pretend, str(LAUNCH)], capture_output=True, text=True
    )

    ast.parse(source, feature_version=(3, 7))
    assert done.returncode == 78
    assert "needs Python 3.11 or later; this is 3.8" in done.stderr
