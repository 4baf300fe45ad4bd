"""Pages from templates, and the values that all pages have."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from synergy.errors import StorageUnavailable
from synergy.model.journal_event import Noun
from synergy.mx import assets
from synergy.mx.access import Role, person_of
from synergy.mx.pages.addresses import page_of
from synergy.mx.services import Services, ServicesDep
from synergy.program import PROGRAM
from synergy.runtime.identity import short_name
from synergy.visible_text import visible

HERE = Path(__file__).resolve().parent.parent

PAGES = (
    ("/", "Overview", "o"),
    ("/timetable", "Timetable", "t"),
    ("/processes", "Processes", "p"),
    ("/boxes", "Boxes", "b"),
    ("/schedules", "Schedules", "s"),
    ("/units", "Units", "u"),
    ("/events", "Events", "e"),
    ("/queues", "Queues", "q"),
    ("/journal", "Journal", "j"),
    ("/audit", "Audit", "a"),
    ("/logs", "Logs", "l"),
)
"""The pages in the navigation: address, name, and key after `g`."""

_BELOW = {"/jobs": "/timetable", "/runs": "/schedules"}
"""Pages that are not in the navigation, and the section they belong to."""

_LENGTHS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_UNITS = ("B", "kB", "MB", "GB", "TB")


def ago(at: datetime, now: datetime) -> str:
    """The distance of an instant from now: "3 min ago", "in 2 h"; worded as in `times.js`."""
    seconds = (now - at).total_seconds()
    distance = duration(abs(seconds))
    if abs(seconds) < 1:
        return "now"
    return f"{distance} ago" if seconds > 0 else f"in {distance}"


def duration(seconds: float) -> str:
    """A length of time in its largest unit, rounded down."""
    name, length = next(((n, size) for n, size in _LENGTHS if seconds >= size), _LENGTHS[-1])
    return f"{int(seconds // length)} {name}"


def size(count: float) -> str:
    """A number of bytes in a readable unit."""
    for unit in _UNITS:
        if count < 1000 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def number(count: float) -> str:
    """A number with separated thousands."""
    return f"{count:,}"


def segment(text: str) -> str:
    """A name as one segment of an address, whatever its characters."""
    return quote(text, safe="")


def shortened(text: str, most: int) -> str:
    """The text, cut to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def island(json: bytes) -> Markup:
    """JSON as the content of a script element, escaped so that it cannot end the element."""
    return Markup(json.decode().replace("<", "\\u003c"))


def section(path: str) -> str:
    """The address in the navigation that a page belongs to."""
    first = f"/{path.split('/')[1]}"
    return _BELOW.get(first, first)


def _shown(value: object) -> object:
    """What a page shows of a value: text with invisible characters as escapes.

    Markup comes from macros, whose texts were shown before, and from JSON for scripts.
    """
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for each in (ago, duration, size, number, segment, shortened, short_name, page_of):
        made.filters[each.__name__] = each
    made.globals["pages"] = PAGES
    made.globals["static"] = assets.ADDRESS
    made.globals["program"] = PROGRAM
    made.globals["nouns"] = tuple(Noun)
    return made


_templates = _environment()


def note_present(request: Request, services: ServicesDep) -> None:
    """Notes the newest journal entry before a page is rendered: its stream starts after that."""
    with suppress(StorageUnavailable):
        request.state.seq = services.reads.last_entry()


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A rendered template, with these values and those of `common`.

    `may` is whether the person may do what an operator may. Failed health checks are looked up for
    whole pages only, not for their parts, whose templates begin with an underscore.
    """
    services: Services = request.app.state.services
    person = person_of(request)
    shows_health = person is not None and not template.startswith("_")
    common = {
        "person": person,
        "may": person is not None and person.role.may(Role.OPERATOR),
        "now": services.now,
        "section": section(request.url.path),
        "seq": getattr(request.state, "seq", None),
        "troubles": request.app.state.health.problems() if shows_health else (),
    }
    return HTMLResponse(_templates.get_template(template).render({**common, **values}), status)
