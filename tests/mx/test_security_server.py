"""MX as a process: its address, slow clients, and its end."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from synergy.errors import Refused
from synergy.mx.access import Viewer
from synergy.mx.protection import connection, limits
from synergy.mx.server import MX
from tests.mx.server_kit import LIMIT, get, running
from tests.servers.certificates import Authority


def raw(port, text):
    """The response to raw bytes, until the end of its first line."""
    with socket.create_connection(("127.0.0.1", port), LIMIT) as line:
        line.sendall(text)
        return b"".join(iter(lambda: line.recv(65536), b""))


# Where it listens


def test_mx_responds_on_loopback(place):
    with running(place) as (_, port):
        status, body = get(port)
    assert status == 200
    assert json.loads(body)["info"]["title"] == "Synergy"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_without_users_mx_listens_on_loopback_only(place, host):
    with pytest.raises(Refused, match="which other machines can reach: set mx_users_file"):
        MX(replace(place, mx_address=(host or "0.0.0.0", 0)))


def test_a_host_name_is_judged_by_its_address(place, monkeypatch):
    outside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.9", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: outside)
    with pytest.raises(Refused, match=r"localhost is 203\.0\.113\.9, which other"):
        MX(replace(place, mx_address=("localhost", 0)))


def test_an_unresolvable_host_name_is_refused(place):
    with pytest.raises(Refused, match=r"cannot listen on no\.such\.invalid"):
        MX(replace(place, mx_address=("no.such.invalid", 0)))


def test_with_users_mx_listens_on_any_address(secured_place):
    with running(replace(secured_place, mx_address=("0.0.0.0", 0))) as (_, port):
        assert get(port, "/api/v1/trees")[0] == 401
        assert get(port)[0] == 200
        assert get(port, **{"X-Forwarded-For": "203.0.113.9"})[0] == 401


@pytest.mark.parametrize("text", [None, '{"users": [], "tokens": []}'])
def test_mx_does_not_start_without_a_user_who_can_log_in(place, tmp_path, text):
    file = tmp_path / "users.json"
    if text is not None:
        file.touch(0o600)
        file.write_text(text)
    with pytest.raises(Refused, match=r"no user could log in: .*launch\.py user add"):
        MX(replace(place, mx_users_file=file))


def test_a_second_mx_at_the_port_is_refused(place):
    with running(place) as (_, port):
        with pytest.raises(Refused, match=rf"port {port}: .* in use: set SYNERGY_MX_PORT"):
            MX(replace(place, mx_address=("127.0.0.1", port)))
        assert get(port)[0] == 200


# Silent and slow clients


def test_a_silent_connection_is_closed(place, monkeypatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    with running(place) as (_, port):
        assert raw(port, b"") == b""
        assert raw(port, b"GET / HTTP/1.1\r\nHost: loc") == b""
        first = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert raw(port, first + b"GET / HTT").startswith(b"HTTP/1.1 200")


def test_a_missing_body_is_not_waited_for(place, monkeypatch):
    monkeypatch.setattr(limits, "CHUNK_SECONDS", 0.1)
    head = (
        b"POST /api/v1/jobs/reprocess HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with running(place) as (_, port):
        assert raw(port, head).startswith(b"HTTP/1.1 408")


# The end


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), LIMIT).close()
    except ConnectionRefusedError:
        return False
    return True


def test_running_requests_are_finished_before_the_end(place):
    begun, may_end = threading.Event(), threading.Event()
    answers = []

    def slow(_: Viewer) -> str:
        begun.set()
        assert may_end.wait(LIMIT)
        return "done"

    with running(place) as (mx, port):
        mx._server.config.app.add_api_route("/api/v1/slow", slow)
        asking = threading.Thread(target=lambda: answers.append(get(port, "/api/v1/slow")))
        asking.start()
        assert begun.wait(LIMIT)
        place.stop.set()
        while is_open(port):
            asking.join(0.01)
        assert asking.is_alive()
        may_end.set()
        asking.join(LIMIT)
    assert answers == [(200, b'"done"')]


def test_streams_end_cleanly_at_once(place):
    with running(place) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        connection.request("GET", "/api/v1/stream", headers={"Accept": "text/event-stream"})
        answer = connection.getresponse()
        assert answer.status == 200
        place.stop.set()
        answer.read()  # raises IncompleteRead for a stream that was cut off
        connection.close()


def test_stopping_twice_does_no_harm(place):
    with running(place):
        pass
    place.stop.set()


# TLS


@pytest.fixture
def login_by_tls(secured_place, tmp_path):
    """The headers of the login page of an MX with TLS."""
    authority = Authority(tmp_path, "authority")
    files = authority.sign("mx")
    context = ssl.create_default_context(cafile=str(authority.cacertfile))
    with running(replace(secured_place, mx_tls=files)) as (_, port):
        line = http.client.HTTPSConnection("localhost", port, timeout=LIMIT, context=context)
        with closing(line):
            line.request("GET", "/login")
            answer = line.getresponse()
            answer.read()
    return answer.headers


def test_by_tls_cookies_are_for_tls_only(login_by_tls):
    assert login_by_tls["set-cookie"].startswith("__Host-synergy_login=")
    assert "Secure" in login_by_tls["set-cookie"]


def test_browsers_keep_to_tls_if_mx_has_it(login_by_tls):
    assert login_by_tls["strict-transport-security"] == "max-age=31536000"


def test_browsers_are_not_told_to_use_tls_that_mx_does_not_have(place):
    with running(place) as (_, port):
        answer = raw(port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"strict-transport" not in answer.lower()


def test_an_invalid_certificate_is_refused(place, tmp_path):
    file = tmp_path / "none.pem"
    file.write_text("no certificate")
    with pytest.raises(Refused, match="the certificate of MX cannot be used"):
        MX(replace(place, mx_tls=(file, file)))


# Strangers


def test_only_a_proxy_on_this_machine_vouches_for_tls(secured_place):
    claimed = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    token = {"Authorization": "Bearer synergy_x"}
    with running(secured_place) as (_, port):
        assert get(port, **claimed, **token)[0] == 401
        status, body = get(port, **{**claimed, "X-Forwarded-Proto": "http"}, **token)
        assert status == 403
        assert "sets X-Forwarded-Proto" in json.loads(body)["detail"]


def test_x_forwarded_for_is_trusted_from_this_machine_only(place):
    with running(place) as (_, port):
        for source, status in (("127.0.0.1", 401), ("127.0.0.2", 200)):
            line = http.client.HTTPConnection("127.0.0.1", port, 30, (source, 0))
            with closing(line):
                line.request("GET", "/livez", headers={"X-Forwarded-For": "203.0.113.9"})
                assert line.getresponse().status == status
