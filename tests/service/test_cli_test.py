"""`launch.py test`: its steps, its parts side by side, and the second try of real processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.runner import command
from tests.runner.parts import Part, Runner, conclude

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def steps(monkeypatch):
    """Records the modules that are run, in order; those in `failing` fail."""
    ran = []
    failing = set()

    def run(command, **_options):
        ran.append(command[2:])
        return subprocess.CompletedProcess(command, int(command[2] in failing))

    monkeypatch.setattr(command.subprocess, "run", run)
    return ran, failing


def test_the_whole_check_is_steps_and_all_parts(commands, steps):
    ran, _ = steps
    commands.ok("test")
    run = [command[0] for command in ran]
    assert [name for name in run if name != "pytest"] == ["ruff", "ruff", "mypy"]
    assert run.count("pytest") == len(command.PARTS)
    lines = commands.out.splitlines()
    checked = ["format: sound", "lint: sound", "types: sound"]
    assert [line for line in lines if line in checked] == checked
    assert lines[-3] == "unsteady: none"


def test_every_test_is_in_one_part():
    found = [path.removeprefix("--ignore=") for part in command.PARTS for path in part.words]
    assert all((PROJECT / path).exists() for path in found)
    run = {word for part in command.PARTS for word in part.words if not word.startswith("--")}
    # What one part ignores, another runs; one part runs everything else.
    assert set(found) == run
    assert any(all(path.startswith("--ignore=") for path in part.words) for part in command.PARTS)


def test_only_real_processes_have_a_second_try():
    words = [word for part in command.PARTS if part.is_real for word in part.words]
    assert all("tests/acceptance" in word or "tests/mx/browser" in word for word in words)


def test_a_step_that_fails_fails_the_check_but_the_others_are_run(commands, steps):
    ran, failing = steps
    failing.add("mypy")
    assert commands.run("test") == 1
    assert len(ran) == 3 + len(command.PARTS)
    assert "types: FAILED" in commands.out


def test_tests_that_fail_fail_the_check(commands, steps):
    _, failing = steps
    failing.add("pytest")
    assert commands.run("test") == 1
    assert "failed: services (pytest ended with 1)" in commands.out
    assert "failed: tests\n" in commands.err


def test_with_arguments_only_pytest_is_run(commands, steps):
    ran, failing = steps
    commands.ok("test", "-k", "time or tree", "tests/unit", "-x")
    assert ran == [["pytest", "-k", "time or tree", "tests/unit", "-x"]]
    failing.add("pytest")
    assert commands.run("test", "tests/unit") == 1


def test_help_of_test_is_its_own(commands, steps):
    commands.ok("test", "-h")
    ran, _ = steps
    assert ran == []
    assert "launch.py test tests/unit -k timeperiod" in commands.out


# Parts, in a small project of their own

LUCK = """
from pathlib import Path

def succeeds_the_second_time(name):
    file = Path(__file__).with_name(name)
    if not file.exists():
        file.touch()
        raise AssertionError(f"{name} had no luck")
"""


class Project:
    """A small project of test modules."""

    def __init__(self, folder, capsys):
        self.folder = folder
        self._capsys = capsys
        self.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\nmarkers = story\n")
        self.write("luck.py", LUCK)
        self.write("conftest.py", "import sys; sys.dont_write_bytecode = True\n")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def run(self, *parts):
        """Runs the parts; returns their summary and the printed lines."""
        summary = Runner(self.folder).run(parts)
        conclude(summary)
        return summary, self._capsys.readouterr().out.splitlines()


@pytest.fixture
def project(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # plugins are slow, and not needed
    return Project(tmp_path, capsys)


SOUND = "def test_sound(): pass\n"
UNLUCKY = """
from luck import succeeds_the_second_time
def test_sound(): succeeds_the_second_time.__name__
def test_unlucky(): succeeds_the_second_time("it")
"""


def test_a_flaky_test_of_real_processes_is_tried_again(project):
    project.write("test_real.py", UNLUCKY)
    summary, said = project.run(Part("real", ("test_real.py",), is_real=True))
    assert summary.is_sound
    assert summary.unsteady == ["test_real.py::test_unlucky"]
    assert any("AssertionError: it had no luck" in line for line in said)
    assert "test_real.py::test_unlucky: failed, and then alone: passed" in said
    assert said[-3] == "unsteady: test_real.py::test_unlucky"
    assert said[-2].startswith("verdict: sound, in ")
    assert said[-1] == "tests: 2 passed, 0 failed, 0 skipped"


def test_only_what_failed_is_tried_again_when_all_else_has_ended(project):
    project.write("test_real.py", UNLUCKY)
    project.write("test_other.py", SOUND)
    real = Part("real", ("test_real.py",), is_real=True)
    _, said = project.run(real, Part("other", ("test_other.py",)))
    second = said.index("test_real.py, alone, a second time: begun")
    firsts = [line for line in said if line.startswith(("real: ", "other: "))]
    assert len(firsts) == 4
    assert all(said.index(line) < second for line in firsts)
    (ended,) = [line for line in said if line.startswith("test_real.py, alone, a second time: s")]
    assert "1 passed, 0 failed" in ended


def test_a_test_that_fails_twice_fails(project):
    project.write("test_real.py", "def test_broken(): raise AssertionError('as it is')\n")
    summary, said = project.run(Part("real", ("test_real.py",), is_real=True))
    assert summary.failed == ["test_real.py::test_broken"]
    assert "test_real.py::test_broken: failed, and then alone: failed" in said
    assert said[-4:-2] == ["failed: test_real.py::test_broken", "unsteady: none"]
    assert said[-2].startswith("verdict: FAILED, in ")
    assert said[-1] == "tests: 0 passed, 1 failed, 0 skipped"


def test_tests_within_a_process_have_no_second_try(project):
    project.write("test_inner.py", UNLUCKY)
    summary, said = project.run(Part("inner", ("test_inner.py",)))
    assert summary.failed == ["test_inner.py::test_unlucky"]
    assert not any("second time" in line for line in said)
    assert said[-3] == "unsteady: none"


def test_a_story_is_tried_again_as_a_whole(project):
    project.write(
        "test_tale.py",
        "import pytest\nfrom luck import succeeds_the_second_time\n"
        "pytestmark = pytest.mark.story\n"
        "TOLD = []\n"
        "def test_first(): TOLD.append('first')\n"
        "def test_second():\n"
        "    assert TOLD == ['first']\n"
        "    succeeds_the_second_time('it')\n",
    )
    summary, _ = project.run(Part("real", ("test_tale.py",), is_real=True))
    assert (summary.failed, summary.unsteady) == ([], ["test_tale.py::test_second"])


def test_a_test_of_a_story_that_fails_only_at_the_second_try_fails(project):
    project.write(
        "test_tale.py",
        "import pytest\nfrom luck import succeeds_the_second_time\n"
        "pytestmark = pytest.mark.story\n"
        "def test_first():\n"
        "    try: succeeds_the_second_time('first')\n"
        "    except AssertionError: return\n"
        "    raise AssertionError('only once')\n"
        "def test_second(): succeeds_the_second_time('second')\n",
    )
    summary, _ = project.run(Part("real", ("test_tale.py",), is_real=True))
    assert summary.unsteady == ["test_tale.py::test_second"]
    assert summary.failed == ["test_tale.py::test_first"]


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("setup", "    succeeds_the_second_time('it')\n    yield\n"),
        ("teardown", "    yield\n    succeeds_the_second_time('it')\n"),
    ],
)
def test_a_flaky_fixture_is_tried_again_like_a_flaky_test(project, when, code):
    project.write(
        "test_real.py",
        "import pytest\nfrom luck import succeeds_the_second_time\n"
        f"@pytest.fixture\ndef thing():\n{code}"
        f"def test_of_{when}(thing): pass\n",
    )
    summary, said = project.run(Part("real", ("test_real.py",), is_real=True))
    assert summary.unsteady == [f"test_real.py::test_of_{when}"]
    assert said[-1] == "tests: 1 passed, 0 failed, 0 skipped"


def test_a_module_that_cannot_be_read_at_first_is_tried_again(project):
    project.write(
        "test_real.py",
        "from luck import succeeds_the_second_time\n"
        "succeeds_the_second_time('it')\n"
        "def test_sound(): pass\n",
    )
    summary, _ = project.run(Part("real", ("test_real.py",), is_real=True))
    assert (summary.failed, summary.unsteady) == ([], ["test_real.py"])


def test_a_part_that_crashes_fails(project):
    project.write("test_real.py", "import os\ndef test_crash(): os._exit(3)\n")
    summary, said = project.run(Part("real", ("test_real.py",), is_real=True))
    assert summary.failed == ["real (pytest ended with 3)"]
    assert "failed: real (pytest ended with 3)" in said


def test_a_part_whose_files_are_missing_fails(project):
    summary, _ = project.run(Part("nothing", ("test_nothing.py",)))
    assert summary.failed == ["nothing (pytest ended with 4)"]


def test_skipped_tests_are_counted_with_their_reasons(project):
    project.write(
        "test_some.py",
        "import pytest\n"
        "@pytest.mark.skip('no Chromium')\ndef test_a(): pass\n"
        "def test_b(): pytest.skip('no Chromium')\n"
        "def test_c(): pytest.skip('no Go')\n",
    )
    summary, said = project.run(Part("some", ("test_some.py",)))
    assert summary.is_sound
    assert said[-5:-2] == ["skipped: 2: no Chromium", "skipped: 1: no Go", "unsteady: none"]


def test_parts_run_side_by_side(project):
    """Each of two parts opens one end of a pipe, which blocks until the other end is opened."""
    os.mkfifo(project.folder / "pipe")
    for name, mode in (("one", "O_WRONLY"), ("two", "O_RDONLY")):
        project.write(
            f"test_{name}.py",
            "import os, signal\n"
            "from pathlib import Path\n"
            "def test_meets():\n"
            "    signal.alarm(60)\n"
            f"    os.close(os.open(Path(__file__).with_name('pipe'), os.{mode}))\n",
        )
    summary, _ = project.run(*(Part(name, (f"test_{name}.py",)) for name in ("one", "two")))
    assert summary.is_sound
