"""Every picture in `docs/screenshots` is named in the README or on a page of the documentation."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_every_picture_is_used() -> None:
    pages = [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    pictures = list((PROJECT / "docs" / "screenshots").iterdir())
    assert pictures
    assert [picture.name for picture in pictures if picture.name not in text] == []
