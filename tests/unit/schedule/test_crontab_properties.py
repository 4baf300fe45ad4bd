"""What holds for every text that is read as a crontab."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from synergy.schedule.cron.crontab import command_and_input, read_crontab

TIMES = st.sampled_from(
    ["* * * * *", "*/5 1-3 * jan 7", "@daily", "@reboot", "61 * * * *", "0 0 L * *"]
)
WORDS = st.text(alphabet="ab %\\=\"'#$~-@\t\r*5\x00", max_size=20)
LINES = st.one_of(WORDS, st.builds("{} {}".format, TIMES, WORDS), st.text(max_size=20))


@given(st.lists(LINES, max_size=10), st.booleans())
@example(["A=1", "0 1 * * * a"], False)
def test_every_line_is_taken_refused_assigned_or_a_comment(
    lines: list[str], has_users: bool
) -> None:
    text = "\n".join(line.replace("\n", " ") for line in lines)
    found = read_crontab(text, None if has_users else "ann")
    numbers = [line.number for line in found.lines] + [remark.line for remark in found.refused]
    assert len(set(numbers)) == len(numbers)
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.removesuffix("\r").strip(" \t")
        is_empty = not stripped or stripped.startswith("#")
        assert number in numbers or is_empty or "=" in stripped
        assert not (is_empty and number in numbers)


@given(st.text(alphabet="ab%\\", max_size=30))
def test_nothing_of_a_command_is_lost(text: str) -> None:
    command, given_input = command_and_input(text)
    rest = "" if given_input is None else given_input
    letters = [character for character in text if character in "ab"]
    assert [character for character in command + rest if character in "ab"] == letters
    assert given_input is None or not rest or rest.endswith("\n")
    assert given_input is not None or text.replace("\\%", "%") == command
