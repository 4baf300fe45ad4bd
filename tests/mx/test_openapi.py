"""The API conforms to OpenAPI: schemathesis sends valid and invalid requests to all operations.

By hand, with more: `st --config-file tests/mx/schemathesis.toml run URL -n 200 --seed N`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from synergy.mx import app as mx_app
from synergy.mx.protection.rates import Rate
from synergy.queries.schedules import event_effects
from tests.mx.conftest import client_of
from tests.mx.populated import a_populated_deployment, a_token, place_of, populate, served

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "tests" / "mx" / "schemathesis.toml"
RUNNER = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
SEED = "20261121"
LIMIT = 600  # seconds; a longer run counts as hanging


@pytest.fixture
def world(worlds, tmp_path, monkeypatch):
    """MX over data of every kind, without an agent, so that events do not wait for one."""
    monkeypatch.setattr(event_effects, "WAIT_SECONDS", 0.01)
    return populate(worlds(a_populated_deployment()), tmp_path)


def ask_all(port, *options):
    """Runs schemathesis; fails with its report if it finds a defect."""
    command = [sys.executable, "-c", RUNNER, "--config-file", str(CONFIG), "run"]
    url = f"http://127.0.0.1:{port}/api/openapi.json"
    done = subprocess.run(
        [*command, url, "--no-color", "--seed", SEED, *options],
        capture_output=True, text=True, timeout=LIMIT, cwd=ROOT,
        env={**_few_variables(), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    failures = re.sub(r"(?s).*?= FAILURES =+|= WARNINGS =.*?= SUMMARY =", "", done.stdout)
    assert done.returncode == 0, failures[:20_000] + done.stderr
    found = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", done.stdout)
    assert found, done.stdout
    selected, there_are, tested = map(int, found.groups())
    assert selected == tested == there_are - 1  # the event stream never ends by itself
    assert there_are > 60


def _few_variables():
    """The necessary environment variables: each request searches all of them for proxies."""
    kept = ("CI", "HOME", "PATH", "TMPDIR")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or name.startswith("PYTHON")
    }


def test_responses_conform_to_openapi_with_a_login(world, tmp_path, monkeypatch):
    for name in ("OF_ORIGIN", "OF_USER"):  # the clock stands still, so a burst would be all
        monkeypatch.setattr(mx_app, name, Rate(per_second=1.0, burst=1_000_000))
    users = tmp_path / "users.json"
    token = a_token(world, users)
    with served(place_of(world, tmp_path, users)) as port:
        ask_all(port, "-H", f"Authorization: Bearer {token}", "--phases", "examples,coverage")


def test_any_sequence_of_requests_conforms_to_openapi(world, tmp_path):
    with served(place_of(world, tmp_path)) as port:
        # without users, requests from this machine need no login; the check would report that
        options = ("--exclude-checks", "ignored_auth", "-n", "3", "--no-shrink")
        ask_all(port, "--phases", "fuzzing,stateful", *options)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("queues/dead/replay", '{"seqs": [1.0, 2]}', 200),
        ("queues/dead/replay", '{"seqs": [1.5]}', 422),
        ("queues/dead/replay", '{"seqs": [0.0]}', 422),
        ("queues/dead/replay", '{"seqs": [9007199254740993]}', 422),
        ("queues/dead/replay", '{"seqs": ["1"]}', 422),
        ("events", '{"partitions": 2.0}', 202),
        ("events", '{"partitions": 2.5}', 422),
        ("events", '{"partitions": 0.0}', 422),
    ],
)
def test_a_float_without_fraction_is_an_integer(world, path, body, status):
    told = '"eventType": "PARTITION", "eventTimestamp": "2015-05-20T11:00:00Z", '
    if path == "events":
        body = body.replace("{", "{" + told + '"eventResourceId": "db.t", ')
    answer = client_of(world).post(
        f"/api/v1/{path}", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("word", ["replay", "dead"])
def test_actions_on_runs_are_no_ids_of_runs(world, word):
    client = client_of(world)
    allowed = {"replay": "POST, OPTIONS", "dead": "GET, HEAD, OPTIONS"}[word]
    for method in ("PUT", "DELETE", "POST" if word == "dead" else "GET"):
        answer = client.request(method, f"/api/v1/runs/{word}")
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert client.get(f"/api/v1/runs/{word}s").status_code == 404


@pytest.mark.parametrize(
    "wrong", ["2015133100", "2015010124", "1969010100", "9999010100", "20150101"]
)
def test_openapi_describes_timeperiods_exactly(world, wrong):
    client = client_of(world)
    paths = client.get("/api/openapi.json").json()["paths"]
    (described,) = (
        one["schema"]["pattern"]
        for one in paths["/api/v1/jobs/{process}/{timeperiod}"]["get"]["parameters"]
        if one["name"] == "timeperiod"
    )
    for right in ("2015000000", "2015120000", "2015123100", "2015123123", "1970010100"):
        assert re.search(described, right), right
    assert not re.search(described, wrong)
    assert client.get(f"/api/v1/jobs/Sitehourly/{wrong}").status_code == 422
