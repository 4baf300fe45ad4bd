"""Files that people write: which YAML and JSON is read, and which is refused."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from synergy.cli import input_files as cli_written
from synergy.cli.input_files import read_documents, read_lines
from synergy.errors import InvalidValue, NotFound


@pytest.fixture
def written(tmp_path: Path):
    """Returns a function that writes a file and returns its path."""

    def write(text: str | bytes) -> str:
        path = tmp_path / "file"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return write


def test_yaml_words_that_resemble_other_types_stay_text(written):
    text = """
    at: 12:30
    early: 08:30
    word: on
    other: no
    day: 2026-11-21
    instant: 2026-11-21T12:00:00Z
    hex: 0x1f
    octal: 010
    cron: 0 12 * * *   # noon
    """
    assert read_documents(written(text)) == [
        {
            "at": "12:30", "early": "08:30", "word": "on", "other": "no", "day": "2026-11-21",
            "instant": "2026-11-21T12:00:00Z", "hex": "0x1f", "octal": "010", "cron": "0 12 * * *",
        }
    ]  # fmt: skip


def test_yaml_values_have_the_types_of_json(written):
    text = "a: 1\nb: -2.5\nc: true\nd: null\ne: ~\nf:\ng: 1e3\nh: [x, {y: z}]\ni: 'true'\n"
    (found,) = read_documents(written(text))
    assert found == {
        "a": 1, "b": -2.5, "c": True, "d": None, "e": None, "f": None, "g": 1000.0,
        "h": ["x", {"y": "z"}], "i": "true",
    }  # fmt: skip
    assert isinstance(found["a"], int)
    assert found["c"] is True


def test_a_yaml_block_keeps_its_lines(written):
    text = 'payload: |\n  {"day": "${todaysDate}",\n   "n": 1}\n'
    assert read_documents(written(text)) == [{"payload": '{"day": "${todaysDate}",\n "n": 1}\n'}]


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a\n---\nname: b\n---\n",
        "- name: a\n- name: b\n",
        "- name: a\n---\n- name: b\n",
        '[{"name": "a"}, {"name": "b"}]',
        '\n  [{"name": "a"}, {"name": "b"}]\n',
        "\ufeff- name: a\n- name: b\n",
    ],
)
def test_several_documents_or_a_list_are_several_objects(written, text):
    assert read_documents(written(text)) == [{"name": "a"}, {"name": "b"}]


def test_yaml_anchors_are_resolved(written):
    text = "base: &base {zone: UTC, tries: 1}\none:\n  <<: *base\n  tries: 2\n"
    assert read_documents(written(text)) == [
        {"base": {"zone": "UTC", "tries": 1}, "one": {"zone": "UTC", "tries": 2}}
    ]


def test_a_dash_reads_standard_input(monkeypatch):
    class Typed:
        buffer = io.BytesIO(b"name: a\n")

    monkeypatch.setattr(sys, "stdin", Typed)
    assert read_documents("-") == [{"name": "a"}]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing in it"),
        ("---\n---\n", "nothing in it"),
        ("# a comment\n", "nothing in it"),
        ("just a text\n", "number 1 is not an object"),
        ("- name: a\n- 5\n", "number 2 is not an object"),
        ("name: a\nname: b\n", "'name' comes twice"),
        ('{"name": "a", "name": "b"}', "'name' comes twice"),
        ('{"load": NaN}', "NaN"),
        ('{"load": Infinity}', "Infinity"),
        ("load: 1e999\n", "too large"),
        ('{"name": "a"} {"name": "b"}', "Extra data"),
        ("name: [a\n", "line 2, column 1"),
        ("name: a: b\n", "line 1, column 8"),
        ("1: x\n", "key 1 is not a text"),
        ("? [a]\n: b\n", "unhashable key"),
        ("a: !!python/object/apply:os.system [echo]\n", "constructor"),
        ("a: !!timestamp 2026-11-21\n", "neither text, number"),
        ("a: !!binary aGk=\n", "neither text, number"),
        ("a: &a [*a]\n", "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("a: " + "[" * 5_000, "nested too deeply"),
        ("a: " + "9" * 5_000, "digits"),
        ("a: *nothing\n", "undefined alias"),
        ("a: !!bool maybe\n", "does not fit its tag"),
        ("a: !!timestamp abc\n", "does not fit its tag"),
        ("a: !!int ''\n", "does not fit its tag"),
        ("a: !!set [x]\n", "does not fit its tag"),
        ("a: b\ncron: * * * * *\n", "line 2, column 7: what begins with * has to stand in quotes"),
        ("cron: */5 * * * *\n", "line 1, column 7: what begins with * has to stand in quotes"),
        ("a: \x00\n", "not allowed"),
        (b"a: \xff\n", "not UTF-8: byte 3"),
    ],
)
def test_files_of_another_format_are_refused_with_the_reason(written, text, reason):
    with pytest.raises(InvalidValue) as caught:
        read_documents(written(text))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_that_aliases_repeat_count_each_time(written, monkeypatch):
    assert cli_written.MOST_VALUES == 5_000_000
    monkeypatch.setattr(cli_written, "MOST_VALUES", 1_000)
    with pytest.raises(InvalidValue, match="more than 1,000 values"):
        read_documents(written(BOMB))
    assert len(read_documents(written("- &a {k: [x, x]}\n" + "- *a\n" * 248))) == 249


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        read_documents(str(tmp_path / "missing"))


def test_each_line_is_one_object(written):
    assert read_lines(written('{"a": 1}\n\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n\n", "nothing in it"),
        ('{"a": 1}\n[1]\n', "line 2: expected a JSON object"),
        ('{"a": 1}\n\n{"a"\n', "line 3: "),
        ('{"a": 1, "a": 2}\n', "line 1: key 'a' comes twice"),
        ("[" * 100_000, "line 1: "),
    ],
)
def test_the_first_invalid_line_is_named(written, text, reason):
    with pytest.raises(InvalidValue) as caught:
        read_lines(written(text))
    assert reason in str(caught.value)
