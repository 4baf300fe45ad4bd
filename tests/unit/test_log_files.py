"""Log files: compressed ones by their content, damaged ones, folders, patterns, and pipes."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from synergy.errors import InvalidValue, NotFound
from workers.access_log.files import DamagedFile, LogFile, logs, zstd

LINES = [b"%d: a line of some length, %d" % (n, n * 7919 % 1009) for n in range(5000)]
CONTENT = b"".join(line + b"\n" for line in LINES)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstd.compress,
}
each_compression = pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)


def lines_of(log: LogFile) -> list[bytes]:
    return [line for block in log.blocks() for line in block]


def a_file(folder: Path, content: bytes, name: str = "access.log") -> LogFile:
    path = folder / name
    path.write_bytes(content)
    return LogFile(str(path))


@each_compression
@pytest.mark.parametrize("name", ["access.log", "access.log.gz", "access.log.xz"])
def test_a_compressed_file_is_recognised_by_its_content(
    tmp_path: Path, compress: Callable[[bytes], bytes], name: str
) -> None:
    assert lines_of(a_file(tmp_path, compress(CONTENT), name)) == LINES


@each_compression
def test_a_file_of_several_compressed_parts_is_read_whole(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    assert lines_of(a_file(tmp_path, compress(CONTENT) + compress(b"last\n"))) == [*LINES, b"last"]


def test_a_plain_file_may_be_named_as_a_compressed_one(tmp_path: Path) -> None:
    assert lines_of(a_file(tmp_path, CONTENT, "access.log.gz")) == LINES


@each_compression
@pytest.mark.parametrize("keep", [0.01, 0.5, 0.999])
def test_a_truncated_file_gives_its_whole_lines_and_then_an_error(
    tmp_path: Path, compress: Callable[[bytes], bytes], keep: float
) -> None:
    content = compress(CONTENT)
    log, found = a_file(tmp_path, content[: int(len(content) * keep)]), list[bytes]()
    size = f"{log.size:,}"

    with pytest.raises(DamagedFile, match=rf"cannot be read any further .* of {size}: "):
        found.extend(line for block in log.blocks() for line in block)
    assert found == LINES[: len(found)]


@each_compression
def test_a_file_with_changed_bytes_is_an_error(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = bytearray(compress(CONTENT))
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)

    with pytest.raises(DamagedFile, match="cannot be read any further"):
        lines_of(a_file(tmp_path, bytes(content)))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert lines_of(a_file(tmp_path, b"\xef\xbb\xbf" + CONTENT)) == LINES


@each_compression
def test_standard_input_may_be_compressed_and_is_read_again_as_far_as_it_was_seen(
    monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(CONTENT))))
    log = LogFile("-")
    with closing(log.peek()) as blocks:
        assert next(blocks)[:2] == LINES[:2]

    assert lines_of(log) == LINES


def test_what_can_be_read_only_once_can_be_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = gzip.compress(CONTENT)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content[:-9])))
    log = LogFile("-")
    log.copy_to(tmp_path / "copy")

    for _ in range(2):
        found: list[bytes] = []
        with pytest.raises(DamagedFile):
            found.extend(line for block in log.blocks() for line in block)
        assert found
        assert found == LINES[: len(found)]


def test_a_pipe_may_bring_few_bytes_at_a_time(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as stream:
            for byte in gzip.compress(b"one\ntwo\n"):
                stream.write(bytes((byte,)))

    writer = Thread(target=write)
    writer.start()
    assert lines_of(LogFile(str(pipe))) == [b"one", b"two"]
    writer.join()


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    log = a_file(tmp_path, CONTENT)
    Path(log.name).unlink()
    with pytest.raises(DamagedFile, match="cannot be read"):
        lines_of(log)


def names(*given: Path | str) -> list[str]:
    return [Path(log.name).name for log in logs([str(each) for each in given])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("access.log", "access.log.1", "b.gz", ".hidden", "access.log.rejected"):
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    return tmp_path


def test_a_folder_stands_for_its_files(folder: Path) -> None:
    assert names(folder) == ["access.log", "access.log.1", "b.gz"]


def test_a_pattern_stands_for_the_files_that_match(folder: Path) -> None:
    assert names(folder / "access*") == ["access.log", "access.log.1"]


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    assert names(folder / "access.log.1", folder / "access*") == ["access.log.1", "access.log"]


def test_a_name_may_look_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "access[1].log").touch()
    assert names(tmp_path / "access[1].log") == ["access[1].log"]


def test_an_empty_name_is_not_the_folder_that_the_command_runs_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidValue, match="'' is not the name of a log"):
        names("")


def test_names_of_nothing_are_refused(folder: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        names(folder / "missing")
    with pytest.raises(InvalidValue, match="no files match"):
        names(folder / "missing*")
    with pytest.raises(InvalidValue, match="no files in"):
        names(folder / "inner")
