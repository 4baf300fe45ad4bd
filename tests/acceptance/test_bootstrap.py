"""`launch.py` makes its own environment, once, and says what to do when it cannot.

Each test works on a small project of its own: the real `launch.py`, a command line that tells
where it runs, and requirements that need no network.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCH = Path(__file__).parents[2] / "launch.py"
COMMAND_LINE = """
import json, sys
def main(argv):
    print(json.dumps({"prefix": sys.prefix, "argv": argv, "path": sys.path[0]}))
    return 7
"""


def a_project(path: Path, requirements: str = "# nothing\n") -> Path:
    (path / "synergy" / "cli").mkdir(parents=True)
    (path / "synergy" / "__init__.py").touch()
    (path / "synergy" / "cli" / "__init__.py").touch()
    (path / "synergy" / "cli" / "main.py").write_text(COMMAND_LINE)
    (path / "requirements.txt").write_text(requirements)
    shutil.copy(LAUNCH, path)
    return path


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "SYNERGY_"))}
    return {**kept, "PIP_NO_INDEX": "1", **more}


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


def test_from_a_fresh_copy_to_a_command_and_never_set_up_twice(tmp_path):
    project, elsewhere = a_project(tmp_path / "project"), tmp_path / "elsewhere"
    elsewhere.mkdir()

    racing = [begin(project, "go", str(n), HOME=str(elsewhere)) for n in range(2)]
    for number, process in enumerate(racing):
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (7, "")
        assert json.loads(out) == {
            "prefix": str(project / ".venv"),
            "argv": ["go", str(number)],
            "path": str(project),
        }
    stamp = project / ".venv" / "installed"
    made = stamp.stat().st_mtime_ns

    assert launch(project, "install") == (0, "The environment is ready.\n", "")
    assert stamp.stat().st_mtime_ns == made
    assert not {".cache", ".config", ".local"} & set(os.listdir(elsewhere))

    stamp.unlink()  # as after an interruption: what is there is not to be trusted
    (project / ".venv" / "half-done").touch()
    assert launch(project, "install")[0] == 0
    assert not (project / ".venv" / "half-done").exists()

    (project / "requirements.txt").write_text("no-such-package==1.0\n")
    code, out, err = launch(project, "go")
    assert (code, out) == (1, "")
    assert "no-such-package" in err
    assert "Next: " in err
    assert not stamp.exists()


def test_without_an_environment_of_its_own_if_told_so(tmp_path):
    project = a_project(tmp_path)

    code, out, _ = launch(project, "go", SYNERGY_NO_VENV="1")

    assert code == 7
    assert json.loads(out)["prefix"] == sys.prefix
    assert not (project / ".venv").exists()


def test_a_python_without_ensurepip_is_told_what_to_install(tmp_path, monkeypatch, capsys):
    launcher = load(a_project(tmp_path))
    monkeypatch.delenv("SYNERGY_NO_VENV", raising=False)
    monkeypatch.setattr(launcher.importlib.util, "find_spec", lambda name: None)

    assert launcher.main(["go"]) == 1

    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in capsys.readouterr().err
    assert not (tmp_path / ".venv").exists()


def test_an_old_python_gets_far_enough_to_be_told(tmp_path):
    source = LAUNCH.read_text()
    pretend = "import sys; sys.version_info = (3, 8, 1); exec(open(sys.argv[1]).read())"

    done = subprocess.run(
        [sys.executable, "-c", pretend, str(LAUNCH)], capture_output=True, text=True
    )

    ast.parse(source, feature_version=(3, 7))
    assert done.returncode == 78
    assert "needs Python 3.11 or later; this is 3.8" in done.stderr


@pytest.mark.parametrize("stamp", ["", "other 3.11\n"])
def test_a_stamp_of_something_else_is_out_of_date(tmp_path, stamp):
    launcher = load(a_project(tmp_path))
    launcher.PYTHON.parent.mkdir(parents=True)
    launcher.PYTHON.touch()

    launcher.STAMP.write_text(stamp)
    assert not launcher.is_up_to_date()
    launcher.STAMP.write_text(launcher.wanted())
    assert launcher.is_up_to_date()
