"""Invisible characters are shown as escapes, by Python and by the scripts of pages alike."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import synergy.mx
from synergy.visible_text import visible, visible_json, visible_line
from tests.missing import program

SCRIPT = Path(synergy.mx.__file__).parent / "static" / "visible_text.js"
ALL = tuple(map(chr, range(sys.maxunicode + 1)))
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))  # categories of Unicode


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a\n\tb  日 é \u00a0", "a\n\tb  日 é \u00a0"),
        ("\x1b[2J\x07\0", r"\x1b[2J\x07\x00"),
        ("10 %\r20 %\x7f", r"10 %\r20 %\x7f"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("\u202etxt\u2028\ud800", r"\u202etxt\u2028\ud800"),
        ("\u2066a\u2069\u200b\ufeff", r"\u2066a\u2069\u200b\ufeff"),
        ("a\u3164\U000e0041", r"a\u3164\U000e0041"),
    ],
)
def test_invisible_characters_are_escaped(written: str, shown: str) -> None:
    assert visible(written) == shown
    assert visible(shown) == shown


def test_every_control_and_format_character_is_escaped() -> None:
    for char in ALL:
        if unicodedata.category(char) in UNSEEN and char not in "\n\t":
            assert visible(char).isascii(), hex(ord(char))


def test_letters_marks_and_symbols_stay() -> None:
    kept = [char for char in ALL if unicodedata.category(char)[0] in "LNPS"]
    changed = {char for char in kept if visible(char) != char}
    assert changed == set("\u115f\u1160\u3164\uffa0")  # letters that are empty


def test_on_one_line_line_feeds_and_tabs_are_spaces() -> None:
    assert visible_line("a\n\n\tb\r\x1b") == r"a b\r\x1b"


def test_json_is_visible_and_means_the_same() -> None:
    text = "".join(char for char in ALL if not "\ud800" <= char <= "\udfff")
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert visible(shown) == shown


def test_the_script_of_pages_escapes_the_same_characters() -> None:
    node = program("node", "install node")
    code = f"""
        const module = await import("data:text/javascript," + encodeURIComponent({
        json.dumps(SCRIPT.read_text())
    }));
        const found = {{}};
        for (let code = 0; code <= 0x10ffff; code += 1) {{
            const char = String.fromCodePoint(code), shown = module.visible(char);
            if (shown !== char) found[code] = shown;
        }}
        console.log(JSON.stringify(found));
    """
    done = subprocess.run(
        [node, "--input-type=module", "-e", code], capture_output=True, text=True, check=True
    )
    expected = {str(ord(char)): visible(char) for char in ALL if visible(char) != char}
    assert json.loads(done.stdout) == expected
