"""CSV files: no cell is a formula when a spreadsheet program opens them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from synergy.cli.csv_file import safe, write_csv

FORMULAS = (
    *("=", '=HYPERLINK("http://evil.example","x")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)"),
    *("\nx", "\tx", "  =1", "\xa0=1", "\u3000=1"),  # behind spaces
    *("\u200b=1", "\ufeff=1", "\x00=1"),  # behind what is not seen
    *("\uff1d1+1", "\uff0b1+1", "\uff0d1+1", "\uff20SUM(A1)", "\ufe66x", "\u2212x", "\u2a751"),
)
NO_FORMULAS = (
    *(-5, -1.5, 0, None, True, "-12.50", "+3", "-1e-7", "2015051700"),
    *("a=b", "a;b\nc", "1;-5", "semicomplete.com", "", " ", "'=1", "\u200b"),
)


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_begins_like_a_formula_is_no_formula(text: str) -> None:
    assert safe([text]) == [f"'{text}"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a;=1", "a;'=1"),
        ("a; =1;-2+3", "a;' =1;'-2+3"),
        ('a;"=1"', 'a;\'"=1"'),
        ("a\t@x\r\n\uff1d1", "a\t'@x\r\n'\uff1d1"),
        ("\t=1", "'\t'=1"),
    ],
)
def test_text_behind_what_separates_cells_elsewhere_is_no_formula(text: str, shown: str) -> None:
    assert safe([text]) == [shown]


@pytest.mark.parametrize("cell", NO_FORMULAS)
def test_numbers_and_other_text_stay_as_they_are(cell: object) -> None:
    assert safe([cell]) == [cell]


def test_headers_and_cells_of_a_file_are_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write_csv(path, ["domain", "=x"], [['=1+"2",\r\n=3', -4], ["a,b", "-0.5"]])
    with path.open(newline="", encoding="utf-8") as file:
        found = list(csv.reader(file))
    assert found == [["domain", "'=x"], ["'=1+\"2\",\r\n'=3", "-4"], ["a,b", "-0.5"]]
