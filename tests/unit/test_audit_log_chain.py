"""The chain of the audit log: what a verification finds, and what it cannot find."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.audit_log import files
from synergy.audit_log.chain import Verified, healing, verify
from synergy.audit_log.entry import Act, decode, follow

NOW = datetime(2015, 5, 20, 12, 0, 0, 123456, tzinfo=UTC)
ACT = Act("anna", "session", "10.0.0.7", "process off", {"name": "Scheduler"})


def chain(number: int) -> list[bytes]:
    """The lines of so many acts."""
    lines, last = [], None
    for each in range(number):
        last = follow(last, NOW, replace(ACT, who=f"user {each}"), "done")
        lines.append(last.line)
    return lines


def verified(lines: list[bytes], kept_head: str = "") -> Verified:
    return verify(((f"file:{number}", line) for number, line in enumerate(lines, 1)), kept_head)


def rewritten(line: bytes, **changes: str) -> bytes:
    """A line with other facts and the hash that fits them, as a forger would write it."""
    return replace(decode(line), **changes).hashed().line


def test_an_entry_has_who_what_and_when() -> None:
    entry = decode(chain(1)[0])
    assert (entry.seq, entry.at, entry.who) == (1, "2015-05-20T12:00:00.123Z", "user 0")
    assert (entry.action, entry.object) == ("process off", {"name": "Scheduler"})


def test_the_hash_is_that_of_the_line_up_to_the_hash() -> None:
    """So that it can be verified without Synergy."""
    (line,) = chain(1)
    text, _, rest = line.partition(b',"hash":"')
    assert rest == b'%s"}\n' % sha256(text).hexdigest().encode()


def test_an_unchanged_chain_is_whole() -> None:
    found = verified(chain(5))
    assert (found.faults, found.remarks) == ([], [])
    assert (found.entries, found.first, found.head.seq) == (5, 1, 5)


@given(st.data())
def test_any_changed_byte_is_found(data: st.DataObject) -> None:
    lines = chain(4)
    which = data.draw(st.integers(0, 3))
    line = bytearray(lines[which])
    place = data.draw(st.integers(0, len(line) - 2))  # the line feed is that of a torn line
    line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    lines = b"".join([*lines[:which], bytes(line), *lines[which + 1 :]]).splitlines(keepends=True)
    assert verified(lines).faults


@given(st.integers(0, 4), st.sampled_from(["who", "via", "source", "action", "result", "at"]))
def test_an_entry_that_was_rewritten_with_its_hash_is_found(which: int, fact: str) -> None:
    """All but the last: see the test of truncation."""
    lines = chain(6)
    lines[which] = rewritten(lines[which], **{fact: "changed"})
    assert verified(lines).faults


@given(st.integers(1, 4))
def test_a_removed_entry_is_found(which: int) -> None:
    lines = chain(6)
    del lines[which]
    assert verified(lines).faults


@given(st.permutations(range(5)).filter(lambda order: order != [0, 1, 2, 3, 4]))
def test_moved_entries_are_found(order: list[int]) -> None:
    lines = chain(5)
    assert verified([lines[index] for index in order]).faults


@given(st.integers(0, 5), st.integers(0, 5))
def test_an_inserted_entry_is_found(copied: int, place: int) -> None:
    lines = chain(6)
    lines.insert(place, lines[copied])
    assert verified(lines).faults


def test_entries_removed_at_the_end_are_found_with_a_kept_head_only() -> None:
    lines = chain(6)
    head = decode(lines[5]).hash
    assert verified(lines[:4]).faults == []
    assert verified(lines[:4], head).faults
    assert verified(lines, head).faults == []
    assert verified([*lines, follow(decode(lines[5]), NOW, ACT, "done").line], head).faults == []


def test_a_log_that_was_written_anew_is_found_with_a_kept_head_only() -> None:
    head = decode(chain(6)[5]).hash
    forged, last = [], None
    for _ in range(6):
        last = follow(last, NOW, ACT, "done")
        forged.append(last.line)
    assert verified(forged).faults == []
    assert verified(forged, head).faults


def test_a_log_without_its_beginning_says_so() -> None:
    found = verified(chain(6)[2:])
    assert found.faults == []
    assert "begins with entry 3" in found.remarks[0]


def test_a_removed_torn_line_is_found() -> None:
    first = decode(chain(1)[0])
    healed = follow(first, NOW, healing(b'{"seq":2'), "done")
    assert verified([first.line, b'{"seq":2\n', healed.line]).faults == []
    assert verified([first.line, healed.line]).faults
    assert verified([first.line, b'{"seq":3\n', healed.line]).faults


def test_no_text_is_longer_than_a_tail_and_no_password_stands_in_it() -> None:
    flood = {f"{number}" * 300: "\U0001f4a3" * 300 for number in range(50)}
    act = Act(*["\U0001f4a3" * 300] * 4, {"to": "mongodb://me:secret@db/x", **flood})
    line = follow(None, NOW, act, "failed", "\U0001f4a3" * 300).line
    assert len(line) < files.TAIL / 2
    assert b"secret" not in line
    assert follow(None, NOW, replace(ACT, who="\ud800"), "done").who == "\\ud800"
    assert decode(line).object["to"] == "mongodb://me:***@db/x"


def forged(line: bytes, old: bytes, new: bytes) -> bytes:
    """A line with other bytes, and the hash that fits them."""
    text = line.rpartition(b',"hash":"')[0]
    assert old in text
    return sealed(text.replace(old, new))


def sealed(text: bytes) -> bytes:
    return b'%s,"hash":"%s"}\n' % (text, sha256(text).hexdigest().encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"seq":1', b'"seq":true'),
        (b'"seq":1', b'"seq":1.0'),
        (b'"seq":1', b'"seq":"1"'),
        (b'"of":null', b'"of":"x"'),
        (b'"who":"user 0"', b'"who":7'),
        (b'"who":"user 0"', b'"who":"admin","who":"user 0"'),
        (b'"who":"user 0"', b'"who":"\\u0075ser 0"'),
        (b'"object":{"name":"Scheduler"}', b'"object":["name"]'),
        (b'"object":{"name":"Scheduler"}', b'"object":{"name":{}}'),
        (b'"seq":1,', b'"seq":1, '),
        (b'"detail":"",', b""),
        (b'"of":null', b'"of":null,"more":1'),
        (b'"of":null', b'"of":' + b"[" * 50_000 + b"]" * 50_000),
    ],
)
def test_a_line_with_a_fitting_hash_that_is_no_entry_is_found(old: bytes, new: bytes) -> None:
    line = forged(chain(1)[0], old, new)
    assert verified([line]).faults
    assert verified([line, chain(2)[1]]).faults


@pytest.mark.parametrize("text", [b"[1", b"null", b'{"\xff":1', b'{"a":' + b"[" * 50_000])
def test_a_text_with_a_fitting_hash_that_is_no_entry_is_found(text: bytes) -> None:
    assert verified([sealed(text)]).faults


def test_only_one_line_at_the_end_can_be_torn() -> None:
    lines = chain(4)
    torn = lines[3][:-20]
    assert verified([*lines[:3], torn]).faults == []
    changed = lines[2].replace(b"user 2", b"user 3")
    assert verified([*lines[:2], changed, torn]).faults
