"""Hostile values: the table of `test_fuzz.py`."""

from __future__ import annotations

import json
from typing import Any

SEGMENTS = (
    "%2e%2e", "..%2f..%2fetc%2fpasswd", "a%2Fb", "%00", "a%00b", "%ff%fe", "%ed%a0%80",
    "%0d%0aX-Evil:1",
    "2015051700%0a", "%D9%A2" * 10, "0000000000", "2015023100", "9999999999", "-1", "NaN", "null",
    "1e400", "9" * 400, "a" * 4000, "%F0%9F%92%A9", "<script>alert(1)<%2Fscript>",
    "'%20OR%20'1'='1",
    "%7B%7B7*7%7D%7D", "%25s%25n", "*", "$where", "%20", ".", "%C2%A0", "constructor", "__class__",
)  # fmt: skip
"""In the place of a name, as it stands in an address."""

VALUES = (
    "", "null", "-1", "0", "9" * 30, "9" * 511, "1e5", "1.0", "NaN", "true", "%00", "%ff",
    "%ed%a0%80",
    "a" * 4000, "0000000000", "2015023100", "9999999999", "2015051700%0a", "%D9%A2" * 10, "%0d%0a",
    "[]", "{}", "a&b", "<b>", "'", "%5B%24ne%5D", "Sitehourly.0000000000", "Siteyearly.2015000000",
    "%F0%9F%92%A9", "*", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59%2B00:00", "2015-05-20",
)  # fmt: skip
"""In the place of a parameter of a query; also the cursors of other lists."""

DEEP = 100_000
JSON = "application/json"
BODIES: tuple[tuple[str, bytes], ...] = (
    (JSON, b""), (JSON, b"null"), (JSON, b"[]"), (JSON, b'"x"'), (JSON, b"1"), (JSON, b"{"),
    (JSON, b"{}garbage"), (JSON, b"\x00"), (JSON, b'{"reason": "\xff"}'),
    (JSON, b"[" * DEEP), (JSON, b'{"reason":' * DEEP), (JSON, b"[" * DEEP + b"]" * DEEP),
    (JSON, b'{"reason": ' + b"[" * 900 + b"]" * 900 + b"}"),
    (JSON, b'{"reason": NaN}'), (JSON, b'{"reason": -Infinity}'), (JSON, b'{"reason": 1e999}'),
    (JSON, b'{"reason": ' + b"9" * 5000 + b"}"), (JSON, b'{"reason": "\\ud800"}'),
    (JSON, b'{"\\ud800": 1}'), (JSON, b'{"__proto__": {}, "": 1}'),
    (JSON, b'{"dry_run": "true"}'), (JSON, b'{"dry_run": 1}'), (JSON, b'{"nobody": "knows it"}'),
    (JSON, b'{"reason": "' + b"x" * 1001 + b'"}'), (JSON, b'{"reason": "' + b"x" * 2**21 + b'"}'),
    (f"{JSON}; charset=latin-1", b'{"reason": "\xfc\xff"}'),
    ("text/plain", b"{}"), ("application/x-www-form-urlencoded", b"reason=x"),
    ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'),
    ("application/xml", b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
    ("application/json-patch+json", b"{}"), ("", b"{}"),
)  # fmt: skip
"""Type and bytes; each is refused by whatever takes a body."""

SPOILT: tuple[Any, ...] = (
    None, True, 3, 1.5, -1, 10**30, -(10**400), 1e308, "", " ", "x" * 20_000, "\ud800", "a\x00b",
    "\r\nX-Evil: 1", "<script>alert(1)</script>", "{{7*7}}", "${job_id}", "../../etc/passwd",
    "0000000000", "2015023100", "9999999999", [], [[]], [None], ["\ud800"], {}, {"": {}},
    {"$ne": 1}, {"a": ["\ud800"]}, "file:///etc/passwd", "https://127.0.0.1:1/", "every 0",
    "cron 99 99 * * *", "2015-05-20T24:61:00Z",
)  # fmt: skip
"""In the place of one field of a body that is sound otherwise."""

HEADERS: tuple[tuple[str, bytes], ...] = (
    ("Prefer", b"respond-async, " * 20), ("Prefer", b"x" * 201), ("Prefer", b"\xff"),
    ("If-None-Match", b"\xff\xfe,,,"), ("If-None-Match", b"x" * 2001), ("If-None-Match", b'W/"'),
    ("Idempotency-Key", b""), ("Idempotency-Key", b"a b"), ("Idempotency-Key", b"\xff"),
    ("Idempotency-Key", b"k" * 256), ("Accept", b"\xff/\xfe;q=9"), ("Accept", b"text/html" * 200),
    ("Accept-Encoding", b"gzip;q=nan, *;q=-1"), ("Cookie", b"synergy_session=\xff; ;=;"),
    ("Authorization", b"Basic \xff"), ("Authorization", b"Bearer " + b"x" * 9000),
    ("X-Forwarded-For", b"evil, ,"), ("X-Forwarded-Host", b"evil.example"),
    ("Content-Encoding", b"gzip"), ("Content-Length", b"-1"), ("Content-Length", b"9" * 5000),
    ("Transfer-Encoding", b"chunked, chunked"), ("Range", b"bytes=-1,0-0"), ("Origin", b"\xff"),
    ("HX-Request", b"true"), ("HX-Current-URL", b"http://[::1"), ("X-Long", b"x" * 20_000),
    ("Last-Event-ID", b"\xff"), ("Expect", b"200-maybe"), ("Content-Type", b"\xff;;charset=\xff"),
)  # fmt: skip


def written(value: Any) -> bytes:
    """JSON that may hold values that `json` refuses to write."""
    return json.dumps(value).encode()
