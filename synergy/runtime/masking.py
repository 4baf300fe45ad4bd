"""Secrets in URLs never appear in logs, pages or errors."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]*://[^\s:/@]*):\S*@", re.IGNORECASE)


def mask(text: str) -> str:
    """`text` with the password of each URL in it replaced by `***`.

    A password may itself hold `/` or `@`, so everything up to the last `@` of the word goes:
    rather too much than part of a secret.
    """
    return _PASSWORD.sub(r"\1:***@", text)
