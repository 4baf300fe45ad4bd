"""`init`: the folder of a new project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from synergy.cli import exits
from synergy.cli.main import main
from synergy.config import new_project as made
from synergy.config.loader import check
from synergy.errors import InvalidValue, Refused

NOW = datetime(2026, 11, 24, 0, 30, tzinfo=UTC)
PROJECT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "My Shop"
    made.new_project(folder, NOW).write()
    return folder


def python(shop: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SYNERGY_")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=shop,
        env=environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_project_is_sound(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for env in ("", "prod"):
        found = check(shop, {"SYNERGY_ENV": env, "SYNERGY_BOX_ID": "b"}, imports=False)
        assert (found.mistakes, found.warnings) == ((), ())
        assert found.settings.start_timeperiod == "2026112300"
    assert set(found.deployment.managed()) == {"SalesHourly", "SalesDaily"}


def test_its_workers_win_over_those_of_another_package_and_it_is_found_from_below(
    shop: Path,
) -> None:
    done = python(shop / "data", "-m", "synergy", "check")  # PYTHONPATH has other `workers`
    assert done.stdout == "settings and context are sound: 6 processes, 1 tree\n", done


@pytest.mark.parametrize("place", [".", "tests"])
def test_the_tests_of_a_new_project_pass(shop: Path, place: str) -> None:
    """By the command `pytest`, as its README says: `python -m` would add the current folder."""
    alone = "import sys; sys.path.remove(''); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    done = python(shop / place, "-c", alone, "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout


def test_the_tests_of_a_new_project_pass_with_other_orders(tmp_path: Path) -> None:
    made.new_project(tmp_path / "shop", NOW).write()
    with (tmp_path / "shop" / "data" / "orders.csv").open("a") as orders:
        orders.write("1007,2026-11-23T09:45:00,tea,10,3.50\n")
    done = python(tmp_path / "shop", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("ruff", "format", "--no-cache", "--check", "--isolated", "--line-length=100"),
        (
            "ruff",
            "check",
            "--no-cache",
            "--isolated",
            "--line-length=100",
            "--select=E,F,I,B,UP,SIM,PL",
        ),
        ("mypy", "--strict", f"--cache-dir={os.devnull}", "context.py", "workers", "tests"),
    ],
    ids=["format", "lint", "types"],
)
def test_the_files_of_a_new_project_are_as_its_tools_want_them(
    shop: Path, words: tuple[str, ...]
) -> None:
    done = python(shop, "-m", *words)
    assert done.returncode == 0, done.stdout


def test_no_placeholder_is_left(shop: Path) -> None:
    for file in shop.rglob("*"):
        assert file.is_dir() or file.suffix == ".pyc" or "$" not in file.read_text(), file


def test_the_readme_has_about_twenty_lines(shop: Path) -> None:
    assert len((shop / "README.md").read_text().splitlines()) <= 22


def test_the_image_copies_what_the_project_has(shop: Path) -> None:
    steps = (shop / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    copied = [word for step in steps if step.startswith("COPY") for word in step.split()[1:-1]]
    assert copied == ["requirements.txt", "*.whl", "."]
    assert (shop / "requirements.txt").is_file()
    assert "pytest" not in (shop / "requirements.txt").read_text()
    assert "USER synergy" in steps
    private = next(
        number for number, step in enumerate(steps) if step.startswith("RUN chmod -R a+")
    )
    assert steps.index("COPY . .") < private < steps.index("USER synergy")
    command = json.loads(steps[-1].removeprefix("CMD "))
    assert command == ["synergy", "supervisor", "start", "--foreground"]


def test_compose_has_one_box_with_its_home_in_a_volume(shop: Path) -> None:
    compose = yaml.safe_load((shop / "compose.yaml").read_text())
    assert compose["name"] == "my-shop"
    box = compose["services"]["box"]
    assert box["environment"] == {"SYNERGY_BOX_ID": "my-shop-1"}
    [volume] = box["volumes"]
    source, target = volume.split(":")
    assert source in compose["volumes"]
    assert f"SYNERGY_HOME={target}" in (shop / "Dockerfile").read_text()


def test_a_folder_that_has_something_in_it_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / ".hidden"
    kept.write_text("mine")
    with pytest.raises(Refused, match="is not empty"):
        made.new_project(tmp_path, NOW)
    with pytest.raises(Refused, match="is a file"):
        made.new_project(kept, NOW)
    assert main(["init", str(tmp_path)]) == exits.REFUSED
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]


def test_a_new_repository_with_an_environment_becomes_a_project(tmp_path: Path) -> None:
    for name in (".git", ".venv"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("kept")
    project = made.new_project(tmp_path, NOW)
    project.write()
    assert (tmp_path / "context.py").exists()
    assert not any(path.startswith((".git/", ".venv/")) for path in project.paths)
    assert {file.read_text() for file in tmp_path.glob("*/mine")} == {"kept"}


@pytest.mark.parametrize(
    ("text", "name"),
    [("shop", "shop"), ("My Shop", "my-shop"), ("_a.b_", "a-b"), ("Läden", "l-den"), ("7", "7")],
)
def test_a_name_is_made_one_for_compose(text: str, name: str) -> None:
    assert made.project_name(text) == name


def test_a_name_without_letters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="at least one letter or digit"):
        made.new_project(tmp_path / "***", NOW)
    assert main(["init", str(tmp_path / "***")]) == exits.USAGE


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "shop"
    assert main(["init", str(folder), "--dry-run", "--json"]) == exits.DONE
    seen = json.loads(capsys.readouterr().out)
    assert (seen["name"], seen["folder"], seen["dry_run"]) == ("shop", str(folder), True)
    assert not folder.parent.exists()
    assert main(["init", str(folder), "--json"]) == exits.DONE
    written = [str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()]
    assert sorted(written) == seen["files"]


def test_what_cannot_be_written_whole_is_not_left_in_parts(tmp_path: Path) -> None:
    for is_new in (True, False):
        folder = tmp_path / str(is_new)
        if not is_new:
            (folder / ".git").mkdir(parents=True)
        project = made.new_project(folder, NOW)
        object.__setattr__(project, "wheel", tmp_path / "gone.whl")
        with pytest.raises(FileNotFoundError):
            project.write()
        assert folder.exists() is not is_new
        assert is_new or [path.name for path in folder.iterdir()] == [".git"]


@pytest.mark.parametrize(
    ("version", "versions"),
    [("0.1.0", ">=0.1.0,<0.2"), ("0.9.3.dev1", ">=0.9.3.dev1,<0.10"), ("2.4.1", ">=2.4.1,<3")],
)
def test_a_project_takes_versions_that_are_compatible(version: str, versions: str) -> None:
    assert made.compatible(version) == versions


class Installed:
    """A distribution, with the file in which pip remembers its origin."""

    def __init__(self, origin: str | None) -> None:
        self._origin = None if origin is None else json.dumps({"url": origin})

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._origin


@pytest.mark.parametrize("origin", ["index", "wheel", "checkout"])
def test_requirements_install_synergy_from_where_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    wheel = tmp_path / "with space" / "synergy_timetable-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"PK")
    urls = {"index": None, "wheel": wheel.as_uri(), "checkout": PROJECT.as_uri()}
    monkeypatch.setattr(metadata, "distribution", lambda _name: Installed(urls[origin]))
    project = made.new_project(tmp_path / "shop", NOW)
    project.write()
    expected = {
        "index": f"synergy-timetable{made.compatible()}",
        "wheel": f"./{wheel.name}",
        "checkout": f"synergy-timetable @ {PROJECT.as_uri()}",
    }[origin]
    assert expected in (tmp_path / "shop" / "requirements.txt").read_text().splitlines()
    assert [file.name for file in (tmp_path / "shop").glob("*.whl")] == (
        [wheel.name] if origin == "wheel" else []
    )
