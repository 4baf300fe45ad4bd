"""`launch.py dev`: one log of everything, one at a time, and nothing is left behind."""

from __future__ import annotations

import json
import signal

from tests.acceptance.kit import end_of

FREE = "tests.acceptance.deployments.free"


def test_everything_runs_in_one_terminal_until_it_is_interrupted(homes):
    home = homes(context=FREE)
    dev = home.begin("dev", "--json")
    lines = map(json.loads, iter(dev.stdout.readline, ""))
    started = next(line for line in lines if line["event"] == "supervisor.started")
    assert started["process"] == "supervisor"
    assert next(line for line in lines if line["process"] == "Scheduler")

    second = home.launch("dev", code=4)
    assert f"a supervisor runs already (pid {dev.pid}): launch.py supervisor stop" in second.err
    assert home.marked()

    dev.send_signal(signal.SIGINT)
    done = end_of(dev, home.limit)
    assert done.code == 0
    last = json.loads(done.out.splitlines()[-1])
    assert last["event"] == "supervisor.stopped"
    assert home.marked() == {}
