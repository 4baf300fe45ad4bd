"""The log viewer: long logs, search, following, rotation and keyboard."""

from __future__ import annotations

import re

import orjson
import pytest
from playwright.sync_api import expect

from synergy.storage.protocol import LogLine
from tests.factories import NOW, a_unit

LINES = 30_000
NAME = "Sitehourly"
EVIL = "<img src=x onerror=\"document.title='taken'\">"


def line(number):
    level = "error" if number % 10_000 == 0 else "info"
    message = f"line {number} {EVIL}"
    fields = {"at": "2015-05-20T12:00:00.000+00:00", "level": level, "event": "e", "n": number}
    return orjson.dumps({**fields, "message": message}) + b"\n"


@pytest.fixture
def logs(world):
    """The log folder of the world."""
    folder = world.home / "logs"
    folder.mkdir()
    half = LINES // 2
    (folder / f"{NAME}.log.1").write_bytes(b"".join(map(line, range(1, half + 1))))
    (folder / f"{NAME}.log").write_bytes(b"".join(map(line, range(half + 1, LINES + 1))))
    return folder


@pytest.fixture
def page(world, served, look, logs):
    """The page of a log of 30,000 lines, at its end."""
    opened = look(f"{served(world)}/logs/{NAME}")
    expect(row(opened, LINES)).to_be_visible()
    return opened


def rows(page):
    """The lines in the document."""
    return page.get_by_role("listbox", name="Lines").get_by_role("option")


def row(page, number):
    """A line whose text is loaded."""
    return rows(page).filter(has_text=re.compile(rf"line {number} "))


def find(page, text="", level=""):
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_label("Level").select_option(level)
    page.get_by_role("button", name="Find").click()


def test_only_visible_lines_are_in_the_document(page):
    lines = page.get_by_role("listbox", name="Lines")
    assert rows(page).count() < 100
    lines.evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(row(page, LINES // 2 + 10)).to_be_visible()
    assert rows(page).count() < 100
    lines.evaluate("box => { box.scrollTop = 0 }")
    expect(row(page, 1)).to_be_visible()
    expect(row(page, 1)).to_have_attribute("aria-setsize", str(LINES))
    expect(page).not_to_have_title("taken")


def test_a_search_covers_the_whole_log_and_can_show_other_lines_too(page):
    find(page, "LINE 12345 ")
    expect(rows(page)).to_have_count(1)
    expect(row(page, 12345).locator("mark")).to_have_text("line 12345 ")
    page.get_by_label("other lines too").check()
    page.get_by_role("button", name="Next match").click()
    expect(row(page, 12346)).to_be_visible()
    expect(row(page, 12345)).to_have_attribute("aria-selected", "true")
    expect(page).to_have_url(re.compile(r"\?q=LINE\+12345\+&all=true$"))
    page.get_by_role("link", name="Clear").click()
    expect(row(page, 12345)).to_be_visible()


def test_the_level_filter_is_kept_in_the_address(page):
    page.get_by_label("Level").select_option("error")
    expect(rows(page)).to_have_count(LINES // 10_000)
    page.reload()
    expect(row(page, 20_000)).to_be_visible()
    expect(rows(page)).to_have_count(LINES // 10_000)


def test_new_lines_are_followed_until_the_user_scrolls_away(page, logs):
    follow = page.get_by_role("button", name="Follow")
    expect(follow).to_have_attribute("aria-pressed", "true")
    with (logs / f"{NAME}.log").open("ab") as file:
        file.write(line(LINES + 1))
    expect(row(page, LINES + 1)).to_be_visible()
    page.get_by_role("listbox", name="Lines").evaluate("box => { box.scrollTop = 0 }")
    expect(row(page, 1)).to_be_visible()
    expect(follow).to_have_attribute("aria-pressed", "false")


def test_a_log_can_be_read_while_it_is_rotated(page, logs):
    (logs / f"{NAME}.log.1").unlink()
    (logs / f"{NAME}.log").rename(logs / f"{NAME}.log.1")
    (logs / f"{NAME}.log").write_bytes(line(LINES + 1))
    expect(row(page, LINES + 1)).to_be_visible()
    expect(page.locator("#log-count")).to_have_text(f"{LINES // 2 + 1:,} lines")
    expect(row(page, LINES + 1)).to_have_attribute("aria-setsize", str(LINES // 2 + 1))


def test_the_log_viewer_works_by_keyboard(page):
    lines = page.get_by_role("listbox", name="Lines")
    lines.focus()
    lines.press("Home")
    expect(row(page, 1)).to_have_attribute("aria-selected", "true")
    lines.press("ArrowDown")
    expect(row(page, 2)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Selected line")).to_contain_text("n2")
    lines.press("Escape")
    expect(page.get_by_label("Selected line")).to_be_hidden()
    lines.press("End")
    expect(row(page, LINES)).to_have_attribute("aria-selected", "true")
    lines.press("w")
    expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "true")
    expect(row(page, LINES)).to_be_in_viewport()


def test_a_link_to_a_line_shows_that_line(page):
    page.goto(page.url + "?line=777")
    expect(row(page, 777)).to_have_attribute("aria-selected", "true")
    expect(row(page, 777)).to_be_in_viewport()


def test_without_script_a_log_is_read_page_by_page(world, served, look, logs):
    page = look(f"{served(world)}/logs/{NAME}", java_script_enabled=False)
    expect(page.locator(f"#line-{LINES}")).to_contain_text(f"line {LINES} {EVIL}")
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".line")).to_have_count(500)
    expect(page.locator(f"#line-{LINES - 500}")).to_be_visible()


def test_the_log_of_a_unit_has_the_same_viewer(world, served, look):
    unit = a_unit(NAME, "2015051700")
    world.store.units.create([unit], "a test")
    world.store.logs.append(
        unit.id, [LogLine(NOW, 1, "INFO", f"line {n} ") for n in range(1, 2001)]
    )
    page = look(f"{served(world)}/units/{unit.id}/log")
    expect(row(page, 2000)).to_be_visible()
    page.get_by_role("listbox", name="Lines").evaluate("box => { box.scrollTop = 0 }")
    expect(row(page, 1)).to_be_visible()
    find(page, "line 1234")
    expect(rows(page)).to_have_count(1)
