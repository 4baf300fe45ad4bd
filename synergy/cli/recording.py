"""Carries out a command, and records it in the audit log if it changes something."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from synergy.cli import exits
from synergy.errors import AuditLogUnavailable, ConfigurationError, InvalidValue, NotFound, Refused

if TYPE_CHECKING:
    from synergy.audit_log.entry import Act
    from synergy.audit_log.files import AuditLog

SUPERVISED = "SYNERGY_RUN"  # the variable of processes that a supervisor started
ALWAYS = "supervisor stop"  # the command that is carried out even if it cannot be recorded
_NOBODY = 2**32 - 1  # the login user id of a process that no login has started


def carry_out(arguments: argparse.Namespace) -> int:
    """Runs the command of parsed arguments; returns its exit code.

    A command that changes something is recorded before it begins, and with its result. Raises
    AuditLogUnavailable if the beginning cannot be recorded: then nothing is done, unless the
    command is `ALWAYS`. Without a home the command is recorded afterwards, if it has made one.
    """
    if _changes_nothing(arguments):
        return _run(arguments)
    try:
        log = audit_log()
    except ConfigurationError:  # the command names all mistakes, also those of the context
        return _run(arguments)
    act = _act(arguments)
    if not log.folder.parent.exists():
        return _recorded_after(arguments, log, act)
    try:
        begun = log.begin(act)
    except AuditLogUnavailable as error:
        if act.action != ALWAYS:
            raise
        _warn(f"this is not recorded: {error}")
        return _run(arguments)
    return _watched(arguments, log, begun)


def _changes_nothing(arguments: argparse.Namespace) -> bool:
    """Whether there is nothing to record: a supervisor's start of a process is not an act."""
    is_supervised = getattr(arguments, "console", False) and SUPERVISED in os.environ
    has_records = getattr(arguments, "records", None) is not None
    return not has_records or is_supervised or getattr(arguments, "dry_run", False)


def _run(arguments: argparse.Namespace) -> int:
    return arguments.run(arguments) or exits.DONE


def _recorded_after(arguments: argparse.Namespace, log: AuditLog, act: Act) -> int:
    from synergy.audit_log.entry import DONE, FAILED

    code = _run(arguments)
    if not log.folder.parent.exists():
        _warn("this is not recorded in the audit log: there is no home yet")
        return code
    with _warning():
        log.note(act, DONE if code == exits.DONE else FAILED, f"exit {code}")
    return code


def _watched(arguments: argparse.Namespace, log: AuditLog, begun: tuple[Act, int]) -> int:
    from synergy.audit_log.entry import DONE, FAILED, REFUSED

    result, detail = FAILED, ""
    try:
        code = _run(arguments)
        result, detail = (DONE if code == exits.DONE else FAILED), f"exit {code}"
    except (InvalidValue, NotFound, Refused) as error:
        result, detail = REFUSED, str(error)
        raise
    except BaseException as error:
        detail = str(error) or type(error).__name__
        raise
    else:
        return code
    finally:
        with _warning():
            log.end(begun, result, detail)


@contextmanager
def _warning() -> Iterator[None]:
    """Turns a result that cannot be recorded into a warning: the command has ended already."""
    try:
        yield
    except AuditLogUnavailable as error:
        _warn(f"the result is not recorded: {error}")


def audit_log() -> AuditLog:
    """The audit log of the home in the settings."""
    from synergy.audit_log.files import AuditLog
    from synergy.config.loader import load_settings

    settings = load_settings()
    return AuditLog(settings.home, settings.clock)


def _act(arguments: argparse.Namespace) -> Act:
    from synergy.audit_log.entry import Act

    given = {name: getattr(arguments, name) for name in arguments.records}
    return Act(
        who=f"os:{_user(os.getuid())}",
        via=_login(),
        source=f"cli {_terminal()}",
        action=_name(arguments),
        object={name: _text(value) for name, value in given.items() if value not in (None, "")},
    )


def _name(arguments: argparse.Namespace) -> str:
    return " ".join([arguments.noun, *filter(None, [getattr(arguments, "verb", "")])])


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _login() -> str:
    """The user whose login this is, also after `sudo`, as the kernel keeps it."""
    with suppress(OSError, ValueError), open("/proc/self/loginuid") as file:
        if (uid := int(file.read())) != _NOBODY:
            return f"login of {_user(uid)}"
    return ""


def _user(uid: int) -> str:
    """The name of a user of the operating system; environment variables could say anything."""
    import pwd

    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _terminal() -> str:
    with suppress(OSError, ValueError, AttributeError):  # standard input may be closed
        return os.ttyname(sys.stdin.fileno())
    return "without a terminal"


def _warn(text: str) -> None:
    from synergy.cli import output

    output.warn(text)
