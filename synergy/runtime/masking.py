"""Masks passwords in URLs, so that they never appear in logs, pages or errors."""

from __future__ import annotations

import re

# The lengths are bounded so that no text, however odd, takes more than linear time.
_PASSWORD = re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://[^\s:/@]{0,256}):\S{0,1024}@", re.IGNORECASE)
_OPTION = re.compile(
    r"([?&](?:[a-z]{0,64}password|authmechanismproperties)=)[^\s&]+", re.IGNORECASE
)


def mask(text: str) -> str:
    """The text with `***` instead of each password in a URL or its options.

    A password may contain `/` or `@`, so everything up to the last `@` of the word is replaced:
    too much is better than part of a secret left.
    """
    if "://" not in text:
        return text  # nearly all texts
    return _OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))
