"""Addresses of pages."""

from __future__ import annotations

from urllib.parse import urlencode

from synergy.queries.timetable.remedies import API

_PAGES = {f"{API}/queues/dead": "/queues#dead"}
"""Pages whose address differs from the path of the API."""


def address(path: str, **filters: str | None) -> str:
    """A path with the filters that are set."""
    query = urlencode({name: value for name, value in filters.items() if value})
    return f"{path}?{query}" if query else path


def page_of(path: str) -> str:
    """The page that shows what a path of the API returns."""
    return _PAGES.get(path, path.removeprefix(API))
