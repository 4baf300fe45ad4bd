"""`launch.py audit-log …`: who changed what on this box, and whether the record is whole."""

from __future__ import annotations

import argparse
from itertools import islice
from typing import TYPE_CHECKING

from synergy.cli import exits, output
from synergy.cli.options import JSON, Noun, argument, file_path, limit, positive

if TYPE_CHECKING:
    from synergy.audit_log.chain import Verified
    from synergy.audit_log.entry import Entry
    from synergy.audit_log.files import AuditLog

NOUN = Noun(
    "audit-log", "who changed what: list it, verify that it is whole", "launch.py audit-log verify"
)
add = NOUN.add


@NOUN.verb(
    "launch.py audit-log list --who anna --limit 20",
    argument("--who", metavar="TEXT", default="", help="only users whose name contains this"),
    argument("--before", metavar="N", type=positive, help="only entries before this one"),
    limit(50),
    JSON,
)
def run_list(arguments: argparse.Namespace) -> None:
    """Show what was done on this box, newest first."""
    entries = (entry for entry in _log().newest(arguments.before) if arguments.who in entry.who)
    found = list(islice(entries, arguments.limit))
    if arguments.json:
        output.print_json({"entries": found})
        return
    output.table(
        ["entry", "at", "who", "via", "from", "action", "object", "result"],
        [[e.seq, e.at, e.who, e.via, e.source, e.action, _object(e), _result(e)] for e in found],
    )


def _object(entry: Entry) -> str | None:
    return output.one_line(", ".join(f"{key} {text}" for key, text in entry.object.items()))


def _result(entry: Entry) -> str:
    return entry.result if entry.of is None else f"{entry.result} (of {entry.of})"


@NOUN.verb("launch.py audit-log head", JSON)
def run_head(arguments: argparse.Namespace) -> None:
    """Show number and hash of the newest entry, to keep them elsewhere."""
    newest = next(_log().newest(), None)
    seq, hash_ = (None, None) if newest is None else (newest.seq, newest.hash)
    if arguments.json:
        output.print_json({"entry": seq, "hash": hash_})
    else:
        output.say("no entries" if newest is None else f"{seq} {hash_}")


@NOUN.verb(
    "launch.py audit-log verify --head 1f0c...",
    argument("file", metavar="FILE", nargs="*", type=file_path, help="default: those of this box"),
    argument("--head", metavar="HASH", default="", help="the hash of an entry, kept elsewhere"),
    JSON,
)
def run_verify(arguments: argparse.Namespace) -> int:
    """Verify that no entry was changed, removed or inserted; exit 1 if one was.

    Only --head finds entries that were removed at the end, and a log that a user who may write the
    files has written anew.
    """
    from synergy.audit_log.chain import verify
    from synergy.audit_log.files import files, lines

    paths = arguments.file or files(_log().folder)
    found = verify(lines(paths), arguments.head)
    if arguments.json:
        output.print_json(found)
    else:
        _print_verified(found)
    return exits.DONE if found.is_whole else exits.FAILED


def _print_verified(found: Verified) -> None:
    for text in found.remarks:
        output.say(text)
    for text in found.faults:
        output.say(f"{output.colour('fault', 'red')}: {text}")
    if found.head is None:
        output.say("no entries")
        return
    state = "the chain is whole" if found.is_whole else "the chain is broken"
    output.say(f"{found.entries:,} entries, {found.first} to {found.head.seq}: {state}")
    output.say(f"head: {found.head.hash}")


def _log() -> AuditLog:
    from synergy.cli.recording import audit_log

    return audit_log()
