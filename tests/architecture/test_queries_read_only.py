"""`synergy.queries` cannot write: it sees stores and buses as views without writing methods.

mypy refuses calls of methods that a view lacks; these tests check that it gets only views.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.messaging.protocol import BusView
from synergy.storage import protocol
from synergy.storage.protocol import Store, StoreView

SYNERGY = Path(__file__).resolve().parents[2] / "synergy"
READERS = [*(SYNERGY / "queries").rglob("*.py"), SYNERGY / "runtime" / "shared_parts.py"]
VIEWS = {
    "synergy.storage.protocol": {
        "StoreView", *(name for name in protocol.__all__ if name.startswith("Readable")),
        "Bounds", "DeadMessage", "LogLine", "QuarantineContents", "StoreStatus",
    },
    "synergy.messaging.protocol": {BusView.__name__},
    "synergy.runtime.workplace": set(),
}  # fmt: skip
NEVER_VIEWED = {"answers", "transfer"}  # nouns that queries do not need
WRITING = {  # every method of a noun that changes something
    "accept", "append", "assign", "begin", "bury", "change", "claim", "conclude", "create", "drop",
    "extend", "give_back", "heartbeat", "move", "prune", "published", "purge", "purge_buried",
    "put", "release", "remove", "renew", "renew_all", "replay", "report", "set", "set_default",
    "set_on", "set_trigger", "switch", "take", "update",
}  # fmt: skip


def ways_to_write(path: Path) -> Iterator[str]:
    """Yields imports of a module beyond views, and comments or casts that silence mypy."""
    text = path.read_text()
    yield from ("a silenced type check" for line in text.splitlines() if "type: ignore" in line)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module, names = node.module or "", {each.name for each in node.names}
            if module.startswith(("synergy.storage.protocol.", "synergy.messaging.protocol.")):
                yield f"{module}, which is imported past its package"
            more = names - VIEWS.get(module, names)
            yield from (f"{name} of {module}" for name in sorted(more))
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("synergy."))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "typing.cast"):
            yield "a cast"


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(SYNERGY)))
def test_queries_get_views_only(path: Path) -> None:
    assert list(ways_to_write(path)) == []


def test_an_import_of_more_than_a_view_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "from synergy.storage.protocol import Batch, Store, StoreView\n"
        "from synergy.storage.protocol.work import Units\n"
        "from synergy.messaging.protocol import Bus\n"
        "from synergy.runtime.workplace import Workplace\n"
        "import synergy.storage.protocol\n"
        "from typing import cast\n"
        "seen = cast(object, 1)  # type: ignore\n"
    )
    assert len(list(ways_to_write(module))) == 8


def nouns(store: type) -> dict[str, type]:
    """Returns the protocols of a store's nouns by name."""
    properties = {name: each for name, each in vars(store).items() if isinstance(each, property)}
    return {
        name: typing.get_type_hints(each.fget)["return"]
        for name, each in properties.items()
        if each.fget is not None
    }


def methods(noun: type) -> set[str]:
    return {
        name
        for each in noun.__mro__
        for name, value in vars(each).items()
        if callable(value) and not name.startswith("_") and each.__module__.startswith("synergy.")
    }


def test_the_view_has_every_noun_without_its_writing_methods() -> None:
    views, full = nouns(StoreView), nouns(Store)
    assert set(full) - set(views) == NEVER_VIEWED
    for name, view in views.items():
        assert view in full[name].__mro__
        assert methods(view) == methods(full[name]) - WRITING, name


def test_the_view_of_a_store_or_a_bus_as_a_whole_writes_nothing() -> None:
    assert methods(StoreView) == {"status", "warnings"}
    assert methods(BusView) == {"depths", "dead"}
