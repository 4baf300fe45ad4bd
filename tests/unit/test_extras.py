"""Optional packages: what is said where one is missing."""

from __future__ import annotations

import sys

import pytest

from synergy import extras
from synergy.engines import bus_engine, store_engine
from synergy.errors import InvalidValue

STORE, BUS = "mongodb://host/synergy", "amqp://host/synergy"


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.require("mongodb", "pymongo")
    monkeypatch.setitem(sys.modules, "pymongo", None)
    with pytest.raises(InvalidValue, match=r"^pymongo is not .* to requirements-local.txt$"):
        extras.require("mongodb", "pymongo")
    monkeypatch.setattr(extras, "PROGRAM", "synergy")
    with pytest.raises(
        InvalidValue, match=r"^pymongo is not .*: pip install 'synergy-timetable\[mongodb\]'$"
    ):
        extras.require("mongodb", "pymongo")


def test_a_url_needs_the_driver_of_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_engine(STORE).complete(STORE, lambda _: pytest.fail("no file")) == STORE
    bus_engine(BUS).check(BUS)
    monkeypatch.setitem(sys.modules, "pymongo", None)
    monkeypatch.setitem(sys.modules, "pika", None)
    with pytest.raises(InvalidValue, match="pymongo is not installed"):
        store_engine(STORE).complete(STORE, lambda _: pytest.fail("no file"))
    with pytest.raises(InvalidValue, match="pika is not installed"):
        bus_engine(BUS).check(BUS)
