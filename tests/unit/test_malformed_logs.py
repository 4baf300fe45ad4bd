"""Malformed lines and files among sound ones: nothing sound is lost, and each bad line is counted.

The seed determines which malformed lines stand where, and how a file is damaged.
"""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path

import pytest

from tests.log_site import LogSite
from tests.seeds import seeds
from workers.access_log.files import zstd
from workers.access_log.lines import MAX_LINE

AGENT = b"Mozilla/5.0 (X11; Linux x86_64; rv:38.0) Gecko/20100101 Firefox/38.0"
W3C_HEADER = b"#Fields: date time c-ip cs-method cs-uri-stem cs(User-Agent) sc-status"


def ncsa(n: int, prefix: bytes = b"", suffix: bytes = b"") -> bytes:
    time = b"17/May/2015:%02d:%02d:%02d +0000" % (10 + n // 3600, n // 60 % 60, n % 60)
    host = b"192.0.2.%d" % (n % 250)
    request = b'[%s] "GET /%d HTTP/1.1" 200 5 "-" "%s"' % (time, n, AGENT)
    return prefix + host + b" - - " + request + suffix


def iso(n: int) -> bytes:
    return b"2015-05-17T%02d:%02d:%02d" % (10 + n // 3600, n // 60 % 60, n % 60)


def nginx(n: int) -> bytes:
    return (
        b'{"remote_addr":"192.0.2.%d","time_iso8601":"%s+00:00","request":"GET /%d HTTP/1.1",'
        b'"status":200,"http_user_agent":"%s"}' % (n % 250, iso(n), n, AGENT)
    )


def caddy(n: int) -> bytes:
    return (
        b'{"ts":"%sZ","request":{"remote_ip":"192.0.2.%d","method":"GET","uri":"/%d","headers":'
        b'{"User-Agent":["%s"]}},"status":200}' % (iso(n), n % 250, n, AGENT)
    )


def w3c(n: int) -> bytes:
    time = iso(n).replace(b"T", b" ")
    return b"%s 192.0.2.%d GET /%d %s 200" % (time, n % 250, n, AGENT.replace(b" ", b"+"))


SOUND = {
    "combined": ncsa,
    "vhost_combined": lambda n: ncsa(n, prefix=b"www.example.com:443 "),
    "main": lambda n: ncsa(n, suffix=b' "203.0.113.7"'),
    "nginx_json": nginx,
    "caddy_json": caddy,
    "w3c": w3c,
}
ANYWHERE = [
    b"-",
    b"?" * 300,
    b"\0",
    b"\xff\xfe\xfd",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x1b[2J\x1b[H",
    b"x" * (MAX_LINE + 1),
    b"y" * (3 * MAX_LINE),
    b'"' * 1001,
    b"[" * 5000,
    b"{" * 5000,
    b"\\" * 5000,
    b"#!/bin/sh",
    b"Traceback (most recent call last):",
    b"[error] [client 192.0.2.7] File does not exist: /var/www/favicon.ico",
    b"2015/05/17 10:00:00 [error] 7#7: *1 open() failed, client: 192.0.2.7",
    b"<html><body>502 Bad Gateway</body></html>",
    "Zeile ohne Sinn: \N{SNOWMAN} \u202e".encode(),
    "UTF-16".encode("utf-16-le"),
    b"\r\r\r.",
]
REPLACED = [
    (b"192.0.2.", b"192.0.\t2."),
    (b"192.0.2.", b"x" * 300),
    (b"192.0.2.", b"\0"),
    (b"10:", b"24:"),
    (b"17", b"32"),
    (b"2015", b"1969"),
    (b"2015", b"99999"),
    (b"2015", b"0000"),
    (b"2015", "\N{ARABIC-INDIC DIGIT TWO}015".encode()),
    (b"200", b"2OO"),
    (b"200", b"20"),
    (b"200", b"2000"),
    (b"200", b"-200"),
    (b"200", b""),
]
PER_FORMAT = {
    "ncsa": [
        (b'"GET', b"GET"),
        (b'HTTP/1.1"', b"HTTP/1.1"),
        (b'" 200', b'"  200'),
        (b" 5 ", b" five "),
        (b" 5 ", b" -5 "),
        (b" 5 ", b" "),
        (b"[", b""),
        (b"]", b""),
        (b"+0000", b"+9900"),
        (b"+0000", b"UTC"),
        (b"May", b"Mai"),
        (b"May", b"05"),
        (b' "-"', b""),
    ],
    "json": [
        (b"{", b""),
        (b"}", b""),
        (b":", b"="),
        (b"status", b"code"),
        (b"status", b"Status"),
        (b"192.0.2.", b'","x":"'),
        (b'"192.0.2.', b'{},"x":"'),
        (b'"192.0.2.', b'["1"],"x":"'),
        (b"request", b"asked"),
        (b":200", b":true"),
        (b":200", b":[200]"),
        (b":200", b":2e2"),
        (b",", b",,"),
    ],
    "w3c": [
        (b" GET", b""),
        (b" GET", b" GET GET"),
        (b" 192.0.2.", b" - 192.0.2."),
        (b"-05-", b"/05/"),
        (b" 10:", b" 1O:"),
        (b"+", b" "),
    ],
}


def malformed(name: str) -> list[bytes]:
    """Lines that are malformed in a format, each for one reason."""
    kind = {"nginx_json": "json", "caddy_json": "json", "w3c": "w3c"}.get(name, "ncsa")
    sound = SOUND[name](7)
    foreign = [make(7) for other, make in SOUND.items() if other != name]
    changes = [*REPLACED, *PER_FORMAT[kind]]
    broken = [sound.replace(old, new, 1) for old, new in changes if old in sound]
    return [*ANYWHERE, *foreign, *broken, sound[: len(sound) // 2]]


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("seed", seeds(3))
def test_each_malformed_line_is_rejected_and_no_sound_one_is_lost(
    tmp_path: Path, name: str, seed: int
) -> None:
    dice, bad = random.Random(seed), malformed(name)
    assert len(bad) > 40
    lines = [(SOUND[name](n), True) for n in range(4 * len(bad))]
    for line in bad:
        lines.insert(dice.randrange(len(lines) + 1), (line, False))
    header = [W3C_HEADER] if name == "w3c" else []
    blank = [b"" for _ in range(dice.randrange(4))]
    end = dice.choice([b"\n", b"\r\n"])
    content = end.join([*header, *blank, *(line for line, _ in lines)]) + end * dice.randrange(2)
    path = tmp_path / "access.log"
    path.write_bytes(dice.choice([bytes, gzip.compress, bz2.compress, zstd.compress])(content))

    site = LogSite()
    report = site.ingest(path, keep=True)

    assert dict(report.formats) == {str(path): name}
    assert (report.accepted, report.rejected) == (4 * len(bad), len(bad))
    assert report.ignored == len(header) + len(blank)
    assert report.problems == ()
    assert sum(hour[1] for hour in site.figures().values()) == 4 * len(bad)
    assert path.with_name("access.log.rejected").read_bytes().count(b"\n") == len(bad)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_damaged_file_gives_its_lines_up_to_the_damage(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    name = dice.choice(list(SOUND))
    lines = ([W3C_HEADER] if name == "w3c" else []) + [SOUND[name](n) for n in range(5000)]
    content = bytearray(
        dice.choice([gzip.compress, bz2.compress, zstd.compress])(b"\n".join(lines) + b"\n")
    )
    place = dice.randrange(4, len(content))
    if dice.random() < 0.5:
        del content[place:]
    else:
        length = dice.randrange(1, 200)
        content[place : place + length] = dice.randbytes(length)
    path = tmp_path / "access.log"
    path.write_bytes(content)
    site = LogSite()
    report = site.ingest(path)

    assert len(report.problems) <= 1
    assert report.accepted == len(lines) - (name == "w3c") or report.problems
    stored = sum(hour[1] for hour in site.figures().values())
    assert stored == report.accepted <= len(lines)


@pytest.mark.parametrize("content", [*ANYWHERE, bytes(range(256)) * 9000, b"\n".join(ANYWHERE)])
def test_a_file_of_nothing_but_malformed_lines_is_left_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(content)
    site = LogSite()
    report = site.ingest(path)

    assert len(report.problems) == 1
    assert "no known format in its first lines" in report.problems[0]
    assert (report.lines, site.figures()) == (0, {})
