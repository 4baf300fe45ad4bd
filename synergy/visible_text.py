r"""Text of outsiders, shown so that it cannot deceive: invisible characters appear as escapes.

Control characters move the cursor of a terminal and change colours; other characters have no width,
end a line, or change the reading direction, so that a text is read as another one. Pages, terminals
and logs show them as `\x1b` or `\u202e`. The text itself is stored, and sent by the REST API,
unchanged, except in logs as text.
"""

from __future__ import annotations

import json
import re

_UNSEEN = re.compile(  # control, format, surrogate; line and paragraph separators; blank letters
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff"
    "\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The text with invisible characters as escapes, except line feeds and tabs."""
    return _UNSEEN.sub(lambda char: char[0].encode("unicode_escape").decode(), text)


def visible_line(text: str) -> str:
    """The same on one line: each run of line feeds and tabs becomes one space."""
    return visible(re.sub(r"[\n\t]+", " ", text))


def visible_json(encoded: str) -> str:
    """JSON with invisible characters as escapes of JSON: a reader gets the same text."""
    return _UNSEEN.sub(lambda char: json.dumps(char[0])[1:-1], encoded)
