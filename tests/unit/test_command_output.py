"""The output of commands, and ranges of timeperiods as their arguments."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synergy import errors
from synergy.cli import exits, output
from synergy.cli.main import main
from synergy.cli.services import confirm

# Output


@dataclass(frozen=True)
class Row:
    """A row to print."""

    at: datetime
    path: Path
    names: frozenset[str]


def test_json_output_converts_times_paths_and_sets(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(datetime(2026, 11, 21, tzinfo=UTC), Path("/x"), frozenset("ba"))
    output.print_json({"row": row, 5: None})
    assert json.loads(capsys.readouterr().out) == {
        "row": {"at": "2026-11-21T00:00:00Z", "path": "/x", "names": ["a", "b"]},
        "5": None,
    }


def test_a_table_aligns_numbers_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["name", "rows"], [["a", 5], ["long name", 1234], ["b", None]])
    assert capsys.readouterr().out.splitlines() == [
        "name       rows",
        "a             5",
        "long name  1234",
        "b             -",
    ]


def test_an_empty_table_prints_its_note_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.table(["name"], [])
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "nothing to show\n")


def test_foreign_text_is_shown_on_one_line() -> None:
    assert output.one_line(" no disk:\n\tat  all \x1b[m\n") == r"no disk: at all \x1b[m"
    assert output.one_line("12345", 5) == "12345"
    assert output.one_line("123456", 5) == "12345..."
    assert output.one_line("") is output.one_line(None) is output.one_line(" \n") is None


def test_every_cell_and_value_is_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(["name\x1b", "said"], [["a", "one\ntwo\x1b[2J"], ["b", "x  y"]])
    output.pairs({"reason": "one\n\ttwo\r"})
    assert capsys.readouterr().out.splitlines() == [
        r"name\x1b  said",
        r"a         one two\x1b[2J",
        "b         x  y",
        r"reason  one two\r",
    ]


DECEIVING = "\x1b[2J\u202e\u200b\x9b"
SHOWN = r"\x1b[2J\u202e\u200b\x9b"


def test_lines_for_people_have_no_invisible_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.say(DECEIVING)
    for write in (output.note, output.warn, output.error):
        write(DECEIVING)
    shown = capsys.readouterr()
    assert shown.out == f"{SHOWN}\n"
    assert shown.err == f"{SHOWN}\nwarning: {SHOWN}\nerror: {SHOWN}\n"


def test_json_has_the_same_text_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"why": f"{DECEIVING}\U000e0041\n"})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"why": f"{DECEIVING}\U000e0041\n"}
    assert all(char.isprintable() or char == "\n" for char in shown)


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal_and_not_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.colour("x", "red", io.StringIO()) == "x"
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    output.say(f"{output.colour('x', 'red')} y")
    assert terminal.getvalue() == "\x1b[31mx\x1b[0m y\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.colour("x", "red") == "x"


def test_other_texts_have_no_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    output.say(f"{output.colour(DECEIVING, 'dim')} \x1b[31merror\x1b[0m")
    assert terminal.getvalue() == f"\x1b[2m{SHOWN}\x1b[0m " + r"\x1b[31merror\x1b[0m" + "\n"


def test_a_mistyped_argument_is_shown_without_invisible_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status", DECEIVING]) == exits.USAGE
    assert f"unrecognized arguments: {SHOWN}\n" in capsys.readouterr().err


def test_a_question_is_asked_without_invisible_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    with pytest.raises(errors.Refused, match="nothing was done"):
        confirm(f"Messages of {DECEIVING} will be lost.", "yes", is_sure=False)
    assert capsys.readouterr().err == f"Messages of {SHOWN} will be lost. Type yes to do it: "


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with output.Progress("lines", 2000) as line:
        line.show(1000)
        line.show(1000)
    assert terminal.getvalue() == "\r\x1b[2Klines: 1,000 of 2,000 (50 %)\r\x1b[2K"


def test_progress_is_shown_only_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with output.Progress("lines") as line:
        line.show(5)
    assert capsys.readouterr().err == ""
