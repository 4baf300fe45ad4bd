"""A value of its own in every secret of a default home: none is found where it does not belong.

Programs print their environment and fail, receivers repeat what they are sent, and brokers cannot
be reached. Then logs, store, pages, responses, output of commands and arguments are searched.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from synergy.cli import exits
from synergy.model.schedule import RunState
from synergy.names import local_token
from tests.acceptance.deployments.talkative import UNKNOWN
from tests.acceptance.kit import LIMIT, Home, end_of
from tests.delivery.receivers import Receiver, receiving

CLOUD = {
    "AWS_SECRET_ACCESS_KEY": "canary-aws-secret/key+1",
    "AWS_SESSION_TOKEN": "canary-aws-session",
    "AWS_ACCESS_KEY_ID": "AKIACANARYCANARY0001",
}
KEPT_BACK = {UNKNOWN: "canary-of-another-program"}
SIGNING = ("whsec_Y2FuYXJ5LXNpZ25pbmc=", "canary-old-signing")
OIDC = "canary-of-the-provider"
HEADERS = {
    "Authorization": "Bearer canary-bearer",
    "X-Api-Key": "canary-header-key",
    "Cookie": "session=canary-cookie",
}
OPTION = "canary-option"
PATH_SECRET = "CanaryOfSlackPath"
PROGRAMS = ("Trusted", "Untrusted", "Talker")
HOOKS = ("echo", "basic", "slack", "gone")
OWN_TABLES = {"schedule_version", "run"}  # which hold the requests of schedules

PAGES = 300  # the most that are followed


def canaries(home: Home) -> dict[str, str]:
    """All secrets, by a name for messages."""
    return {
        **CLOUD,
        **KEPT_BACK,
        **{f"signing {n}": secret for n, secret in enumerate(SIGNING)},
        **{name: value.rpartition(" ")[2].rpartition("=")[2] for name, value in HEADERS.items()},
        "client of the provider": OIDC,
        "option": OPTION,
        "path": PATH_SECRET,
        "password": "canary-basic",
        "token of the home": local_token(home.path).read_text().strip(),
    }


def found_in(home: Home, text: str) -> set[str]:
    """The names of the secrets that a text holds."""
    return {name for name, secret in canaries(home).items() if secret in text}


@dataclass(frozen=True)
class Talked:
    """The home after all runs have failed, with a client of its MX."""

    home: Home
    http: httpx.Client
    runs: dict[str, str]  # ids by schedule


def _repeats(wire, receiver: Receiver) -> None:
    call = receiver.calls[-1]
    said = f"{call.line}\r\n" + "\r\n".join(f"{k}: {v}" for k, v in call.headers.items())
    body = f"{said}\n{call.body.decode()}".encode()
    wire.sendall(b"HTTP/1.1 401 no\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@pytest.fixture(scope="module")
def talked(module_homes, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, receiving(_repeats) as receiver:
        for name, value in {**CLOUD, **KEPT_BACK}.items():
            patch.setenv(name, value)
        home = module_homes(
            context="tests.acceptance.deployments.talkative",
            webhook_secrets=",".join(SIGNING),
            mx_oidc_client_secret=OIDC,
            webhook_networks="127.0.0.0/8",
        )
        home.start()
        file = tmp_path_factory.mktemp("jobs") / "jobs.json"
        file.write_text(json.dumps(_jobs(receiver.port)))
        home.ask("schedule", "add", file)
        runs = home.until(_ended)
        with httpx.Client(
            base_url=f"http://127.0.0.1:{home.variables['mx_port']}",
            timeout=LIMIT,
            trust_env=False,
            follow_redirects=True,
        ) as http:
            yield Talked(home, http, runs)


def _jobs(port: int) -> list[dict[str, object]]:
    due = {"when": "2026-01-01T00:00:00Z"}
    here = f"http://127.0.0.1:{port}"
    targets = {
        "echo": f"{here}/hook?token={OPTION}",
        "basic": f"{here}/hook",
        "slack": f"{here}/services/T01234567/B01234567/{PATH_SECRET}",
        "gone": f"http://127.0.0.1:1/hook?token={OPTION}",
    }
    programs = [{"name": name.lower(), "process": name, **due} for name in PROGRAMS]
    hooks = [
        {"name": name, "target": target, "headers": HEADERS, "budget": "1s", "payload": "x", **due}
        for name, target in targets.items()
    ]
    hooks[1]["headers"] = {"Authorization": "Basic canary-basic"}
    return [*programs, *hooks]


def _ended(store) -> dict[str, str] | None:
    names = (*(name.lower() for name in PROGRAMS), *HOOKS)
    found = {name: store.runs.find(schedule=name)[0] for name in names}
    if not all(len(runs) == 1 and runs[0].state.is_finished for runs in found.values()):
        return None
    assert {run.state for runs in found.values() for run in runs} == {RunState.FAILED}
    return {name: run.id for name, (run,) in found.items()}


def test_the_canaries_were_sung(talked):
    """The programs ran with the secrets, and the receivers had them: what follows can fail."""
    trusted = talked.home.run("unit", "log", talked.runs["trusted"]).out
    assert "AWS_SECRET_ACCESS_KEY=***" in trusted
    assert (
        "AWS_SECRET_ACCESS_KEY" not in talked.home.run("unit", "log", talked.runs["untrusted"]).out
    )
    assert "***" in (talked.home.path / "logs" / "Pool.out").read_text()
    echoed = talked.home.run("schedule", "run", talked.runs["echo"]).out
    assert "401" in echoed


def test_no_file_of_the_home_holds_a_secret(talked):
    own = {local_token(talked.home.path)}
    files = [path for path in talked.home.path.rglob("*") if path.is_file() and path not in own]
    held = {
        str(path.relative_to(talked.home.path)): found
        for path in files
        if not path.name.startswith("synergy.db")
        and (found := found_in(talked.home, path.read_text(errors="replace")))
    }
    assert {"Pool.log", "Pool.out", "Agent.log", "MX.log"} <= {path.name for path in files}
    assert held == {}


def test_the_store_holds_secrets_of_schedules_only_with_their_requests(talked):
    tables = talked.home.dump()
    held = {name: found_in(talked.home, repr(rows)) for name, rows in tables.items()}
    assert {name for name, found in held.items() if found} == OWN_TABLES
    with talked.home.store() as store:
        runs = store.runs.get(list(talked.runs.values()))
    beside = [replace(run, request={}) for run in runs]
    assert len(beside) == len(PROGRAMS) + len(HOOKS)
    assert found_in(talked.home, repr(beside)) == set()


def test_no_page_shows_a_secret(talked):
    seen, shown = set(), 0
    left = ["/", "/schedules", "/processes", "/journal", "/logs", "/queues", "/audit"]
    left += [f"/runs/{id_}" for id_ in talked.runs.values()]
    left += [f"/units/{talked.runs[name.lower()]}/log" for name in PROGRAMS]
    while left and len(seen) < PAGES:
        place = left.pop(0)
        if place in seen:
            continue
        seen.add(place)
        answer = talked.http.get(place)
        shown += answer.status_code == 200
        text = answer.text
        assert found_in(talked.home, text) == set(), place
        left += re.findall(r'(?:href|src|data-url)="(/[^"#]*)"', text)
    assert shown > 30


def test_no_response_holds_a_secret(talked):
    document = talked.http.get("/api/openapi.json").json()
    places = [path for path, each in document["paths"].items() if "get" in each]
    asked = 0
    for place in places:
        if place.endswith("/stream"):
            continue
        for name in (*PROGRAMS, "echo", "slack", "gone", "basic"):
            run = talked.runs[name.lower()]
            filled = re.sub(r"\{(\w+)\}", lambda m, n=name, r=run: r if m[1] == "id" else n, place)
            answer = talked.http.get(filled)
            asked += answer.status_code == 200
            assert found_in(talked.home, answer.text) == set(), filled
            if "{" not in place:
                break
    assert asked > 20


@pytest.mark.parametrize(
    "argv",
    [
        "status",
        "check",
        "schedule list",
        "schedule show echo",
        "schedule show slack",
        "schedule runs echo",
        "process list",
        "process show Trusted",
        "store status",
        "supervisor status",
        "box list",
        "queue list",
        "audit-log list",
    ],
)
def test_no_output_of_a_command_shows_a_secret(talked, argv):
    for more in ((), ("--json",)):
        done = talked.home.run(*argv.split(), *more, code=None)
        assert done.code != exits.USAGE, done.err
        assert found_in(talked.home, done.out + done.err) == set()


def test_no_output_about_a_run_shows_a_secret(talked):
    for name, id_ in talked.runs.items():
        done = talked.home.run("schedule", "run", id_)
        if name in HOOKS:
            assert "failed" in done.out
        else:
            done = talked.home.run("unit", "log", id_)
            assert "***" in done.out or name == "untrusted"
        assert found_in(talked.home, done.out) == set(), name


def test_no_argument_of_a_process_is_a_secret(talked):
    pids = talked.home.marked()
    assert len(pids) > 5
    lines = "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids)
    assert found_in(talked.home, lines) == set()


@pytest.mark.parametrize("place", ["store", "bus"])
def test_a_server_that_cannot_be_reached_does_not_reveal_its_password(homes, place, tmp_path):
    urls = {
        "store": "mongodb://me:canary%2Fpass@127.0.0.1:1/db?serverSelectionTimeoutMS=200",
        "bus": "amqp://me:canary%2Fpass@127.0.0.1:1/v",
    }
    (tmp_path / "url").write_text(urls[place])
    home = homes(**{f"{place}_file": str(tmp_path / "url")})
    said = ""
    for argv in (("supervisor", "start"), ("status",), ("store", "status"), ("queue", "list")):
        done = end_of(home.begin(*argv))
        assert "Traceback" not in done.err
        said += done.out + done.err
    said += "".join(
        path.read_text(errors="replace") for path in home.path.rglob("*") if path.is_file()
    )
    assert "canary" not in said
    assert "127.0.0.1" in said
