"""The store by REST: its engine and size, but not its address."""

from __future__ import annotations

from synergy.storage.protocol import StoreStatus
from tests.factories import an_entry

AT = "/api/v1/store"


def test_the_store_shows_its_engine_and_rows(world, client):
    world.store.journal.append([an_entry(), an_entry()])
    seen = client.get(AT).json()
    assert seen["engine"] == "sqlite"
    assert seen["rows"]["journal"] == 2
    assert seen["warnings"] == []


def test_the_store_shows_no_location_and_no_password(world, client, monkeypatch):
    status = StoreStatus(
        "mongodb", "mongodb://db.example.com/synergy", "8.0", 2, 7, {"units": 1},
        ["mongodb://ann:secret@db.example.com/synergy is a standalone server"],
    )  # fmt: skip
    monkeypatch.setattr(type(world.store), "status", lambda _: status)
    answer = client.get(AT)
    assert "secret" not in answer.text
    assert "location" not in answer.json()
    assert answer.json()["warnings"] == [
        "mongodb://ann:***@db.example.com/synergy is a standalone server"
    ]
