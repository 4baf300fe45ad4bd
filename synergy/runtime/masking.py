"""Masks secrets in texts, so that they never appear in logs, pages, answers or errors.

A secret is recognized by its value, if it is one of the deployment's own (`know`), or by the shape
of the text around it: a password in a URL, `token=…`, `Authorization: …`. Whatever is written for
people passes `mask` once, where it is stored or sent. Masking a masked text changes nothing.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
SHORTEST = 6  # characters of a value that is masked wherever it occurs: shorter ones are in words


@dataclass(frozen=True, slots=True)
class _Shape:
    """A pattern and what replaces it; a text without any of the hints cannot match.

    Hints are in lower case. The lengths in patterns are bounded so that no text, however odd,
    takes more than linear time.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    shown: str = rf"\1{HIDDEN}"


# `name=`, `"name": `; the value may be quoted, also in JSON that is itself in a string.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|(?<=[_-])pwd|secrets?|token|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|credentials?|authmechanismproperties)"
)
_VALUE = (
    r"(?:(\\[\"'])(?:[^\"'\\\n]|\\[^\"'])*|(\")(?:[^\"\\\n]|\\.)*|(')(?:[^'\\\n]|\\.)*|[^\s\"'&]+)"
)
_LOGIN = r"(?:basic|bearer|digest|negotiate|token|apikey|key|aws4-hmac-sha256)"

OPTION = re.compile(
    r"([?&](?:[^=&#?\s]{0,64}(?:auth|token|secret|passw|sig|credential)[^=&#?\s]{0,64}"
    r"|(?!routing_)(?:[^=&#?\s]{0,64}[-_])?(?:api|access)?[-_]?key|code)=)[^&#\s]+",
    re.IGNORECASE,
)
"""A secret among the options of a URL, with `?` or `&` before its name."""

_SHAPES = (
    # A password may contain `/` or `@`, so everything up to the last `@` of the word is replaced:
    # too much is better than part of a secret left.
    _Shape(
        ("://",),
        re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://[^\s:/]{0,256}):\S{0,1024}@", re.IGNORECASE),
        rf"\1:{HIDDEN}@",
    ),
    _Shape(
        ("http",), re.compile(r"\b(https?://)[^\s:/@?#\"']{1,256}@", re.IGNORECASE), rf"\1{HIDDEN}@"
    ),
    _Shape(("=",), OPTION),
    _Shape(
        ("=", "'", '"'),
        re.compile(
            rf"({_NAME}(?:\\?[\"'])?\s{{0,3}}=>?\s{{0,3}}|{_NAME}\\?[\"']\s{{0,3}}:\s{{0,3}})"
            rf"{_VALUE}",
            re.IGNORECASE,
        ),
        rf"\1\2\3\4{HIDDEN}",
    ),
    _Shape(
        ("authorization",),
        re.compile(
            r"(authorization(?:\\?[\"'])?\s{0,3}[:=,]\s{0,3}(?:\\?[\"'])?)"
            rf"(?:({_LOGIN}\s{{1,3}})[^\"'\\\r\n]{{6,}}|[^\s\"'\\]{{16,}})",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    _Shape(
        ("x-", "cookie"),
        re.compile(
            r"\b((?:x-[a-z-]{0,40}(?:key|token|secret|signature)|(?:set-)?cookie)\s{0,3}:\s{0,3})"
            r"[^\"'\r\n]+",
            re.IGNORECASE,
        ),
    ),
    _Shape(("bearer",), re.compile(r"\b(bearer\s{1,3})[\w.~+/=-]{6,}", re.IGNORECASE)),
    _Shape(
        ("akia", "asia", "synergy_", "whsec_"),
        re.compile(r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}\b|synergy_[\w-]{32,}|whsec_[\w+/=-]{6,})"),
        HIDDEN,
    ),
    # The path of these addresses is the secret.
    _Shape(
        ("hooks.", "/services/t", "/webhook", "/bot"),
        re.compile(
            r"(hooks\.slack\.com/(?:services|workflows|triggers)/|/services/T\w{5,40}/B\w{5,40}/"
            r"|discord(?:app)?\.com/api/webhooks/|webhook\.office\.com/webhookb2/"
            r"|api\.telegram\.org/bot)[^\s\"'<>?#]+",
            re.IGNORECASE,
        ),
    ),
)

_ESCAPE = re.compile("%[0-9A-F]{2}")
_IN_HTML = re.compile("[<>&]")

_known: list[str] = []  # like the handlers of logging, those of the whole process


def know(secrets: Iterable[str]) -> None:
    """Makes `mask` replace these values, in place of those of earlier calls, in this process.

    They are replaced as they are, percent-encoded and decoded, as JSON, HTML and Python write them,
    and in base64, also within a longer value. Forms shorter than `SHORTEST` are left out.
    """
    _known.clear()
    also_know(secrets)


def also_know(secrets: Iterable[str]) -> None:
    """Makes `mask` replace these values besides those that it knows."""
    forms = {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST}
    _known[:] = sorted(forms.union(_known), key=len, reverse=True)


def _forms(secret: str) -> Iterator[str]:
    plain = unquote(secret)
    yield from (secret, plain)
    for quoted in (quote(plain, safe=""), quote(plain), quote_plus(plain)):
        yield from (quoted, _ESCAPE.sub(lambda escape: escape[0].lower(), quoted))
    for written in (json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1]):
        yield from (written, written.replace("/", r"\/"))  # PHP
        yield _IN_HTML.sub(lambda char: f"\\u{ord(char[0]):04x}", written)  # Go
    yield json.dumps(json.dumps(plain)[1:-1])[1:-1]  # JSON within JSON
    yield from (html.escape(plain), html.escape(plain, quote=False))
    yield from (repr(plain)[1:-1], repr(plain.encode(errors="replace"))[2:-1])
    for before in range(3):
        yield from _in_base64(plain.encode(errors="replace"), before)


def _in_base64(secret: bytes, before: int) -> tuple[str, str]:
    """The characters that the secret alone decides, after so many bytes of a group of three."""
    text = b64encode(bytes(before) + secret)[(0, 2, 3)[before] : 4 * ((before + len(secret)) // 3)]
    return text.decode(), text.translate(bytes.maketrans(b"+/", b"-_")).decode()


def mask(text: str) -> str:
    """The text with `***` instead of each secret in it."""
    if len(text) < SHORTEST:
        return text
    for secret in _known:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    lowered = text.lower()
    for shape in _SHAPES:
        for hint in shape.hints:
            if hint in lowered:
                text = shape.pattern.sub(shape.shown, text)
                break
    return text
