"""A commit of decisions, which only the agent that holds the decider's lease may write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from synergy.agent.deciding.launcher import LocalDeliverer
from synergy.agent.membership import Membership
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.schedule import Run
from synergy.storage.protocol import Batch, Store


@dataclass(slots=True)
class CommitResult:
    """The runs that a commit writes, of which the deliverer takes those that this agent claims.

    `failure` is the error of the bus if the commit is durable, but not all of its messages were
    published.
    """

    claimed: Sequence[Run] = ()
    failure: MessagingUnavailable | None = None


@contextmanager
def decision_batch(
    store: Store, members: Membership, deliverer: LocalDeliverer
) -> Iterator[tuple[Batch, CommitResult]]:
    """A batch of decisions; the runs that it claims are delivered once it is durable.

    If it may or may not be durable, the deliverer looks the claims up in the store. Raises
    LostLease and StorageUnavailable, and MessagingUnavailable if the batch is not durable.
    """
    durable: list[bool] = []
    written = CommitResult()
    try:
        with store.batch() as batch:
            batch.after_commit(lambda: durable.append(True))
            members.assert_decides()
            yield batch, written
    except (StorageUnavailable, MessagingUnavailable) as error:
        if isinstance(error, StorageUnavailable) or not durable:
            deliverer.mark_uncertain(written.claimed)
            raise
        written.failure = error
    deliverer.accept(written.claimed)
