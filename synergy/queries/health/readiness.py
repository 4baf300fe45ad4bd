"""Readiness: whether store, bus, schedulers, collector and agents are available.

Checks run in threads with a deadline: a check that hangs has failed, and is not started again
before it ends. A leader is alive while the renewals of its lease are counted up from one check to
the next; no clocks are compared. A leader that is stopped, or hangs, is therefore noticed when its
lease ends, if there was a check before.
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
from synergy.model.process import Deployment
from synergy.model.switches import is_switched_on
from synergy.runtime import identity
from synergy.runtime.leadership import WAIT_SECONDS
from synergy.runtime.shared_parts import COLLECTOR, DECIDER, lease_of, part_of_tree
from synergy.storage.protocol import StoreView

DEADLINE = 2.0  # seconds in which a check has to answer
AGENT = "agent"  # the check of the agents that decide about schedules
AWAY = "the {} does not answer; the log of MX says more"

Ask = Callable[[], Mapping[str, str]]
"""Returns the problem of each check, "" for none; an exception is a problem of all its checks."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check; `detail` is the problem, "" for none."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Readiness:
    """The results of all checks; `ready` if all are ok."""

    ready: bool
    checks: tuple[Check, ...]


class Health:
    """Checks the readiness of a deployment; may be used by several threads."""

    def __init__(
        self,
        store: StoreView,
        bus: BusView,
        deployment: Deployment,
        clock: Clock,
        deadline: float = DEADLINE,
    ) -> None:
        watch = LeaseWatch(store, clock)
        queues = [process.queue for process in deployment.processes.values()][:1]
        leases = _leases(deployment)
        agents = deployment.agents()

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
        """The results of all checks, which run at the same time under one deadline."""
        for probe in self._probes:
            probe.begin()
        end = self._clock.monotonic() + self._deadline
        checks = [
            check for probe in self._probes for check in probe.answer(end - self._clock.monotonic())
        ]
        return Readiness(all(check.ok for check in checks), tuple(checks))


class Probe:
    """Checks that one thread makes together; concurrent callers share the result.

    It is no service: the thread makes the checks once and ends. One that hangs cannot be
    interrupted; it is reported after the deadline, and no other begins meanwhile.
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
        """Starts the checks, unless they are under way."""
        with self._lock:
            if self._answered.is_set():
                self._answered.clear()
                self._begun = self._clock.monotonic()
                threading.Thread(target=self._run, name="health", daemon=True).start()

    def answer(self, seconds: float) -> list[Check]:
        """The results; without an answer in the given time, each check has failed."""
        if self._answered.wait(seconds):
            found = self._found
        else:
            waited = self._clock.monotonic() - self._begun
            found = dict.fromkeys(self._names, f"has not answered for {waited:.0f} s")
        return [Check(name, not found[name], found[name]) for name in self._names]

    def _run(self) -> None:
        try:
            self._found = self._ask()
        except SynergyError as error:
            # The message may name hosts, so only the log has it, once for each outage.
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
    """A lease as it was last read, and since when (monotonic) it is unchanged."""

    lease: Lease
    since: float


class LeaseWatch:
    """Compares leases from one check to the next, to see whether they are renewed."""

    def __init__(self, store: StoreView, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    def look(self, names: Mapping[str, str]) -> str:
        """The problems of leases; `names` has the words for what each of them leads.

        While the store is unavailable no lease can be renewed, so that time does not count.
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
            return "has no leader"
        holder = identity.parse(lease.holder)
        if holder is not None and holder.is_provably_dead:
            return "was led by a process that has ended"
        seen = self._seen.get(name)
        if seen is None or seen.lease != lease:
            seen = self._seen[name] = _Seen(lease, now)
        stood = now - seen.since
        return f"has had no sign of its leader for {stood:.0f} s" if stood >= WAIT_SECONDS else ""


def _leases(deployment: Deployment) -> dict[str, dict[str, str]]:
    """The leases that have to be held, by check, and the words for what each leads."""
    leases = {
        "scheduler": {lease_of(part_of_tree(tree)): f"tree {tree}" for tree in deployment.trees},
        "collector": {lease_of(COLLECTOR): "the collector"},
    }
    if deployment.agents():
        leases[AGENT] = {DECIDER: "deciding about schedules"}
    return leases
