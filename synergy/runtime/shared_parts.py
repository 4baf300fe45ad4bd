"""The parts of the work that schedulers share, and the leader of each.

A part is a tree, or the collector; each has a lease of its own. Every running scheduler also holds
a lease as a member; the number of these leases is the number of schedulers.
"""

from __future__ import annotations

from dataclasses import dataclass

from synergy.model.lease import Lease
from synergy.model.process import Deployment
from synergy.runtime import identity
from synergy.storage.protocol import StoreView

FAMILY = "scheduler/"  # the prefix of the names of all leases of schedulers
COLLECTOR = "collector"
DECIDER = "agent/decider"  # the lease of the agent that decides about schedules
AGENTS = "agent/member/"  # the prefix of the leases of running agents; a number follows


def part_of_tree(tree: str) -> str:
    """The name of a tree as a part."""
    return f"tree/{tree}"


def parts_of(deployment: Deployment) -> list[str]:
    """All parts of a deployment; the collector last."""
    return [*(part_of_tree(tree) for tree in deployment.trees), COLLECTOR]


def lease_of(part: str) -> str:
    """The name of a part's lease."""
    return FAMILY + part


def member(number: int) -> str:
    """The name of the lease that the n-th scheduler holds as a member."""
    return f"{FAMILY}member/{number}"


def is_member(name: str) -> bool:
    """Whether a lease is that of a member."""
    return name.startswith(f"{FAMILY}member/")


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the work and its leader; `host`, `pid` and `term` are None if it has none.

    `part` is "tree NAME" or "collector".
    """

    part: str
    host: str | None
    pid: int | None
    term: int | None

    @property
    def is_led(self) -> bool:
        return self.term is not None


def leaders(store: StoreView, deployment: Deployment) -> list[PartView]:
    """The leader of each part, as far as this machine can tell."""
    leases = {lease.name: lease for lease in store.leases.all(FAMILY)}
    return [_view(part, leases.get(lease_of(part))) for part in parts_of(deployment)]


def is_led(store: StoreView, part: str) -> bool:
    """Whether a part has a leader, as far as this machine can tell."""
    return is_lease_led(store, lease_of(part))


def is_lease_led(store: StoreView, name: str) -> bool:
    """Whether a lease is held, as far as this machine can tell."""
    lease = store.leases.read(name)
    return lease is not None and _is_live(lease)


def is_process_led(store: StoreView, deployment: Deployment, process: str) -> bool:
    """Whether the tree of a process has a leader, as far as this machine can tell."""
    trees = [tree.name for tree in deployment.trees.values() if process in tree.processes]
    return any(is_led(store, part_of_tree(tree)) for tree in trees)


def _is_live(lease: Lease) -> bool:
    holder = identity.parse(lease.holder)
    return not lease.released and (holder is None or not holder.is_provably_dead)


def _view(part: str, lease: Lease | None) -> PartView:
    words = part.replace("/", " ", 1)
    if lease is None or not _is_live(lease):
        return PartView(words, None, None, None)
    holder = identity.parse(lease.holder)
    if holder is None:
        return PartView(words, lease.holder, None, lease.epoch)
    return PartView(words, holder.host, holder.pid, lease.epoch)
