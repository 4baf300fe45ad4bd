"""Logs: one JSON object a line, bounded and without secrets, in one file for each instance."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from synergy.runtime import logs

log = logging.getLogger("tests.logs")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_an_event_with_its_fields(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "SiteHourly", "dev-1")
    log.info(
        "Unit %s requested",
        "u1",
        extra={
            "event": "unit.requested",
            "unit": "u1",
            "timeperiod": "2026112113",
            "counts": {"rows": 3},
        },
    )
    (line,) = lines(path)
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "level": "info",
        "event": "unit.requested",
        "process": "SiteHourly",
        "box": "dev-1",
        "unit": "u1",
        "timeperiod": "2026112113",
        "counts": {"rows": 3},
        "message": "Unit u1 requested",
    }


def test_a_line_may_be_about_another_process(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "Scheduler", "dev-1")
    log.warning("late", extra={"process_name": "SiteHourly"})
    (line,) = lines(path)
    assert line["process"] == "SiteHourly"
    assert "process_name" not in line


def test_debug_shows_the_lines_of_debug_without_those_of_libraries(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b", level="debug")
    log.debug("seen")
    logging.getLogger("pymongo.command").debug("a message to the server")
    assert [line["message"] for line in lines(path)] == ["seen"]
    logs.configure(tmp_path, "P", "b")
    log.debug("not seen")
    assert len(lines(path)) == 1


def test_each_instance_has_its_own_file(tmp_path: Path) -> None:
    assert logs.configure(tmp_path, "P", "b") == tmp_path / "logs" / "P.log"
    path = logs.configure(tmp_path, "P", "b", instance=2)
    assert path == tmp_path / "logs" / "P.2.log"
    log.info("hello")
    assert lines(path)[0]["instance"] == 2
    assert (tmp_path / "logs" / "P.log").read_text() == ""  # configuring again replaces


def test_debug_messages_are_not_logged(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")
    log.debug("a tick found nothing")
    assert lines(path) == []


def test_an_error_keeps_its_traceback_on_the_same_line(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")
    try:
        raise ValueError("amqp://me:secret@host is wrong")
    except ValueError:
        log.exception("Attempt failed")
    (line,) = lines(path)
    assert line["level"] == "error"
    assert "ValueError: amqp://me:***@host is wrong" in line["traceback"]
    assert "secret" not in path.read_text()


def test_secrets_are_masked_in_messages_and_all_fields(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")
    url = "mongodb://me:secret@host/db"
    log.info("connecting to %s", url, extra={"url": url, "all": [url, {"one": url}]})
    (line,) = lines(path)
    assert "secret" not in path.read_text()
    assert line["all"] == ["mongodb://me:***@host/db", {"one": "mongodb://me:***@host/db"}]


def test_invisible_characters_are_escapes_of_json(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")
    text = "a\u202e\u200b\x9b\u2028\x7f\n\U000e0041"
    log.info("%s", text, extra={"site": text})
    written = path.read_text(encoding="utf-8")
    assert all(char.isprintable() or char == "\n" for char in written)
    (line,) = lines(path)
    assert (line["message"], line["site"]) == (text, text)


def test_every_line_is_json_of_bounded_length(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")
    odd = {"path": Path("/x"), "big": 2**70, "bytes": b"\xff", "nan": float("nan"), 5: {1, 2}}
    log.info("%s\n\udcff", "x" * 10**6, extra={"odd": odd, "many": list(range(10**5))})
    (line,) = lines(path)
    assert line["odd"]["path"] == "/x"
    assert line["odd"]["big"] == str(2**70)
    assert len(line["many"]) == logs.MOST
    assert "characters left out" in line["message"]
    assert path.stat().st_size < 3 * logs.LONGEST


def test_files_are_rotated_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "FILE_SIZE", 2000)
    logs.configure(tmp_path, "P", "b")
    for number in range(500):
        log.info("line %d", number)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["P.log", *(f"P.log.{n}" for n in range(1, logs.KEPT + 1))]
    longest = len((tmp_path / "logs" / "P.log").read_text().splitlines()[-1]) + 1
    sizes = [path.stat().st_size for path in (tmp_path / "logs").iterdir()]
    assert all(size < 2000 + longest for size in sizes)
    assert lines(tmp_path / "logs" / "P.log")[-1]["message"] == "line 499"


def test_a_line_is_formatted_once(tmp_path: Path) -> None:
    class Text:
        calls = 0

        def __str__(self) -> str:
            self.calls += 1
            return "text"

    text = Text()
    path = logs.configure(tmp_path, "P", "b")
    # To its handler alone: pytest's handlers format it as well.
    (handler,) = [
        h for h in logging.getLogger().handlers if isinstance(h.formatter, logs.JsonLines)
    ]
    handler.handle(logging.makeLogRecord({"msg": "a %s", "args": (text,)}))
    assert lines(path)[0]["message"] == "a text"
    assert text.calls == 1


def test_the_failure_of_a_thread_is_logged(tmp_path: Path) -> None:
    path = logs.configure(tmp_path, "P", "b")

    def fail() -> None:
        raise ValueError("no")

    thread = threading.Thread(target=fail, name="pulse")
    thread.start()
    thread.join()
    (line,) = lines(path)
    assert (line["event"], line["message"]) == ("thread.failed", "Thread pulse ended: no")
    assert "ValueError: no" in line["traceback"]


def test_the_console_gets_the_same_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = logs.configure(tmp_path, "P", "b", console=True)
    log.info("hello")
    assert capsys.readouterr().err == path.read_text()
