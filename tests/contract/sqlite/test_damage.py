"""A damaged file is recognised, and never written to again until it is known to be sound."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from synergy.errors import StorageUnavailable
from synergy.storage.protocol.check import StoreCheck
from synergy.storage.sqlite import SqliteStore
from synergy.storage.sqlite.check import check_file
from synergy.storage.sqlite.damage import DamageMark
from tests.factories import some_units

PAGE = 4096
OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


def checked(path: Path) -> StoreCheck:
    return check_file(path, lambda _done, _all: None)


def pages(path: Path, query: str) -> int:
    """The number of a page, from a query."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return int(connection.execute(query).get)


def overwrite(path: Path, begin: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(content)


def of_header(path: Path) -> None:
    overwrite(path, 0, b"no SQLite at all")


def of_page(path: Path) -> None:
    query = "SELECT pageno FROM dbstat WHERE name = 'unit' AND pagetype = 'leaf' LIMIT 1 OFFSET 9"
    overwrite(path, (pages(path, query) - 1) * PAGE, b"\xde\xad" * (PAGE // 2))


def of_index(path: Path) -> None:
    query = "SELECT rootpage FROM sqlite_schema WHERE name = 'unit_key'"
    overwrite(path, (pages(path, query) - 1) * PAGE, b"\xde\xad" * (PAGE // 2))


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def of_log(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"\xde\xad" * PAGE)


DAMAGES = (of_header, of_page, of_index, cut_off, emptied, of_log)


def digests(path: Path) -> dict[str, str]:
    """What the file and its log hold."""
    files = [file for file in (path, Path(f"{path}-wal")) if file.exists() and file.stat().st_size]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture
def closed(path: Path) -> Path:
    """A store with units that was closed in order."""
    with closing(SqliteStore.open(path)) as store:
        store.units.create(some_units(1_000), "scheduler")
    assert not Path(f"{path}-wal").exists()
    return path


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_start_recognises_damage_and_leaves_the_file_as_it_is(
    closed: Path, damage: Callable[[Path], None]
) -> None:
    damage(closed)
    before = digests(closed)
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match=r"is damaged .*launch\.py store check"):
            SqliteStore.open(closed)
    assert digests(closed) == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_check_tells_the_damage_and_leaves_the_file_as_it_is(
    closed: Path, damage: Callable[[Path], None]
) -> None:
    damage(closed)
    before = digests(closed)
    found = checked(closed)
    assert found.damage
    assert not found.is_sound
    assert digests(closed) == before
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)


def test_a_check_reads_every_row_beside_a_running_system(path: Path) -> None:
    steps: list[tuple[int, int]] = []
    with closing(SqliteStore.open(path)) as store:
        store.units.create(some_units(3_000), "scheduler")
        found = check_file(path, lambda done, total: steps.append((done, total)))
        store.facts.set("still", "written")
    assert (found.is_sound, found.rows) == (True, 6_000)  # units, and their journal entries
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 12_000  # each row for its pages, and for its values


def test_damage_that_is_met_at_work_stops_all_writers_and_readers(
    closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synergy.storage.sqlite.damage.LOOK_SECONDS", 0.0)
    with closing(SqliteStore.open(closed)) as store, closing(SqliteStore.open(closed)) as other:
        of_page(closed)
        with pytest.raises(StorageUnavailable, match="is damaged"):
            store.units.find(limit=1_000)
        before = digests(closed)
        for one in (store, other):
            with pytest.raises(StorageUnavailable, match="is damaged"):
                one.facts.set("a", "1")
            with pytest.raises(StorageUnavailable, match="is damaged"):
                one.facts.get("a")
    assert digests(closed) == before
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)


def test_a_mark_outlasts_a_write_that_was_under_way(
    closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit may move the log into the file, whose header changes then."""
    monkeypatch.setattr("synergy.storage.sqlite.write_ahead_log.CHECKPOINT_PAGES", 0)
    with closing(SqliteStore.open(closed)) as store, closing(SqliteStore.open(closed)) as other:
        with other.batch():
            other.units.create(some_units(1_000, "Other"), "scheduler")
            DamageMark(closed).note("a page")
        with pytest.raises(StorageUnavailable, match="a page"):
            store.facts.set("a", "1")
    with pytest.raises(StorageUnavailable, match="a page"):
        SqliteStore.open(closed)


def test_a_log_is_not_moved_into_a_file_that_was_found_damaged(closed: Path) -> None:
    store = SqliteStore.open(closed)
    store.facts.set("in", "the log")
    DamageMark(closed).note("a page")
    before = digests(closed)
    store.close()
    assert digests(closed) == before


def test_a_file_in_the_place_of_a_damaged_one_is_used(closed: Path) -> None:
    backup = closed.with_name("backup.db")
    backup.write_bytes(closed.read_bytes())
    of_page(closed)
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)
    backup.rename(closed)
    with closing(SqliteStore.open(closed)) as store:
        store.facts.set("a", "1")


def test_a_damaged_file_in_the_place_of_a_damaged_one_is_marked_too(closed: Path) -> None:
    backup = closed.with_name("backup.db")
    backup.write_bytes(closed.read_bytes())
    of_index(backup)
    of_page(closed)
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)
    backup.rename(closed)
    found = checked(closed)
    assert not found.is_sound
    with pytest.raises(StorageUnavailable) as refused:
        DamageMark(closed).refuse()
    assert found.damage[0] in str(refused.value)


def test_a_damaged_file_that_lost_its_content_is_not_taken_for_a_new_store(closed: Path) -> None:
    of_page(closed)
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)
    for log in ("-wal", "-shm"):
        Path(f"{closed}{log}").unlink(missing_ok=True)
    emptied(closed)
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="it has no bytes"):
            SqliteStore.open(closed)


def test_each_damage_is_told_in_a_line_of_its_own(closed: Path) -> None:
    of_page(closed)
    of_index(closed)
    found = checked(closed).damage
    assert len(found) > 1
    assert all(line.count("page") <= 1 and "***" not in line for line in found)


def test_a_check_releases_a_file_that_is_sound_again(closed: Path) -> None:
    content = closed.read_bytes()
    of_page(closed)
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)
    Path(f"{closed}-wal").unlink(missing_ok=True)
    closed.write_bytes(content)  # the same file
    with pytest.raises(StorageUnavailable, match="is damaged"):
        SqliteStore.open(closed)
    found = checked(closed)
    assert (found.is_sound, found.was_marked) == (True, True)
    SqliteStore.open(closed).close()


def test_damage_is_remembered_where_no_mark_can_be_written(tmp_path: Path) -> None:
    mark = DamageMark(tmp_path / "missing" / "synergy.db")
    mark.note("a page")
    with pytest.raises(StorageUnavailable, match="a page"):
        mark.refuse()


@pytest.mark.parametrize(("damage", "left"), [(of_index, 1_000), (of_page, 50)])
def test_rows_that_can_be_read_are_saved_by_the_documented_commands(
    closed: Path, damage: Callable[[Path], None], left: int
) -> None:
    damage(closed)
    saved = closed.with_name("saved.db")
    SqliteStore.open(saved).close()
    (commands,) = re.findall(
        r"^launch.py store init.*?\n(.*)^launch.py store check\n",
        OPERATIONS.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    for written, here in (
        (".venv/bin/python", sys.executable),
        ("damaged/synergy.db", str(closed)),
        ("var/synergy.db", str(saved)),
    ):
        commands = commands.replace(written, here)
    subprocess.run(["bash", "-c", commands], check=True, cwd=closed.parent, capture_output=True)
    assert checked(saved).is_sound
    with closing(SqliteStore.open(saved)) as store:
        assert len(store.units.find(limit=1_000)[0]) >= left


def test_a_value_of_a_wrong_type_is_no_damage(closed: Path) -> None:
    with closing(apsw.Connection(str(closed))) as connection:
        connection.pragma("writable_schema", True)
        for text, bare in ((") STRICT", ")"), (")", ") STRICT")):
            change = "UPDATE sqlite_schema SET sql = rtrim(sql, ?) || ? WHERE name = 'unit'"
            connection.execute(change, (text, bare))
            connection.execute("PRAGMA writable_schema = RESET")
            connection.pragma("writable_schema", True)
            if bare == ")":
                connection.execute("UPDATE unit SET attempt = 'nonsense' WHERE number = 7")
    found = checked(closed)
    assert found.damage == ()
    assert [(row.kind, "attempt" in row.problem) for row in found.malformed] == [("units", True)]
    with closing(SqliteStore.open(closed)) as store:
        assert len(store.units.find(limit=1_000)[0]) == 999


def test_the_log_says_how_far_the_check_of_a_start_came(
    closed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        SqliteStore.open(closed).close()
    (line,) = [
        record for record in caplog.records if record.__dict__.get("event") == "store.checked"
    ]
    assert "tables with their indexes as a whole" in line.getMessage()
