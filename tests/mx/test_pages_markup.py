"""No template has what the security headers forbid, and no asset comes from another host."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from synergy.mx.pages.render import HERE, ago, duration, island, size
from tests.mx.pages_kit import get, of_all_kinds

TEMPLATES = sorted((HERE / "templates").glob("*.html"))
ASSETS = sorted(
    path
    for path in (HERE / "static").iterdir()
    if path.suffix in (".css", ".js", ".svg") and path.name != "htmx.min.js"
)
FORBIDDEN = {
    "an inline style": re.compile(r"\sstyle\s*=|<style\b", re.I),
    "an inline handler": re.compile(r"<[^>{]*\son[a-z]+\s*=|hx-on\b", re.I),
    "an inline script": re.compile(
        r'<script(?![^>]*\ssrc=)(?! type="application/json" id="\w+">\{\{ \w+ \}\}</script>)', re.I
    ),
    "a script as an address": re.compile(r"javascript:", re.I),
    "something that htmx would evaluate": re.compile(r"hx-(?:vals|headers)=.js:|every \d+m?s\s*\["),
    "text that is not escaped": re.compile(r"\|\s*safe\b|autoescape\s+false"),
    "another host": re.compile(r"(?:src|href|action|hx-get)=.?(?:https?:)?//"),
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_holds_a_forbidden_pattern(template):
    text = template.read_text("utf-8")
    assert [what for what, pattern in FORBIDDEN.items() if pattern.search(text)] == []


@pytest.mark.parametrize(
    ("what", "markup"),
    [
        ("an inline style", '<p style="color: red">'),
        ("an inline handler", '<a href="#" onclick="x()">'),
        ("an inline script", "<script>x()</script>"),
        ("an inline script", '<script type="module">x()</script>'),
        ("a script as an address", '<a href="javascript:x()">'),
        ("something that htmx would evaluate", 'hx-trigger="every 2s [x]"'),
        ("text that is not escaped", "{{ name|safe }}"),
        ("another host", '<script src="//cdn.example.com/x.js">'),
    ],
)
def test_each_forbidden_pattern_is_found(what, markup):
    assert FORBIDDEN[what].search(markup)


@pytest.mark.parametrize("asset", ASSETS, ids=lambda path: path.name)
def test_no_asset_names_another_host(asset):
    hosts = set(re.findall(r"https?://[^\s'\"/]+", asset.read_text("utf-8")))
    assert hosts <= {"http://www.w3.org", "https://example.com"}  # the name of SVG; an example


@pytest.mark.parametrize("path", ["/", "/boxes", "/processes", "/processes/Sitedaily"])
def test_pages_can_be_walked_by_their_headings_and_tables(worlds, client, world, path):
    world.schedule()
    world.store.boxes.assign("north", list(of_all_kinds().processes))
    page = get(client, path)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    in_main = levels[: -len([1 for tag, _ in page.elements if tag == "dialog"])]
    assert in_main.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(in_main))
    assert all(th.get("scope") for th in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    labels = {label["for"] for label in page.all("label")}
    visible = [field for field in page.all("input") if field.get("type") != "hidden"]
    assert {field["id"] for field in visible} <= labels
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    named = {word for _, found in page.elements for word in _names(found)}
    assert named <= set(ids)


def _names(attributes: dict[str, str | None]) -> list[str]:
    """The ids that an element names."""
    keys = ("aria-labelledby", "aria-describedby", "aria-controls")
    return [word for key in keys for word in (attributes.get(key) or "").split()]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"), (0.9, "now"), (1, "1 s ago"), (59.9, "59 s ago"), (60, "1 min ago"),
        (3599, "59 min ago"), (7200, "2 h ago"), (86400, "1 d ago"), (-90, "in 1 min"),
    ],
)  # fmt: skip
def test_instants_are_shown_as_distances_from_now(world, seconds, words):
    now = world.clock.now()
    world.clock.advance(abs(seconds))
    later = world.clock.now()
    assert (ago(now, later) if seconds >= 0 else ago(later, now)) == words


def test_lengths_and_sizes_are_short():
    assert [duration(seconds) for seconds in (0.2, 59, 3600, 200_000)] == [
        "0 s",
        "59 s",
        "1 h",
        "2 d",
    ]
    assert [size(count) for count in (0, 999, 1000, 31_400_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "31 MB",
    ]


def test_data_in_a_page_cannot_end_its_element():
    text = "</script><!--<script>&\u2028"
    data = island(json.dumps({text: text}).encode())
    assert "<" not in data
    assert json.loads(data) == {text: text}


def test_no_script_parses_text_as_markup():
    for file in ASSETS:
        text = re.sub(r"//[^\n]*", "", file.read_text())
        assert not DANGEROUS.search(text), file.name


DANGEROUS = re.compile(
    r"\beval\(|new Function|\.(?:inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write"
)
