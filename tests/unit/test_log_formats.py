"""The formats of access logs, by lines as the documentation of their servers shows them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.errors import InvalidValue
from workers.access_log.formats import FORMATS, Recognition
from workers.access_log.lines import Ignored, LogEntry, Mismatch

COMMON = b'127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = COMMON + b' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
VHOST = b"www.example.com:443 " + COMBINED
MAIN = COMBINED + b' "203.0.113.195, 198.51.100.178"'
NGINX = (
    b'{"remote_addr":"127.0.0.1","remote_user":"frank","time_iso8601":"2000-10-10T13:55:36-07:00",'
    b'"request":"GET /apache_pb.gif HTTP/1.0","status":"200","body_bytes_sent":"2326",'
    b'"http_referer":"http://www.example.com/start.html",'
    b'"http_user_agent":"Mozilla/4.08 [en] (Win98; I ;Nav)"}'
)
CADDY = (
    b'{"level":"info","ts":971211336.5241024,"logger":"http.log.access","msg":"handled request",'
    b'"request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":'
    b'"HTTP/2.0","method":"GET","host":"localhost","uri":"/apache_pb.gif","headers":{"User-Agent":'
    b'["Mozilla/4.08 [en] (Win98; I ;Nav)"],"Accept":["*/*"]}},"bytes_read":0,"user_id":"",'
    b'"duration":0.000929675,"size":2326,"status":200,"resp_headers":{"Server":["Caddy"]}}'
)
IIS_FIELDS = (
    b"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip "
    b"cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken"
)
IIS_HEADER = (
    b"#Software: Microsoft Internet Information Services 10.0",
    b"#Version: 1.0",
    b"#Date: 2000-10-10 20:55:00",
    IIS_FIELDS,
)
IIS = (
    b"2000-10-10 20:55:36 192.0.2.1 GET /apache_pb.gif - 80 frank 127.0.0.1 "
    b"Mozilla/4.08+[en]+(Win98;+I+;Nav) http://www.example.com/start.html 200 0 0 15"
)
LINES = {
    "common": [COMMON],
    "combined": [COMBINED],
    "vhost_combined": [VHOST],
    "main": [MAIN],
    "nginx_json": [NGINX],
    "caddy_json": [CADDY],
    "w3c": [*IIS_HEADER, IIS],
}
AT = int(datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC).timestamp())


def parsed(name: str, *lines: bytes) -> LogEntry:
    """The entry of the last line; those before it are directives."""
    parser = FORMATS[name].parser()
    for line in lines[:-1]:
        with pytest.raises(Ignored):
            parser.parse(line)
    return parser.parse(lines[-1])


def recognised(*lines: bytes) -> str:
    recognition = Recognition()
    recognition.add(lines)
    found = recognition.result()
    assert found
    return found[0].name


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_request_gives_the_same_entry_in_every_format(name: str) -> None:
    agent = "" if name == "common" else "Mozilla/4.08 [en] (Win98; I ;Nav)"
    assert parsed(name, *LINES[name]) == LogEntry("127.0.0.1", agent, AT, True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_recognised_by_its_lines(name: str) -> None:
    assert recognised(b"", *LINES[name]) == name


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_takes_the_lines_of_another(name: str) -> None:
    for other in FORMATS:
        if {name, other} <= {"common", "combined"} or name == other:
            continue
        parser = FORMATS[other].parser()
        with pytest.raises(Mismatch):
            parser.parse(LINES[name][-1])


def test_a_log_has_the_format_that_most_of_its_first_lines_have() -> None:
    assert recognised(COMBINED, b"?", VHOST, VHOST, NGINX) == "vhost_combined"


def test_a_log_without_requests_has_the_format_of_its_header() -> None:
    assert recognised(*IIS_HEADER) == "w3c"


def test_a_log_of_blank_lines_has_no_format() -> None:
    recognition = Recognition()
    recognition.add([b"", b" "])
    assert recognition.result() is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([COMBINED.replace(b'" 200', b'" OK')], r"Combined Log Format, which line 1 .* column 78"),
        ([b"", VHOST[:90]], r"vhost_combined, which line 2 leaves at column 68: .* has no end"),
        ([COMBINED.replace(b"Oct", b"Okt")], "Combined Log Format, .* column 20: no such day"),
        ([NGINX[:60]], "JSON lines of nginx, which line 1 leaves at column 61: not JSON"),
        ([NGINX.replace(b'"status":"200"', b'"status":"OK"')], "of nginx, .* not a status: 'OK'"),
        ([CADDY.replace(b'"ts"', b'"t"')], "JSON lines of Caddy, .* expected the field 'ts'"),
        ([IIS], "W3C extended, which line 1 leaves at column 1: no line .* #Fields"),
        ([b"#Fields: date time cs-method", IIS], "W3C .*#Fields does not name c-ip, sc-status"),
        ([bytes(range(256))], "holds NUL bytes"),
    ],
)
def test_a_log_of_no_known_format_is_refused_with_the_nearest(
    lines: list[bytes], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        recognised(*lines)


@pytest.mark.parametrize(
    "prefix",
    [b"www.example.com:443 ", b"192.0.2.9:80 ", b"[2001:db8::1]:80 ", b"www.example.com "],
)
@pytest.mark.parametrize("host", [b"127.0.0.1", b"::1", b"2001:db8::1"])
def test_a_virtual_host_is_not_the_visitor(prefix: bytes, host: bytes) -> None:
    line = prefix + COMBINED.replace(b"127.0.0.1", host)
    assert parsed("vhost_combined", line).host == host.decode()
    assert recognised(line) == "vhost_combined"
    with pytest.raises(Mismatch):
        parsed("combined", line)


@pytest.mark.parametrize("host", [b"::1", b"2001:db8::1:80", b"[::1]:80", b"host:80"])
@pytest.mark.parametrize("user", [b"- -", b"- frank", b"- Frank N. Furter"])
def test_an_address_with_colons_is_no_virtual_host(host: bytes, user: bytes) -> None:
    line = COMBINED.replace(b"127.0.0.1 - frank", host + b" " + user)
    assert recognised(line) == "combined"
    assert parsed("combined", line).host == host.decode()


def test_the_visitor_is_the_client_that_nginx_and_caddy_name() -> None:
    assert parsed("main", MAIN).host == "127.0.0.1"
    behind_proxy = CADDY.replace(b'"client_ip":"127.0.0.1"', b'"client_ip":"203.0.113.195"')
    assert parsed("caddy_json", behind_proxy).host == "203.0.113.195"
    older = CADDY.replace(b'"client_ip":"127.0.0.1",', b"")
    assert parsed("caddy_json", older).host == "127.0.0.1"


@pytest.mark.parametrize(
    "time",
    [
        b'"time_local":"10/Oct/2000:13:55:36 -0700"',
        b'"msec":"971211336.123"',
        b'"msec":971211336.999',
        b'"time_iso8601":"2000-10-10T20:55:36+00:00"',
        b'"time_iso8601":"2000-10-10T20:55:35.999999Z"',
        b'"time_iso8601":"2000-10-10T20:54:60+00:00"',
    ],
)
def test_times_of_json_lines(time: bytes) -> None:
    line = NGINX.replace(b'"time_iso8601":"2000-10-10T13:55:36-07:00"', time)
    shift = {b"35.9": -1, b"4:60": -36}
    assert parsed("nginx_json", line).at - AT == next((shift[k] for k in shift if k in time), 0)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"-07:00", b"", "without its zone"),
        (b"2000-10", b"2000-13", "not a time"),
        (b'"127.0.0.1"', b'""', "expected the field 'remote_addr'"),
        (b'"127.0.0.1"', b'"a b"', "remote_addr: not a host"),
        (b'"127.0.0.1"', b"5", "remote_addr: not a host"),
        (b'"200"', b"20", "status: not a status"),
        (b'"200"', b"null", "expected the field 'status'"),
        (b'"request"', b'"asked"', "expected the field 'request'"),
    ],
)
def test_malformed_json_lines(old: bytes, new: bytes, reason: str) -> None:
    with pytest.raises(Mismatch, match=reason):
        parsed("nginx_json", NGINX.replace(old, new))


def test_a_bad_time_of_a_json_line_is_reported_with_the_field_that_holds_it() -> None:
    line = NGINX.replace(b'"time_iso8601":"2000-10-10T13:55:36-07:00"', b'"msec":-5')
    column = line.index(b'"msec"') + 1
    with pytest.raises(Mismatch, match=rf"column {column:,}: msec: outside 1970 to 9998: '-5'"):
        parsed("nginx_json", line)


@pytest.mark.parametrize("line", [b"[]", b"null", b'"GET"', b"{}", b"{" * 100_000, b"1"])
def test_other_json_is_refused(line: bytes) -> None:
    for name in ("nginx_json", "caddy_json"):
        with pytest.raises(Mismatch):
            parsed(name, line)


def test_bytes_of_a_client_that_are_no_utf8_are_read_in_json_lines() -> None:
    assert parsed("nginx_json", NGINX.replace(b"Nav", b"\xff\xfe")).agent.endswith(";\xff\xfe)")


def test_an_agent_may_be_missing() -> None:
    agent = b'"Mozilla/4.08 [en] (Win98; I ;Nav)"'
    assert parsed("nginx_json", NGINX.replace(agent, b'"-"')).agent == ""
    assert parsed("caddy_json", CADDY.replace(b'"User-Agent":[%s],' % agent, b"")).agent == ""
    assert (
        parsed("w3c", *IIS_HEADER, IIS.replace(b"Mozilla/4.08+[en]+(Win98;+I+;Nav)", b"-"))[1] == ""
    )


@pytest.mark.parametrize(
    ("method", "status", "is_pageview"),
    [("GET", 206, True), ("GET", 304, True), ("GET", 301, False), ("POST", 200, False)],
)
def test_page_views_of_json_lines_and_w3c(method: str, status: int, is_pageview: bool) -> None:
    old, new = (b"GET", method.encode()), (b"200", str(status).encode())
    for name in ("nginx_json", "caddy_json", "w3c"):
        *header, line = LINES[name]
        line = line.replace(*old).replace(b" 200 0", b" %s 0" % new[1])
        line = line.replace(b'"status":200', b'"status":' + new[1])
        line = line.replace(b'"status":"200"', b'"status":"%s"' % new[1])
        assert parsed(name, *header, line).is_pageview is is_pageview


def test_fields_of_w3c_may_change_within_a_file() -> None:
    shorter = b"#Fields: time c-ip cs-method sc-status"
    line = b"20:55:36 127.0.0.1 GET 200"
    entry = parsed("w3c", *IIS_HEADER, shorter, line)
    assert entry == LogEntry("127.0.0.1", "", AT, True)
    assert parsed("w3c", *IIS_HEADER, shorter, IIS_FIELDS, IIS) == parsed("w3c", *IIS_HEADER, IIS)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (IIS[:-3], "column .*: 14 fields, but #Fields names 15"),
        (IIS + b" 7", "16 fields"),
        (IIS.replace(b"127.0.0.1", b"-"), "column 61: c-ip is no host"),
        (IIS.replace(b" 200 ", b" 2 "), "sc-status is no status"),
        (IIS.replace(b"20:55", b"25:55"), "column 12: not a time"),
        (b"#Comment of somebody", "expected a directive"),
    ],
)
def test_malformed_w3c_lines(line: bytes, reason: str) -> None:
    with pytest.raises(Mismatch, match=reason):
        parsed("w3c", *IIS_HEADER, line)


def test_a_quoted_w3c_value_may_hold_spaces() -> None:
    line = IIS.replace(b"Mozilla/4.08+[en]+(Win98;+I+;Nav)", b'"Mozilla/4.08 [en] (Win98; I ;Nav)"')
    assert parsed("w3c", *IIS_HEADER, line) == parsed("w3c", *IIS_HEADER, IIS)
