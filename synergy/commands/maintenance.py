"""Commands about boxes, queues and the garbage collector."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from synergy.errors import NotFound
from synergy.messaging.protocol import Bus
from synergy.model import journal
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.names import AGENT_TOPIC, SCHEDULER_TOPIC, SUPERVISOR_TOPIC
from synergy.program import PROGRAM
from synergy.storage.protocol import Store


class Maintenance:
    """Changes boxes and queues, and requests runs of the collector."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def assign(
        self, box: str, processes: Sequence[str], actor: Actor, now: datetime, *, dry_run: bool
    ) -> list[str]:
        """Adds the assignments that a box lacks, and changes no others; returns the added ones."""
        there = {a.process for a in self._store.boxes.assignments(box)}
        missing = [process for process in processes if process not in there]
        if dry_run or not missing:
            return missing
        with self._store.batch() as batch:
            added = self._store.boxes.assign(box, missing)
            self._store.journal.append([journal.box_synced(box, added, actor.who, actor.why, now)])
            batch.after_commit(self._wake)
        return added

    def switch_on_box(
        self, box: str, process: str, is_on: bool, actor: Actor, now: datetime, *, dry_run: bool
    ) -> bool:
        """Starts or stops a process on a box until the next such command.

        Returns False if the process was in that state already. Raises NotFound if it is not
        assigned to the box.
        """
        self._deployment.process(process)  # raises NotFound
        present = [a for a in self._store.boxes.assignments(box) if a.process == process]
        if not present:
            raise NotFound(
                "assignment",
                f"{process} on box {box}",
                f"{PROGRAM} box list shows which there are, box sync adds those of context.py",
            )
        if present[0].is_on is is_on:
            return False
        if not dry_run:
            with self._store.batch() as batch:
                self._store.boxes.switch(box, process, is_on, actor.who, now, actor.why)
                batch.after_commit(self._wake)
        return True

    def request_collection(self, process: str, flush: bool, actor: Actor, now: datetime) -> int:
        """Asks for a run of the collector; the run's entry follows the returned journal number.

        `flush` ignores waiting times; `process` limits it to one process, "" means all.
        """
        if process:
            self._deployment.working(process)  # raises NotFound
        seq = self._store.journal.last_seq()
        with self._store.batch() as batch:
            entry = journal.collection_requested(process, flush, actor.who, actor.why, now)
            self._store.journal.append([entry])
            batch.after_commit(partial(self._bus.notify, SCHEDULER_TOPIC))
            batch.after_commit(partial(self._bus.notify, AGENT_TOPIC))
        return seq

    def replay(
        self, seqs: Sequence[int] | None, actor: Actor, now: datetime, *, dry_run: bool
    ) -> dict[str, int]:
        """Sends messages in quarantine (None: all) to their queues again; returns counts by queue.

        Raises NotFound, and sends none, if one of them is missing.
        """
        counts: dict[str, int] = {}
        waiting = self._store.messages.quarantine().messages
        dead = {message.seq: message.queue for message in self._bus.dead(waiting)}
        for seq in dead if seqs is None else seqs:
            if seq not in dead:
                raise NotFound(
                    "message in quarantine", str(seq), f"{PROGRAM} queue dead lists them"
                )
            counts[dead[seq]] = counts.get(dead[seq], 0) + 1
        if dry_run or not counts:
            return counts
        counts = self._bus.replay(seqs)
        self._store.journal.append([journal.queue_replayed(counts, actor.who, actor.why, now)])
        return counts

    def purge(self, queue: str, actor: Actor, now: datetime, *, dry_run: bool) -> int:
        """Drops all messages that wait in a queue; returns how many. Raises NotFound.

        Messages for workers are only hints, so no work is lost with them; dropped events are lost.
        """
        depths = self._bus.depths()
        queues = {process.queue for process in self._deployment.processes.values()} | set(depths)
        if queue not in queues:
            raise NotFound("queue", queue, f"there are: {', '.join(sorted(queues))}")
        waiting = depths.get(queue, 0)
        if dry_run or not waiting:
            return waiting
        dropped = self._bus.purge(queue)
        self._note_purge(queue, dropped, actor, now)
        return dropped

    def purge_dead(self, actor: Actor, now: datetime, *, dry_run: bool) -> int:
        """Drops all messages in quarantine; returns how many."""
        waiting = self._store.messages.quarantine().messages
        if dry_run or not waiting:
            return waiting
        dropped = self._bus.purge_dead()
        self._note_purge("quarantine", dropped, actor, now)
        return dropped

    def refuse_if_unknown_box(self, box: str) -> None:
        """Raises NotFound for a box that never reported and has nothing assigned."""
        known = {b.id for b in self._store.boxes.all()}
        known |= {a.box for a in self._store.boxes.assignments()}
        if box not in known:
            raise NotFound("box", box, f"there are: {', '.join(sorted(known)) or 'none'}")

    def _note_purge(self, queue: str, dropped: int, actor: Actor, now: datetime) -> None:
        entry = journal.queue_purged(queue, dropped, actor.who, actor.why, now)
        self._store.journal.append([entry])

    def _wake(self) -> None:
        self._bus.notify(SUPERVISOR_TOPIC)
