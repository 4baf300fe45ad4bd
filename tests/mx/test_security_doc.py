"""The written checklist names tests that there are, and the code keeps what it says in words."""

from __future__ import annotations

import re
from pathlib import Path

import synergy.mx

PROJECT = Path(__file__).resolve().parents[2]
MX = Path(synergy.mx.__file__).parent
DANGEROUS = re.compile(
    r"\beval\(|new Function|\.(?:inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write"
)
ISLAND = re.compile(r'<script type="application/json" id="\w+">\{\{ \w+ \}\}</script>')  # data
DOC = (PROJECT / "docs" / "mx-security.md").read_text()


def test_each_item_has_a_test_that_there_is():
    there = {
        name
        for file in Path(__file__).parent.glob("test_*.py")
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


def test_templates_escape_and_hold_no_scripts():
    templates = sorted((MX / "templates").glob("*.html"))
    assert templates
    for file in templates:
        text = re.sub(r"\{#.*?#\}", "", file.read_text(), flags=re.DOTALL)
        assert "|safe" not in text.replace(" ", ""), file.name
        assert "autoescape false" not in text, file.name
        assert not re.search(r"<script(?![^>]*\bsrc=)", ISLAND.sub("", text)), file.name
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|hx-on|javascript:", text), file.name
        assert not re.search(r"(?:src|href|action)=[\"']?(?:https?:)?//", text), file.name


def test_scripts_make_no_page_of_texts():
    for file in sorted((MX / "static").glob("*.js")):
        if file.name == "htmx.min.js":
            continue
        text = re.sub(r"//[^\n]*", "", file.read_text())
        assert not DANGEROUS.search(text), file.name
