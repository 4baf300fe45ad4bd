"""Who schedules what: the parts that schedulers share, and who leads each.

A part is a tree, or the collector; each has a lease of its own. Besides, every scheduler that
is at work holds one as a member, so that the others know how many they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from synergy.model.lease import Lease
from synergy.model.process import Deployment
from synergy.runtime import identity
from synergy.storage.protocol import StoreView

FAMILY = "scheduler/"  # how the names of all these leases begin
COLLECTOR = "collector"
DECIDER = "agent/decider"  # the lease of the agent that decides about schedules
AGENTS = "agent/member/"  # how the leases of agents at work begin; their numbers follow


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
    """Whether the lease is that of a member."""
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
    """Who leads each part, as far as can be seen from this machine."""
    leases = {lease.name: lease for lease in store.leases.all(FAMILY)}
    return [_view(part, leases.get(lease_of(part))) for part in parts_of(deployment)]


def is_led(store: StoreView, part: str) -> bool:
    """Whether somebody leads a part, as far as can be seen from this machine."""
    return is_lease_led(store, lease_of(part))


def is_lease_led(store: StoreView, name: str) -> bool:
    """Whether somebody holds a lease, as far as can be seen from this machine."""
    lease = store.leases.read(name)
    return lease is not None and _is_live(lease)


def is_process_led(store: StoreView, deployment: Deployment, process: str) -> bool:
    """Whether somebody leads the tree of a process, as far as can be seen from this machine."""
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
