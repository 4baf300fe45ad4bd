"""Secrets of schedules and in texts: hidden, masked, and sent to their host only."""

from __future__ import annotations

import pytest

from synergy.mx import problems
from synergy.queries.schedules.redaction import HIDDEN, kept
from synergy.runtime.masking import mask
from synergy.schedule.format.field_reader import FieldReader, Location

# Secrets


def hook(target, **headers):
    return {"target": target, "headers": headers}


PRESENT = hook("https://receiver.example/a", Authorization="Bearer geheim", Accept="text/plain")


@pytest.mark.parametrize(
    "target",
    [
        "https://attacker.example/a",
        "http://receiver.example/a",
        "https://receiver.example:8443/a",
        "https://receiver.example.attacker.example/a",
        "https://receiver.example@attacker.example/a",
        "https://attacker.example?https://receiver.example/a",
    ],
)
def test_a_hidden_secret_is_not_sent_to_another_host(target):
    sent = hook(target, Authorization=HIDDEN, Accept="text/plain")
    assert kept(sent, PRESENT) == sent


@pytest.mark.parametrize("target", ["https://receiver.example/a", "HTTPS://Receiver.example/b?c"])
def test_a_hidden_secret_stays_with_its_host(target):
    sent = hook(target, Authorization=HIDDEN)
    assert kept(sent, PRESENT) == hook(target, Authorization="Bearer geheim")


def test_a_signing_secret_stays_with_its_host():
    present = {"target": "https://receiver.example/a", "signing_secret": "geheim"}
    same = {"target": "https://receiver.example/b", "signing_secret": HIDDEN}
    other = {"target": "https://attacker.example/a", "signing_secret": HIDDEN}
    assert kept(same, present) == same | {"signing_secret": "geheim"}
    assert kept(other, present) == other


# Much that is wrong


def test_only_the_first_unknown_fields_are_named():
    found: list[str] = []
    part = FieldReader(
        Location(found.append), {"name": "x", **{f"nam{number}": 1 for number in range(100_000)}}
    )
    assert part.text("name") == "x"
    part.done()
    assert len(found) == 21
    assert found[0] == "unknown field nam0: did you mean name?"
    assert found[-1] == "99,980 more unknown fields"


LOOKED_THROUGH = problems.SEARCHED


@pytest.mark.parametrize("before", [0, 900, LOOKED_THROUGH - 30, LOOKED_THROUGH, 10**6])
def test_a_long_text_is_cut_and_masked(before, monkeypatch):
    lengths = []
    monkeypatch.setattr(problems, "mask", lambda text: lengths.append(len(text)) or mask(text))
    text = "x" * before + " amqp://u:geheim" + "s" * 1000 + "@host " + "a://:" * 200_000
    told = problems._shown(text)
    assert "geheim" not in told
    assert len(told) <= problems.LONGEST + 4
    assert told.endswith(" ...")
    assert max(lengths) <= LOOKED_THROUGH


def test_masking_much_does_not_unmask_the_rest():
    urls = " amqp://u:" + "s" * 900 + "@h"
    told = problems._shown(urls * 4 + " amqp://u:geheim" + "s" * 900 + "@h")
    assert "geheim" not in told
