"""Links, anchors, paths and names of modules in the documentation refer to existing things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "bench", "deploy", "docs", "examples", "settings", "synergy", "tests", "workers")
PAGES = [
    *sorted(PROJECT.glob("*.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "examples").glob("*/README.md")),
]
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w.*-][\w./*-]*\.(?:py|md|sql|toml|js|html|css|in|txt|yaml|json|conf)")
PATH = re.compile(rf"(?<![\w/.<$-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*[\w*]")
MODULE = re.compile(r"synergy(?:\.\w+)+")

ELSEWHERE = re.compile(  # files that readers write, or Synergy in its home, and those of examples
    r"(.*/)?(backup\.yaml|events\.jsonl|sessions\.json|requirements-local\.txt|notify\.yaml"
    r"|NNN_what\.sql|postgresql\b.*)"
)
NO_MODULES = re.compile(
    r"synergy\.(db|work|bells|PROCESS|storage\.postgresql)\b"  # a file, exchanges, an example
)


@cache
def text(page: Path) -> str:
    return page.read_text()


@cache
def prose(page: Path) -> str:
    return FENCE.sub("", text(page))


@cache
def files() -> frozenset[str]:
    """All files and folders of the project, as paths below it."""
    found = [path for path in PROJECT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += [PROJECT / folder, *(PROJECT / folder).rglob("*")]
    return frozenset(str(path.relative_to(PROJECT)) for path in found)


def exists(path: str) -> bool:
    """Whether a path, or the end of one such as `columns.py`, is in the project."""
    path = path.removeprefix("./").rstrip("/")
    if "*" in path:
        return any(fnmatch(file, f"*{path}") for file in files())
    return path in files() or any(file.endswith(f"/{path}") for file in files())


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a page."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        words = re.sub(r"\]\([^)]*\)|[^\w\s-]", "", heading.lower()).strip().replace(" ", "-")
        found.append(f"{words}-{found.count(words)}" if words in found else words)
    return frozenset(found)


def resolves(name: str) -> bool:
    """Whether a dotted name is a module or a member of one."""
    head, *rest = name.split(".")
    thing = import_module(head)
    for part in rest:
        if not hasattr(thing, part):
            try:
                import_module(f"{thing.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        thing = getattr(thing, part)
    return True


def named_files(page: Path) -> Iterator[str]:
    """Paths from the project anywhere on a page, and names of files in its inline code."""
    yield from PATH.findall(text(page))
    yield from (code for code in CODE.findall(prose(page)) if FILE.fullmatch(code))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", prose(page))):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_file_that_a_page_names_exists(page: Path) -> None:
    named = [path for path in named_files(page) if not ELSEWHERE.fullmatch(path)]
    assert [path for path in named if not exists(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_module_that_a_page_names_exists(page: Path) -> None:
    names = [
        code
        for code in CODE.findall(prose(page))
        if MODULE.fullmatch(code) and not NO_MODULES.match(code)
    ]
    assert [name for name in names if not resolves(name)] == []


def test_each_page_that_the_code_names_exists() -> None:
    for folder in FOLDERS:
        for file in (PROJECT / folder).rglob("*"):
            if file.suffix in {".py", ".js", ".html", ".sql", ".yaml", ".service"}:
                for page in re.findall(r"(?<![\w/])docs/[\w/-]+\.md", file.read_text()):
                    assert (PROJECT / page).is_file(), (file.name, page)
