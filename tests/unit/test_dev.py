"""What `launch.py dev` does with saved files and with the logs of processes."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import pytest

from synergy.cli.dev_files import Effect, FileWatcher
from synergy.cli.dev_log import LogFollower, show_json, show_line
from synergy.clock import SteppedClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def project(tmp_path):
    for name in (
        "context.py",
        "settings/dev.py",
        "crontabs/box",
        "workers/w.py",
        "tests/t.py",
        ".venv/x.py",
        "env/pyvenv.cfg",
        "env/x.py",
        "home/x.py",
        "data.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    return tmp_path


class Watched:
    """A watcher whose effects are kept; `is_taken` says whether they were reached."""

    def __init__(self, project):
        self.effects = []
        self.is_taken = True
        self.watcher = FileWatcher(
            project, project / "context.py", project / "home", SteppedClock(NOW), self.changed
        )

    def changed(self, effect):
        self.effects.append(effect)
        return self.is_taken

    def turns(self, number=2):
        for _ in range(number):
            self.watcher.run_once(NOW)
        effects, self.effects = self.effects, []
        return effects


def save(path, text="another text\n"):
    path.write_text(text)


@pytest.mark.parametrize(
    ("names", "effects"),
    [
        (["context.py"], [Effect.CONTEXT]),
        (["crontabs/box"], [Effect.CONTEXT]),
        (["workers/w.py"], [Effect.WORKERS]),
        (["workers/new.py"], [Effect.WORKERS]),
        (["settings/dev.py"], [Effect.ALL]),
        (["context.py", "workers/w.py"], [Effect.WORKERS]),
        (["tests/t.py", ".venv/x.py", "env/x.py", "home/x.py", "data.csv"], []),
    ],
)
def test_a_saved_file_makes_necessary_what_it_can_change(project, names, effects):
    watched = Watched(project)
    for name in names:
        save(project / name)
    assert watched.turns() == effects
    assert watched.turns() == []


def test_a_removed_file_counts(project):
    watched = Watched(project)
    (project / "workers" / "w.py").unlink()
    assert watched.turns() == [Effect.WORKERS]


def test_a_file_that_is_still_being_saved_is_waited_for(project):
    watched = Watched(project)
    save(project / "workers" / "w.py", "half")
    assert watched.turns(1) == []
    save(project / "workers" / "w.py", "the whole")
    assert watched.turns(1) == []
    assert watched.turns(1) == [Effect.WORKERS]


def test_what_a_mistake_prevented_is_done_with_the_next_change(project):
    watched = Watched(project)
    watched.is_taken = False
    save(project / "workers" / "w.py")
    assert watched.turns() == [Effect.WORKERS]
    watched.is_taken = True
    save(project / "context.py")
    assert watched.turns() == [Effect.WORKERS]
    save(project / "context.py", "more\n")
    assert watched.turns() == [Effect.CONTEXT]


@pytest.fixture
def followed(tmp_path):
    lines = []
    (tmp_path / "A.log").write_text("old\n")
    follower = LogFollower(
        tmp_path, SteppedClock(NOW), lambda name, line: lines.append((name, line))
    )
    yield tmp_path, follower, lines
    follower.close()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_only_whole_lines_that_are_new_are_printed(followed):
    folder, follower, lines = followed
    append(folder / "A.log", "one\ntw")
    append(folder / "B.out", "two\n")
    append(folder / "C.txt", "no log\n")
    follower.run_once(NOW)
    assert lines == [("A.log", "one"), ("B.out", "two")]
    append(folder / "A.log", "o\n")
    follower.run_once(NOW)
    assert lines[2:] == [("A.log", "two")]


def test_a_rotated_file_is_read_to_its_end_first(followed):
    folder, follower, lines = followed
    append(folder / "A.log", "last\n")
    os.rename(folder / "A.log", folder / "A.log.1")
    append(folder / "A.log", "first\n")
    follower.run_once(NOW)
    assert lines == [("A.log", "last"), ("A.log", "first")]


def test_a_file_that_was_emptied_is_read_from_its_beginning(followed):
    folder, follower, lines = followed
    (folder / "A.log").write_text("new\n")
    os.truncate(folder / "A.log", 0)
    follower.run_once(NOW)
    append(folder / "A.log", "new\n")
    follower.run_once(NOW)
    assert lines == [("A.log", "new")]


def test_what_is_left_is_printed_at_the_end(followed):
    folder, follower, lines = followed
    append(folder / "A.log", "stopped\n")
    follower.finish()
    assert lines == [("A.log", "stopped")]


LINE = {
    "at": "2026-01-01T10:20:30.400+00:00",
    "level": "error",
    "process": "A",
    "message": "failed",
    "traceback": "Traceback:\n  x",
}


def test_a_line_is_shown_for_people(capsys):
    show_line("A.log", json.dumps(LINE))
    show_line("A.2.out", "printed")
    assert capsys.readouterr().out == (
        "10:20:30 A  error: failed\n         Traceback:\n           x\n         A.2  printed\n"
    )


def test_a_line_is_shown_as_json(capsys):
    show_json("A.log", json.dumps(LINE))
    show_json("A.out", "printed")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == LINE
    assert second == {"process": "A", "message": "printed"}
