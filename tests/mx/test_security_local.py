"""Without users: access for the user that MX runs as, for root, and for holders of the token."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import struct
import urllib.request
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from synergy.errors import Refused
from synergy.mx.accounts.local_access import LocalAccess
from synergy.mx.protection import peers
from synergy.mx.protection.peers import Peer
from synergy.mx.services import Services
from synergy.names import local_token
from synergy.runtime.stop import Stop
from tests.another_user import as_nobody, needs_root
from tests.mx.asking import TOKEN, Client, local_app
from tests.mx.secured_mx import ELSEWHERE, HERE, base_of, log_in
from tests.mx.server_kit import get, running

BASE = "http://localhost:5000"
EVENT = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:59:00Z", "eventResourceId": "/d/x"}


@pytest.fixture
def stranger(world, tmp_path):
    """The browser of another user of this machine."""
    place = replace(world.workplace("", "mx"), deployment=world.deployment)
    app = local_app(Services.at(place), is_own=False, home=tmp_path)
    return Client(app, HERE, base_url=BASE, follow_redirects=False)


def with_token(client, token=TOKEN):
    return {"Authorization": f"Bearer {token}"}


def test_the_own_user_has_full_access(client):
    assert client.get("/account").status_code == 200
    assert client.post("/api/v1/events", json=EVENT).status_code == 202


def test_the_token_gives_full_access(stranger):
    headers = with_token(stranger)
    assert stranger.get("/api/v1/boxes", headers=headers).status_code == 200
    assert stranger.get("/metrics", headers=headers).status_code == 200
    assert stranger.post("/api/v1/events", json=EVENT, headers=headers).status_code == 202


@pytest.mark.parametrize("token", ["", "synergy_", f"{TOKEN}x", "é", TOKEN.upper()])
def test_another_token_gives_no_access(stranger, token):
    headers = {"Authorization": f"Bearer {token}".encode("latin-1")}
    assert stranger.get("/api/v1/boxes", headers=headers).status_code == 401


def test_another_machine_has_no_access_even_with_the_token(stranger):
    outside = Client(stranger.app, ELSEWHERE, base_url=base_of(ELSEWHERE), follow_redirects=False)
    assert outside.get("/api/v1/boxes", headers=with_token(outside)).status_code == 401
    assert _log_in(outside, TOKEN).status_code == 403


def _log_in(client, token):
    return log_in(client, "", token)


def test_the_token_opens_a_session_in_a_browser(stranger):
    assert "Token" in stranger.get("/login").text
    assert _log_in(stranger, TOKEN).headers["location"] == "/"
    page = stranger.get("/account")
    assert "MX has no users" in page.text
    assert 'name="current"' not in page.text  # there is no password to change
    csrf = re.search(r'name="csrf" content="([^"]+)"', page.text)[1]
    assert stranger.post("/api/v1/events", json=EVENT).status_code == 403  # it may be another site
    headers = {"X-CSRF-Token": csrf}
    assert stranger.post("/api/v1/events", json=EVENT, headers=headers).status_code == 202
    assert stranger.post("/logout", data={"csrf": csrf}).status_code == 303
    assert stranger.get("/account").status_code == 303


def test_a_wrong_token_opens_no_session(stranger):
    answer = _log_in(stranger, "synergy_guessed")
    assert answer.status_code == 401
    assert "The token is incorrect." in answer.text
    assert stranger.get("/account").status_code == 303


def test_the_token_is_private_and_survives_a_restart(world, tmp_path):
    first = LocalAccess.at(tmp_path, world.clock)
    path = local_token(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first.is_token(path.read_text().strip())
    assert len(path.read_text()) > 40
    assert LocalAccess.at(tmp_path, world.clock).is_token(path.read_text().strip())


def test_an_empty_token_file_gets_a_new_token(world, tmp_path):
    local_token(tmp_path).parent.mkdir()
    local_token(tmp_path).touch()
    assert not LocalAccess.at(tmp_path, world.clock).is_token("")


def test_a_token_behind_a_symbolic_link_is_refused(world, tmp_path):
    local_token(tmp_path).parent.mkdir()
    (tmp_path / "known").write_text("synergy_known")
    local_token(tmp_path).symlink_to(tmp_path / "known")
    with pytest.raises(Refused, match="symbolic link"):
        LocalAccess.at(tmp_path, world.clock)


# Peers


class Connected:
    """This end of a connection that is open."""

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes:
        return bytes([1])


LINE = Connected()
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when ... uid  timeout inode"
LONG, MAPPED = "0" * 24, "0" * 16 + "FFFF0000"
REST = "01 00000000:00000000 00:00000000 00000000"


@pytest.mark.parametrize(
    ("name", "client", "ends"),
    [
        ("tcp", "127.0.0.1", "0100007F:C350 0100007F:1388"),
        (
            "tcp6",
            "::1",
            "00000000000000000000000001000000:C350 00000000000000000000000001000000:1388",
        ),
        (
            "tcp6",
            "127.0.0.1",
            "0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1388",
        ),
    ],
)
def test_the_user_is_found_by_both_ends(tmp_path, monkeypatch, name, client, ends):
    there, back = ends.split(" ")
    rows = [
        HEAD,
        f"   0: {back} {there} {REST}     0        0 111 1 0",  # the end of MX
        f"   1: {there} {back} {REST}  1001        0 222 1 0",
    ]
    (tmp_path / name).write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(peers, "_TABLES", (tmp_path / "tcp", tmp_path / "tcp6"))
    assert Peer((client, 50000), (client, 5000), LINE).user == 1001
    assert Peer((client, 50001), (client, 5000), LINE).user is None
    assert Peer((client, 50000), (client, 5001), LINE).user is None


def test_a_closed_socket_is_nobodys_although_it_is_listed_as_roots(tmp_path, monkeypatch):
    row = f"   1: 0100007F:C350 0100007F:1388 {REST}     0        0 0 1 0"
    (tmp_path / "tcp").write_text(f"{HEAD}\n{row}\n")
    monkeypatch.setattr(peers, "_TABLES", (tmp_path / "tcp",))
    assert Peer(("127.0.0.1", 50000), ("127.0.0.1", 5000), LINE).user is None


def test_a_socket_that_is_not_connected_yet_is_not_the_other_end(tmp_path, monkeypatch):
    row = f"   1: 0100007F:C350 0100007F:1388 02{REST[2:]}     0        0 222 1 0"
    (tmp_path / "tcp").write_text(f"{HEAD}\n{row}\n")
    monkeypatch.setattr(peers, "_TABLES", (tmp_path / "tcp",))
    assert Peer(("127.0.0.1", 50000), ("127.0.0.1", 5000), LINE).user is None


def socket_with_a_port_of_its_own() -> socket.socket:
    """A socket whose port the kernel gives to no other process: it is below those for clients."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for port in range(20_000, 32_000):
        with suppress(OSError):
            made.bind(("127.0.0.1", port))
            return made
    raise AssertionError("no port is free")


def test_a_port_that_another_process_took_over_does_not_name_the_sender():
    """A user sends a request, resets the connection, and waits for another user to get its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        first = socket_with_a_port_of_its_own()
        first.connect(server.getsockname())
        ends = first.getsockname(), server.getsockname()
        with server.accept()[0] as reset:
            first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            first.close()
            with socket.socket() as second:
                second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                second.bind(ends[0])
                second.connect(ends[1])
                with server.accept()[0] as line:
                    assert Peer(*ends, line).user == os.geteuid()
                    assert Peer(*ends, reset).user is None


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_kernel_names_the_user_of_a_connection(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        with socket.create_connection(server.getsockname()[:2]) as client:
            line, _ = server.accept()
            peer = Peer(client.getsockname()[:2], server.getsockname()[:2], line)
            assert peer.user == os.geteuid()
        assert Peer((address, 1), server.getsockname()[:2], line).user is None
        line.close()


def as_stranger(port: int, path: str, token: str = "") -> str:
    """The status that another user of the machine gets."""

    def ask() -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    return as_nobody(ask)


def test_another_user_of_this_machine_reaches_nothing(world, tmp_path):
    needs_root()
    place = replace(world.workplace("", "mx"), deployment=world.deployment, home=tmp_path)
    with running(replace(place, mx_address=("127.0.0.1", 0), stop=Stop())) as (_, port):
        assert get(port, "/api/v1/boxes")[0] == 200
        for path in ("/api/v1/boxes", "/metrics", "/readyz", "/api/openapi.json"):
            assert as_stranger(port, path) == "401"
        token = Path(local_token(tmp_path)).read_text().strip()
        assert json.loads(as_stranger(port, "/api/v1/boxes", token)) == 200
