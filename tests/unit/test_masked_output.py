"""What a process prints is masked line by line."""

from __future__ import annotations

from io import StringIO

import pytest

from synergy.runtime.masked_output import KEPT_BACK, LONGEST, MaskedOutput
from synergy.runtime.masking import know


def test_lines_are_masked_whatever_their_pieces() -> None:
    know(["canary-canary"])
    stream = StringIO()
    print("token=", "t0ken ", "canary-", "canary", sep="", file=MaskedOutput(stream))
    assert stream.getvalue() == "token=*** ***\n"


def test_lines_have_no_invisible_characters() -> None:
    stream = StringIO()
    output = MaskedOutput(stream)
    output.write("one\x1b[2J\u202e\n\ttwo\r")
    output.finish()
    assert stream.getvalue() == "one\\x1b[2J\\u202e\n\ttwo\\r"


def test_an_unfinished_line_is_written_at_the_end_of_the_process() -> None:
    stream = StringIO()
    output = MaskedOutput(stream)
    output.write("one\ntwo")
    output.flush()
    assert stream.getvalue() == "one\n"
    output.finish()
    assert stream.getvalue() == "one\ntwo"


def test_a_secret_is_masked_if_it_is_flushed_in_pieces() -> None:
    know(["canary-canary"])
    stream = StringIO()
    output = MaskedOutput(stream)
    print("canary-", end="", flush=True, file=output)
    print("canary", flush=True, file=output)
    assert stream.getvalue() == "***\n"


@pytest.mark.parametrize("before", range(LONGEST - 14, LONGEST + 2))
def test_a_secret_is_masked_where_a_long_line_is_cut(before: int) -> None:
    know(["canary-canary"])
    stream = StringIO()
    output = MaskedOutput(stream)
    for char in ("x" * before, *"canary-canary", "\n"):
        output.write(char)
    assert stream.getvalue() == "x" * before + "***\n"


def test_a_line_without_end_takes_bounded_memory() -> None:
    stream = StringIO()
    output = MaskedOutput(stream)
    for _ in range(10):
        output.write("x" * LONGEST)
    assert len(stream.getvalue()) > 9 * LONGEST - KEPT_BACK
