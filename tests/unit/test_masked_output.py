"""What a process prints is masked line by line."""

from __future__ import annotations

from io import StringIO

from synergy.runtime.masked_output import LONGEST, MaskedOutput
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
    output.flush()
    assert stream.getvalue() == "one\\x1b[2J\\u202e\n\ttwo\\r"


def test_an_unfinished_line_is_written_when_it_is_flushed() -> None:
    stream = StringIO()
    output = MaskedOutput(stream)
    output.write("one\ntwo")
    assert stream.getvalue() == "one\n"
    output.flush()
    assert stream.getvalue() == "one\ntwo"


def test_a_line_without_end_takes_bounded_memory() -> None:
    stream = StringIO()
    MaskedOutput(stream).write("x" * (LONGEST + 1))
    assert len(stream.getvalue()) == LONGEST + 1
