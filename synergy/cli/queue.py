"""`launch.py queue …`: messages that wait, and those that nobody understood."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from synergy.cli.services import Services

SHOWN = 60  # characters of a message's body in a table
FAILED = "launch.py schedule runs --state failed"


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers,
        "queue",
        "messages that wait, and those that nobody understood",
        "launch.py queue list",
    )
    listing = options.verb(
        verbs, "list", run_list, "show how many messages wait in each queue", "launch.py queue list"
    )
    options.json_option(listing)
    dead = options.verb(
        verbs, "dead", run_dead,
        "show messages in quarantine, newest first; as JSON also runs that have failed",
        "launch.py queue dead",
    )  # fmt: skip
    dead.add_argument(
        "--limit", metavar="N", type=options.positive, default=100, help="default: 100"
    )
    options.json_option(dead)
    replay = options.verb(
        verbs, "replay", run_replay, "send messages in quarantine to their queues again",
        "launch.py queue replay 17 18",
    )  # fmt: skip
    replay.add_argument(
        "seqs", metavar="SEQ", nargs="*", type=options.positive, help="default: all"
    )
    options.change_options(replay)
    purge = options.verb(
        verbs, "purge", run_purge, "drop all messages that wait in a queue, or those in quarantine",
        "launch.py queue purge SingleSessionWorker",
    )  # fmt: skip
    purge.add_argument("queue", metavar="QUEUE", nargs="?")
    purge.add_argument("--dead", action="store_true", help="those in quarantine")
    options.yes_option(purge)
    options.change_options(purge)


def run_list(arguments: argparse.Namespace) -> None:
    """How many messages wait."""
    from synergy.cli import output
    from synergy.cli.services import services

    with services() as at:
        queues, dead = at.reads.queues(), len(at.reads.dead(1000))
    if arguments.json:
        output.print_json({"queues": queues, "dead": dead})
        return
    output.table(["queue", "process", "waiting"], [[q.name, q.process, q.waiting] for q in queues])
    if dead:
        output.note(f"{dead} messages are in quarantine: launch.py queue dead")


def run_dead(arguments: argparse.Namespace) -> None:
    """Messages in quarantine."""
    from synergy.cli import output
    from synergy.cli.schedule_services import ScheduleServices
    from synergy.cli.services import services

    with services() as at:
        dead = at.reads.dead(arguments.limit)
        failed = ScheduleServices(at).reads.dead(arguments.limit)
    if arguments.json:
        messages = [
            {
                "seq": message.seq,
                "queue": message.queue,
                "at": message.at,
                "reason": message.reason,
                "body": message.body.decode(errors="replace"),
            }
            for message in dead
        ]
        output.print_json({"dead": messages, "failed_runs": failed})
        return
    output.table(
        ["seq", "queue", "at", "reason", "message"],
        [
            [m.seq, m.queue, output.instant(m.at), output.one_line(m.reason), _excerpt(m.body)]
            for m in dead
        ],
    )
    if failed:
        output.note(f"runs of schedules that have failed: {len(failed)} ({FAILED})")


def _excerpt(body: bytes) -> str | None:
    from synergy.cli import output

    return output.one_line(body[: 4 * SHOWN].decode(errors="replace"), SHOWN)


def run_replay(arguments: argparse.Namespace) -> None:
    """Sends messages again."""
    from synergy.cli import output
    from synergy.cli.schedule_services import ScheduleServices
    from synergy.cli.services import actor, services

    with services() as at:
        counts = at.maintenance.replay(
            arguments.seqs or None, actor(arguments.reason), at.now, dry_run=arguments.dry_run
        )
        failed = not arguments.seqs and ScheduleServices(at).reads.dead(1)
    if arguments.json:
        output.print_json({"replayed": counts, "dry_run": arguments.dry_run})
        return
    verb = "would be sent to" if arguments.dry_run else "sent to"
    for queue, number in counts.items():
        output.say(f"{number:,} {verb} {queue} again")
    if not counts:
        output.say("there is nothing in quarantine")
    if failed:
        output.note("runs of schedules have failed: launch.py schedule retry --all")


def run_purge(arguments: argparse.Namespace) -> None:
    """Drops messages."""
    from synergy.cli import output
    from synergy.cli.services import confirm, services
    from synergy.errors import InvalidValue

    if (arguments.queue is None) is not arguments.dead:
        raise InvalidValue("name one queue, or --dead for the messages in quarantine")
    what = arguments.queue or "quarantine"
    with services() as at:
        number = _purge(at, arguments, dry_run=True)
        if number and not arguments.dry_run:
            confirm(f"{number:,} messages of {what} will be lost.", what, is_sure=arguments.yes)
            number = _purge(at, arguments, dry_run=False)
    if arguments.json:
        output.print_json({"queue": what, "dropped": number, "dry_run": arguments.dry_run})
    else:
        verb = "would be dropped" if arguments.dry_run else "dropped"
        output.say(f"{number:,} messages of {what} {verb}")


def _purge(at: Services, arguments: argparse.Namespace, *, dry_run: bool) -> int:
    from synergy.cli.services import actor

    who = actor(arguments.reason)
    if arguments.dead:
        return at.maintenance.purge_dead(who, at.now, dry_run=dry_run)
    return at.maintenance.purge(arguments.queue, who, at.now, dry_run=dry_run)
