"""The kit of page tests: parsed pages with their links and tables, and a deployment."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urldefrag

from synergy.model.box import ObservedProcess
from synergy.model.process import DaemonProcess, Deployment, FreerunProcess
from tests.deployments import site_and_client
from tests.mx.asking import Client
from tests.service.scheduler_harness import SchedulerHarness

HOSTILE = "<script>alert(1)</script>"
DAEMON = DaemonProcess(
    name="Listener", classname="tests.deployments.nothing", token="l", present_on_boxes=(".*",)
)
FREE = FreerunProcess(
    name="Report", classname="tests.deployments.nothing", token="r", present_on_boxes=(".*",)
)


class Page(HTMLParser):
    """A parsed page: its elements with their attributes, and its text without markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def all(self, tag: str, **having: str) -> list[dict[str, str | None]]:
        """The attributes of each element of a kind; `_` stands for `-` in a name."""
        wanted = {name.replace("_", "-"): value for name, value in having.items()}
        return [
            attributes
            for name, attributes in self.elements
            if name == tag and wanted.items() <= attributes.items()
        ]

    @property
    def links(self) -> set[str]:
        """The links of the page within MX, without fragments."""
        found = {urldefrag(a.get("href") or "").url for a in self.all("a")}
        return {link for link in found if link.startswith("/")}


def get(client: Client, path: str) -> Page:
    """A page, whose status must be 200."""
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
    return Page(answer.text)


def rows(text: str) -> list[list[str]]:
    """The texts of the cells of all tables, row by row."""
    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    found = re.findall(r"<tr>(.*?)</tr>", "".join(bodies), re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in found]
    return [list(map(plain, row)) for row in cells]


def plain(markup: str) -> str:
    """The text without markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def pager(text: str) -> dict[str, str]:
    """The addresses of the neighbouring pages by label."""
    pagers = re.findall(r'<nav class="pager".*?</nav>', text, re.DOTALL)
    found = re.findall(r'href="([^"]*)"[^>]*>([^<]*)<', "".join(pagers))
    return {label: unescape(href) for href, label in found}


def of_all_kinds() -> Deployment:
    """A deployment of two trees, a free-run process and a daemon."""
    deployment = site_and_client()
    more = {one.name: one for one in (FREE, DAEMON)}
    return replace(deployment, processes={**deployment.processes, **more})


def seen(
    world: SchedulerHarness, box: str, process: str, state: str, **fields: object
) -> ObservedProcess:
    """A process as the supervisor of a box reports it."""
    values = {"instance": 1, "pid": 4711, "since": world.clock.now(), **fields}
    return ObservedProcess(box=box, process=process, state=state, **values)
