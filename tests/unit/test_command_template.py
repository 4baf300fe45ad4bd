"""Templates of commands: what is a placeholder, and which values make an item an option."""

from __future__ import annotations

import pytest

from synergy.errors import InvalidValue
from synergy.model.command_template import Placeholder, check_values, parse_item


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", ("plain",)),
        ("", ()),
        ("${a}", (Placeholder("a"),)),
        ("x${a}y${b}", ("x", Placeholder("a"), "y", Placeholder("b"))),
        ("$$", ("$",)),
        ("$${a}", ("$", "{a}")),
        ("$$${a}", ("$", Placeholder("a"))),
        ("${}", (Placeholder(""),)),
    ],
)
def test_an_item_is_split_into_texts_and_placeholders(text, parts):
    assert parse_item(text).parts == parts


@pytest.mark.parametrize(
    ("text", "character"), [("$", 1), ("a$b", 2), ("$$$", 3), ("${a", 1), ("${a${b}", 1)]
)
def test_any_other_dollar_is_refused_with_its_position(text, character):
    with pytest.raises(InvalidValue, match=rf"^character {character}: \$ begins neither"):
        parse_item(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("${dash}", "dash"),
        ("${dash}.csv", "dash"),
        ("${empty}${dash}", "dash"),
        ("${empty}-x", "empty"),  # without the value it would be another item
        ("${empty}x", None),
        ("${word}${dash}", None),
        ("-${word}", None),  # the author of the command wants an option
        ("--name=${dash}", None),
        ("${unknown}${dash}", None),
    ],
)
def test_the_value_that_makes_an_item_an_option_is_named(text, name):
    values = {"dash": "-o/etc/passwd", "empty": "", "word": "x", "number": -1}
    assert parse_item(text).option_from(values) == name
    if name is not None:
        check_values([text], values, [name])
        with pytest.raises(InvalidValue, match="allow_option=True") as refused:
            check_values(["run", text], values, ["word"])
        assert "passwd" not in str(refused.value)


def test_a_value_that_no_command_can_get_is_refused_by_its_name():
    with pytest.raises(
        InvalidValue, match=r"^the value of \$\{day\} has a NUL character"
    ) as refused:
        check_values(["run", "--day=${day}"], {"day": "mon\0secret"}, ["day"])
    assert "secret" not in str(refused.value)
    check_values(["run", "${other}"], {"day": "\0", "other": "x"}, [])
