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
class DecisionBatch:
    """What is known about one commit.

    `claimed` are the launched runs that this agent claims in it. `failure` is why the bus did not
    take all messages although the rest is durable.
    """

    claimed: Sequence[Run] = ()
    failure: MessagingUnavailable | None = None


@contextmanager
def decision_batch(
    store: Store, members: Membership, deliverer: LocalDeliverer
) -> Iterator[tuple[Batch, DecisionBatch]]:
    """A batch whose claims are sent once it is durable; uncertain ones are checked later.

    Raises LostLease, StorageUnavailable, or MessagingUnavailable if nothing was written.
    """
    durable: list[bool] = []
    written = DecisionBatch()
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
