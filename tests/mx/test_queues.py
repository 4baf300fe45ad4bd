"""Queues by REST: waiting messages, quarantine and purging."""

from __future__ import annotations

import pytest

from synergy.runtime.masking import know

AT = "/api/v1/queues"


def put(world, queue, *bodies):
    world.store.messages.put(queue, bodies)


def bury(world, *bodies):
    for body in bodies:
        world.store.messages.bury("Sitehourly", body, "it is no JSON", world.clock.now())


def test_the_queue_of_each_process_is_listed_and_any_other_that_holds_messages(world, client):
    put(world, "Sitehourly", b"1", b"2")
    put(world, "of-old", b"3")
    queues = {one["name"]: one for one in client.get(AT).json()["items"]}
    assert len(queues) == 8
    assert queues["Sitehourly"] == {"name": "Sitehourly", "process": "Sitehourly", "waiting": 2}
    assert queues["of-old"] == {"name": "of-old", "process": None, "waiting": 1}


def test_dead_letters_are_paged_newest_first(world, client):
    bury(world, b"one", b"two", b"\xffthree")
    first = client.get(f"{AT}/dead?limit=2").json()
    assert [one["body"] for one in first["items"]] == ["\ufffdthree", "two"]
    assert first["items"][0] == {
        "seq": 3,
        "queue": "Sitehourly",
        "at": "2015-05-20T12:00:00Z",
        "reason": "it is no JSON",
        "body": "\ufffdthree",
        "size": 6,
    }
    second = client.get(f"{AT}/dead?limit=2&cursor={first['next']}").json()
    assert ([one["body"] for one in second["items"]], second["next"]) == (["one"], None)


def test_of_a_long_dead_letter_the_beginning_is_shown(world, client):
    bury(world, b"x" * 20_000)
    (dead,) = client.get(f"{AT}/dead").json()["items"]
    assert (len(dead["body"]), dead["size"]) == (10_000, 20_000)


@pytest.mark.parametrize("before", [0, 9_980, 9_990, 9_999])
def test_secrets_in_dead_letters_are_masked(world, client, before):
    know(["canary-canary"])
    body = b"x" * before + b" token=t0ken canary-canary"
    bury(world, body)
    (dead,) = client.get(f"{AT}/dead").json()["items"]
    assert "t0k" not in dead["body"]
    assert "can" not in dead["body"]
    assert world.store.messages.buried()[0].body == body


def test_dead_letters_are_sent_again(world, client):
    bury(world, b"one", b"two")
    dry = client.post(f"{AT}/dead/replay", json={"dry_run": True}).json()
    assert dry["touched"] == [{"queue": "Sitehourly", "messages": 2}]
    assert world.bus.depths() == {}
    some = client.post(f"{AT}/dead/replay", json={"seqs": [2], "reason": "it was mended"}).json()
    assert some["touched"] == [{"queue": "Sitehourly", "messages": 1}]
    assert world.bus.depths() == {"Sitehourly": 1}
    entry = world.store.journal.find(limit=1)[0]
    assert (entry.event, entry.why) == ("queue.replayed", "Sitehourly 1; it was mended")


def test_if_one_dead_letter_is_missing_none_is_sent(world, client):
    bury(world, b"one")
    assert client.post(f"{AT}/dead/replay", json={"seqs": [1, 9]}).status_code == 404
    assert client.post(f"{AT}/dead/replay", json={"seqs": []}).status_code == 422
    assert world.bus.depths() == {}


def test_a_queue_is_purged(world, client):
    put(world, "Sitehourly", b"1", b"2")
    dry = client.post(f"{AT}/Sitehourly/purge", json={"dry_run": True}).json()
    assert dry["touched"] == [{"queue": "Sitehourly", "messages": 2}]
    assert world.bus.depths() == {"Sitehourly": 2}
    client.post(f"{AT}/Sitehourly/purge", json={"reason": "they are foreign"})
    assert world.bus.depths() == {}
    entry = world.store.journal.find(limit=1)[0]
    assert (entry.event, entry.why) == ("queue.purged", "Sitehourly 2; they are foreign")
    assert client.post(f"{AT}/Sitehourly/purge", json={}).json()["touched"] == []
    assert client.post(f"{AT}/nobody/purge", json={}).status_code == 404


def test_the_quarantine_is_purged(world, client):
    bury(world, b"one", b"two")
    touched = client.post(f"{AT}/dead/purge", json={}).json()["touched"]
    assert touched == [{"queue": "quarantine", "messages": 2}]
    assert client.get(f"{AT}/dead").json()["items"] == []
