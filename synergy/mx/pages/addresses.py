"""Addresses of pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from synergy.queries.timetable.remedies import API

_PAGES = {f"{API}/queues/dead": "/queues#dead"}
"""Pages whose address differs from the path of the API."""


def address(path: str, **filters: str | None) -> str:
    """A path with the filters that are set."""
    query = urlencode({name: value for name, value in filters.items() if value})
    return f"{path}?{query}" if query else path


def list_links(
    path: str, cursor: str | None, following: str | None, **filters: str | None
) -> dict[str, Any]:
    """The template values that link the pages of a list: this one, the first and the next."""
    return {
        "cursor": cursor,
        "here": address(path, **filters, cursor=cursor),
        "first": address(path, **filters),
        "following": address(path, **filters, cursor=following) if following else "",
    }


def page_of(path: str) -> str:
    """The address of the page that corresponds to a path of the API."""
    return _PAGES.get(path, path.removeprefix(API))
