"""The security checklist names existing tests; code rules that it states in words hold."""

from __future__ import annotations

import re
from pathlib import Path

import synergy.mx

PROJECT = Path(__file__).resolve().parents[2]
MX = Path(synergy.mx.__file__).parent
DOC = (PROJECT / "docs" / "mx-security.md").read_text()


def test_each_item_of_the_checklist_names_an_existing_test():
    there = {
        name
        for file in (PROJECT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    rows = [row for row in DOC.splitlines() if row.startswith("|") and "`test_" in row]
    assert len(rows) > 30
    named = set(re.findall(r"`(test_\w+)`", DOC))
    assert named - there == set()


def test_secrets_are_compared_in_constant_time():
    for name in ("csrf.py", "forms.py"):
        text = (MX / "protection" / name).read_text()
        assert "compare_digest(" in text
        assert not re.search(r"csrf\b[^\n]* [!=]= ", text), name
    lookups = (MX / "accounts" / "users.py").read_text()
    assert "self.tokens.get(digest(secret))" in lookups
