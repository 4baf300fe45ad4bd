"""`launch.py queue …`: waiting messages, and messages in quarantine."""

from __future__ import annotations

import argparse

from synergy.cli import output
from synergy.cli.options import CHANGE, JSON, YES, Noun, argument, limit, positive
from synergy.cli.services import Services, actor, confirm, services
from synergy.errors import InvalidValue
from synergy.program import PROGRAM

EXCERPT = 60  # characters of a message's body in a table
FAILED = f"{PROGRAM} schedule runs --state failed"
NOUN = Noun("queue", "waiting messages, and messages in quarantine", "launch.py queue list")
add = NOUN.add


@NOUN.verb("launch.py queue list", JSON)
def run_list(arguments: argparse.Namespace) -> None:
    """Show the number of waiting messages of each queue."""
    with services() as at:
        queues, dead = at.reads.queues(), at.reads.dead_count()
    if arguments.json:
        output.print_json({"queues": queues, "dead": dead})
        return
    output.table(["queue", "process", "waiting"], [[q.name, q.process, q.waiting] for q in queues])
    if dead:
        output.note(f"{dead} messages are in quarantine: {PROGRAM} queue dead")


@NOUN.verb("launch.py queue dead", limit(100), JSON)
def run_dead(arguments: argparse.Namespace) -> None:
    """Show messages in quarantine, newest first; as JSON also runs that have failed."""
    from synergy.messaging.quarantine import LONGEST_KEPT

    with services() as at:
        longest = LONGEST_KEPT if arguments.json else 4 * EXCERPT
        dead = at.reads.dead_letters(arguments.limit, None, longest).items
        failed = at.schedule_reads.dead(arguments.limit)
    if arguments.json:
        output.print_json({"dead": dead, "failed_runs": failed})
        return
    output.table(
        ["seq", "queue", "at", "reason", "message"],
        [
            [
                m.seq,
                m.queue,
                output.instant(m.at),
                output.one_line(m.reason),
                output.one_line(m.body, EXCERPT),
            ]
            for m in dead
        ],
    )
    if failed:
        output.note(f"runs of schedules that have failed: {len(failed)} ({FAILED})")


@NOUN.verb(
    "launch.py queue replay 17 18",
    argument("seqs", metavar="SEQ", nargs="*", type=positive, help="default: all"),
    *CHANGE,
    records=("seqs",),
)
def run_replay(arguments: argparse.Namespace) -> None:
    """Send messages in quarantine to their queues again."""
    with services() as at:
        counts = at.maintenance.replay(
            arguments.seqs or None, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
        failed = not arguments.seqs and at.schedule_reads.dead(1)
    verb = "would be sent to" if arguments.dry_run else "sent to"
    lines = [f"{number:,} {verb} {queue} again" for queue, number in counts.items()]
    lines = lines or ["there is nothing in quarantine"]
    output.show_change(arguments, {"replayed": counts}, *lines)
    if failed and not arguments.json:
        output.note(f"runs of schedules have failed: {PROGRAM} schedule retry --all")


@NOUN.verb(
    "launch.py queue purge SingleSessionWorker",
    argument("queue", metavar="QUEUE", nargs="?"),
    argument("--dead", action="store_true", help="those in quarantine"),
    YES,
    *CHANGE,
    records=("queue", "dead"),
)
def run_purge(arguments: argparse.Namespace) -> None:
    """Drop all messages that wait in a queue, or those in quarantine."""
    if (arguments.queue is None) is not arguments.dead:
        raise InvalidValue("name one queue, or --dead for the messages in quarantine")
    what = arguments.queue or "quarantine"
    with services() as at:
        number = _purge(at, arguments, dry_run=True)
        if number and not arguments.dry_run:
            confirm(f"{number:,} messages of {what} will be lost.", what, is_sure=arguments.yes)
            number = _purge(at, arguments, dry_run=False)
    verb = "would be dropped" if arguments.dry_run else "dropped"
    line = f"{number:,} messages of {what} {verb}"
    output.show_change(arguments, {"queue": what, "dropped": number}, line)


def _purge(at: Services, arguments: argparse.Namespace, *, dry_run: bool) -> int:
    who = actor(arguments.reason)
    if arguments.dead:
        return at.maintenance.purge_dead(who, at.now, dry_run=dry_run)
    return at.maintenance.purge(arguments.queue, who, at.now, dry_run=dry_run)
