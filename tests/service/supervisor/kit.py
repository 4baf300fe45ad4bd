"""What the tests of the supervisor share: programs to run, a way to drive it.

Run as a program (`python -m tests.service.supervisor.kit VERB HOME`) it is a supervisor in a
process of its own, for the deployment in `HOME/deployment.json`.
"""

from __future__ import annotations

import json
import select
import sys
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from synergy.clock import SteppedClock, SystemClock
from synergy.errors import StorageUnavailable
from synergy.model.process import DaemonProcess, Deployment
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Boxes
from synergy.storage.sqlite.engine import SqliteStore
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.daemon import run_foreground, start_detached
from synergy.supervisor.host import ProcessHost, fork_server_marker
from synergy.supervisor.plan import Timing
from synergy.supervisor.supervisor import Supervisor

BOX = "dev-test"

READY = "import os, signal; os.write(int(os.environ['SYNERGY_READY_FD']), b'1')\n"
SLEEPS = READY + "signal.pause()"
FAILS = "raise SystemExit(3)"
IGNORES_TERM = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(int(os.environ['SYNERGY_READY_FD']), b'1')
    signal.pause()
signal.pause()
"""
LEAVES_A_CHILD = """
import os, signal
if os.fork() == 0:
    os.setsid()
    os.write(int(os.environ['SYNERGY_READY_FD']), b'1')
    signal.pause()
signal.pause()
"""
# its child clears its environment and leaves the session: only its parent identifies it
HIDES_A_CHILD = """
import os, signal, sys
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.set_inheritable(w, True)
    code = f"import os, signal; os.write({w}, b'1'); signal.pause()"
    os.execve(sys.executable, [sys.executable, '-ISc', code], {})
os.read(r, 1)
os.write(int(os.environ['SYNERGY_READY_FD']), b'1')
signal.pause()
"""

# forks the programs above; what it prepares is the text of the file `prepared`, if there is one
FORK_SERVER = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from synergy.supervisor.fork_server import serve
command, prepared = serve(Path("prepared").read_text)
exec(command[-1])
"""
# a detached supervisor that forks its fork server from itself
SUPERVISES = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from dataclasses import replace
from pathlib import Path
from synergy.supervisor.daemon import supervise_detached
from synergy.supervisor.fork_client import ForkServer
from tests.service.supervisor.kit import FORK_SERVER, configured
home, marker, writer = sys.argv[1:]
server = ForkServer.forked([sys.executable, "-c", FORK_SERVER], marker)
if server is None:
    exec(FORK_SERVER)
else:
    supervise_detached(lambda: replace(configured(Path(home)), server=server), int(writer))
"""


class FragileBoxes:
    """Boxes of a store that are unavailable while `is_down`."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self.is_down = False

    def __getattr__(self, name):
        if self.is_down:
            raise StorageUnavailable("the test took it down")
        return getattr(self._boxes, name)


class FragileStore:
    """The parts of a store that the supervisor uses."""

    def __init__(self, home: Path) -> None:
        self._store = SqliteStore.open(home / "synergy.db")
        self.boxes = FragileBoxes(self._store.boxes)
        self.controls = self._store.controls
        self.leases = self._store.leases
        self.facts = self._store.facts
        self.batch = self._store.batch

    def close(self):
        self._store.close()


class QuietWaiter:
    def __init__(self):
        self._event = threading.Event()

    def wait(self, timeout):
        woken = self._event.wait(timeout)
        self._event.clear()
        return woken

    def interrupt(self):
        self._event.set()

    def close(self):
        pass


class QuietBus:
    """A bus whose only listener is woken by `notify`."""

    def __init__(self):
        self._waiter = QuietWaiter()

    def listener(self, topic):
        return self._waiter

    def notify(self, topic):
        self._waiter.interrupt()

    def close(self):
        pass


def a_deployment(programs, instances=1):
    return Deployment(
        {
            name: DaemonProcess(
                name=name,
                classname=None,
                token=name,
                present_on_boxes=("dev.*",),
                instances=instances,
            )
            for name in programs
        },
        {},
    )


def a_config(home, programs, clock=None, instances=1, timing=None, connect=None, box=BOX):
    return SupervisorConfig(
        box=box,
        home=home,
        directory=home,
        deployment=a_deployment(programs, instances),
        command=lambda process, instance: [sys.executable, "-ISc", programs[process]],
        connect=connect or (lambda: (FragileStore(home), QuietBus())),
        open_logs=lambda: None,
        read_again=lambda: a_deployment(programs, instances),
        clock=clock or SystemClock(),
        timing=timing or Timing(grace=5.0, ready_after=1e9),
    )


class Driver:
    """A supervisor in the test's own process, driven turn by turn."""

    def __init__(self, config, store=None):
        self.store = store or FragileStore(config.home)
        self.stop = Stop()
        self.config = config
        self.host = ProcessHost(config.home, config.home)
        self.supervisor = Supervisor(config, self.store, QuietBus(), self.stop)

    def turn(self):
        self.supervisor.refresh()
        self.supervisor.turn()

    def until(self, condition, limit=15.0):
        """Turns until the condition holds; fails after `limit` real seconds."""
        clock = SystemClock()
        deadline = clock.monotonic() + limit
        self.turn()
        while not condition():
            assert clock.monotonic() < deadline, self.supervisor.view()
            self.supervisor.wait(at_most=0.1)
            self.turn()

    def until_state(self, state, process="A"):
        self.until(lambda: self.states(process) == {state})

    def states(self, process="A"):
        return {o.state for o in self.supervisor.view() if o.process == process}

    def pids(self):
        return sorted(o.pid for o in self.supervisor.view() if o.pid is not None)

    def marked(self):
        """The pids of everything that runs with a marker of this home."""
        return sorted(entry.pid for entry in self.host.leftovers())

    def switch(self, process, is_on):
        self.store.boxes.switch(BOX, process, is_on, "test", self.config.clock.now())

    def run(self):
        self.supervisor.run()


def wait_for_end(pidfd, timeout=15.0):
    return bool(select.select([pidfd], [], [], timeout)[0])


def configured(home):
    """The configuration that `HOME/deployment.json` describes."""
    settings = json.loads((home / "deployment.json").read_text())
    config = a_config(
        home,
        settings["programs"],
        instances=settings.get("instances", 1),
        timing=Timing(grace=settings.get("grace", 5.0), ready_after=2.0),
        connect=_unreachable if settings.get("unreachable") else None,
        box=settings.get("box", BOX),
    )
    if settings.get("broken"):
        config = replace(config, open_logs=_break)
    if settings.get("forks"):
        config = replace(config, fork_server=[sys.executable, "-c", FORK_SERVER])
    if settings.get("forks") == "itself":
        program = [sys.executable, "-c", SUPERVISES, str(home), f"{fork_server_marker(home)}first"]
        config = replace(config, program=program)
    return config


def _main(verb, home):
    config = configured(home)
    start = start_detached if verb == "start" else run_foreground
    changes = []
    report = start(config, lambda change: _report_change(verb, change, changes))
    sys.stdout.write(
        json.dumps({**asdict(report), "outcome": report.outcome.value, "changes": changes}) + "\n"
    )


def _report_change(verb, change, changes):
    changes.append(asdict(change))
    if verb == "foreground":
        sys.stdout.write(json.dumps(asdict(change)) + "\n")
        sys.stdout.flush()


def _unreachable():
    raise StorageUnavailable("nobody answers")


def _break():
    raise RuntimeError("broken on purpose")


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))


def a_clock():
    return SteppedClock(datetime(2026, 11, 21, tzinfo=UTC))
