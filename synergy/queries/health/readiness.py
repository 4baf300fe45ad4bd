"""Whether everything is well that work needs: store, bus, and who schedules, collects, decides.

What is asked aside has a deadline: what hangs is not well, and is not asked again before it has
answered. That somebody leads is seen by the number of renewals of a lease, which has to rise
from one look to the next; no clocks are compared. So a leader that is stopped, or hangs, shows
when its lease is over, if somebody has looked before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synergy.clock import Clock
from synergy.errors import MessagingUnavailable, StorageUnavailable, SynergyError
from synergy.messaging.protocol import BusView
from synergy.model.lease import Lease
from synergy.model.process import Deployment, Process
from synergy.model.switches import is_switched_on
from synergy.runtime import identity
from synergy.runtime.leaders import COLLECTOR, DECIDER, lease_of, part_of_tree
from synergy.runtime.leadership import WAIT
from synergy.storage.protocol import StoreView

DEADLINE = 2.0  # seconds in which a check has to answer
AGENTS = "synergy.agent."  # how the classnames of agents begin
AGENT = "agent"  # the check of those that decide about schedules
AWAY = "the {} does not answer; the log of MX says more"

Ask = Callable[[], Mapping[str, str]]
"""What is wrong, by check; "" where all is well. What it raises is wrong with all of them."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that work needs; `detail` says what is wrong with it, "" for nothing."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether all of it is well."""

    ready: bool
    checks: tuple[Check, ...]


class Health:
    """Asks whether everything is well; for several threads."""

    def __init__(
        self, store: StoreView, bus: BusView, deployment: Deployment, clock: Clock,
        deadline: float = DEADLINE,
    ) -> None:  # fmt: skip
        watch = LeaseWatch(store, clock)
        queues = [process.queue for process in deployment.processes.values()][:1]
        leases = _leases(deployment)
        agents = _agents(deployment)

        def ask_store() -> Mapping[str, str]:
            store.journal.last_seq()
            return {"store": ""}

        def ask_bus() -> Mapping[str, str]:
            bus.depths(queues)
            return {"bus": ""}

        def ask_leaders() -> Mapping[str, str]:
            controls = store.controls.all()
            is_off = not any(is_switched_on(agent, controls.get(agent.name)) for agent in agents)
            return {
                check: "" if check == AGENT and is_off else watch.look(names)
                for check, names in leases.items()
            }

        self._clock = clock
        self._deadline = deadline
        self._probes = [
            Probe(["store"], ask_store, clock),
            Probe(["bus"], ask_bus, clock),
            Probe(list(leases), ask_leaders, clock),
        ]

    def look(self) -> Readiness:
        """All checks, side by side; those that hang are waited for together."""
        for probe in self._probes:
            probe.begin()
        end = self._clock.monotonic() + self._deadline
        checks = [
            check for probe in self._probes for check in probe.answer(end - self._clock.monotonic())
        ]
        return Readiness(all(check.ok for check in checks), tuple(checks))


class Probe:
    """Checks that are asked together in a thread; callers in the meantime share the answer.

    It is no service: the thread makes one look and ends. A look that hangs cannot be interrupted,
    and is reported as such after a deadline; no other look begins meanwhile.
    """

    def __init__(self, names: Sequence[str], ask: Ask, clock: Clock) -> None:
        self._names = names
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._answered.set()
        self._begun = 0.0
        self._found: Mapping[str, str] = {}

    def begin(self) -> None:
        """Asks, unless that is under way."""
        with self._lock:
            if self._answered.is_set():
                self._answered.clear()
                self._begun = self._clock.monotonic()
                threading.Thread(target=self._run, name="health", daemon=True).start()

    def answer(self, patience: float) -> list[Check]:
        """What was found, or, after so many seconds, that nothing was."""
        if self._answered.wait(patience):
            found = self._found
        else:
            waited = self._clock.monotonic() - self._begun
            found = dict.fromkeys(self._names, f"has not answered for {waited:.0f} s")
        return [Check(name, not found[name], found[name]) for name in self._names]

    def _run(self) -> None:
        try:
            self._found = self._ask()
        except SynergyError as error:
            # What it says may name places: that is for the log, and there once for each outage.
            if not any(self._found.values()):
                log.warning("%s", error, extra={"event": "health.away"})
            what = "bus" if isinstance(error, MessagingUnavailable) else "store"
            self._found = dict.fromkeys(self._names, AWAY.format(what))
        except Exception as error:
            log.exception("A check failed", extra={"event": "health.failed"})
            self._found = dict.fromkeys(self._names, f"failed: {type(error).__name__}")
        self._answered.set()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lease as it was seen last, and since when (monotonic) it has stood like this."""

    lease: Lease
    since: float


class LeaseWatch:
    """Watches from one look to the next whether leases are renewed."""

    def __init__(self, store: StoreView, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def look(self, names: Mapping[str, str]) -> str:
        """What is wrong with leases; `names` says in words what each is about.

        While the store is away nobody can renew, so that is no sign of anything.
        """
        try:
            wrong = [(words, self._wrong(name)) for name, words in names.items()]
        except StorageUnavailable:
            self._seen.clear()
            raise
        return "; ".join(f"{words} {what}" for words, what in wrong if what)

    def _wrong(self, name: str) -> str:
        lease, now = self._store.leases.read(name), self._clock.monotonic()
        if lease is None or lease.released:
            return "is led by nobody"
        holder = identity.parse(lease.holder)
        if holder is not None and holder.is_provably_dead:
            return "was led by a process that has ended"
        seen = self._seen.get(name)
        if seen is None or seen.lease != lease:
            seen = self._seen[name] = _Seen(lease, now)
        stood = now - seen.since
        return f"has had no sign of its leader for {stood:.0f} s" if stood >= WAIT else ""


def _leases(deployment: Deployment) -> dict[str, dict[str, str]]:
    """The leases that somebody has to hold, by check, and what each is about."""
    leases = {
        "scheduler": {lease_of(part_of_tree(tree)): f"tree {tree}" for tree in deployment.trees},
        "collector": {lease_of(COLLECTOR): "the collector"},
    }
    if _agents(deployment):
        leases[AGENT] = {DECIDER: "deciding about schedules"}
    return leases


def _agents(deployment: Deployment) -> list[Process]:
    """The processes that decide about schedules; who switches all of them off wants none."""
    processes = deployment.processes.values()
    return [each for each in processes if (each.classname or "").startswith(AGENTS)]
