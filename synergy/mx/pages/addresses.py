"""Addresses of pages with their filters."""

from __future__ import annotations

from urllib.parse import urlencode


def address(path: str, **filters: str | None) -> str:
    """A path and those filters that are set."""
    query = urlencode({name: value for name, value in filters.items() if value})
    return f"{path}?{query}" if query else path
