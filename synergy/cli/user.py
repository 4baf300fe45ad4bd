"""`launch.py user …`: the users of MX, and tokens for programs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from synergy.cli import output
from synergy.cli.options import DRY_RUN, JSON, NAME, Noun, argument
from synergy.errors import InvalidValue, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from synergy.config.settings import Settings
    from synergy.mx.accounts.users import Users, UsersFile

ROLES = ("viewer", "operator", "admin")
SCOPES = ("events", *ROLES)
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}
NO_FILE = (
    "there is no setting mx_users_file: MX has no login, and is reached from this machine only. To "
    "have users, set SYNERGY_MX_USERS_FILE=var/mx/users.json (or MX_USERS_FILE in "
    "settings/base.py), add one, and restart MX"
)
FROM_STDIN = argument("--password-stdin", action="store_true", help="read it from standard input")
NOUN = Noun(
    "user", "who may log in to MX, and tokens for programs", "launch.py user add anna --role admin"
)
add = NOUN.add


def _lifetime(text: str) -> timedelta:
    number, unit = text[:-1], UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit() and len(number) < 6):
        raise argparse.ArgumentTypeError(f"{text!r}: expected 12h or 90d, for example")
    lifetime = int(number) * unit
    if not timedelta(0) < lifetime <= timedelta(days=366):
        raise argparse.ArgumentTypeError(f"{text}: a token lives 1h to 366d")
    return lifetime


@NOUN.verb(
    "launch.py user add anna --role admin",
    NAME,
    argument("--role", choices=ROLES, required=True, help="what the user may do"),
    FROM_STDIN,
    JSON,
    DRY_RUN,
    records=("name", "role"),
)
def run_add(arguments: argparse.Namespace) -> None:
    """Add a user; asks for a password."""
    from synergy.mx.accounts.roles import Role
    from synergy.mx.accounts.users import checked_name, new_user

    file, now = _users_file()
    name, role = checked_name(arguments.name), Role(arguments.role)
    new_user(file.users, name, role, "", now)
    hash_ = "" if arguments.dry_run else _password(arguments)
    _change(file, arguments, lambda users: new_user(users, name, role, hash_, now))
    facts = {"user": name, "role": role.value}
    _show_change(arguments, facts, f"{name} may log in as {role.value}")


@NOUN.verb("launch.py user password anna", NAME, FROM_STDIN, JSON, DRY_RUN, records=("name",))
def run_password(arguments: argparse.Namespace) -> None:
    """Change a user's password; ends the user's sessions."""
    file, _ = _users_file()
    name = file.users.user(arguments.name).name
    hash_ = "" if arguments.dry_run else _password(arguments)
    _change(
        file, arguments, lambda users: users.with_user(replace(users.user(name), password=hash_))
    )
    _show_change(arguments, {"user": name}, f"{name} has a new password; all sessions have ended")


@NOUN.verb(
    "launch.py user role anna operator",
    NAME,
    argument("role", choices=ROLES, help="what the user may do"),
    JSON,
    DRY_RUN,
    records=("name", "role"),
)
def run_role(arguments: argparse.Namespace) -> None:
    """Change a user's role; ends the user's sessions."""
    from synergy.mx.accounts.roles import Role

    file, _ = _users_file()
    role = Role(arguments.role)
    name = file.users.user(arguments.name).name
    _change(file, arguments, lambda users: users.with_user(replace(users.user(name), role=role)))
    facts = {"user": name, "role": role.value}
    _show_change(arguments, facts, f"{name} is {role.value} now")


@NOUN.verb("launch.py user list --json", JSON)
def run_list(arguments: argparse.Namespace) -> None:
    """Show users and tokens."""
    file, now = _users_file()
    users = sorted(file.users.people.values(), key=lambda user: user.name)
    tokens = sorted(file.users.tokens.values(), key=lambda token: (token.user, token.created_at))
    if arguments.json:
        output.print_json(
            {
                "users": [
                    {"name": each.name, "role": each.role.value, "created_at": each.created_at}
                    for each in users
                ],
                "tokens": [
                    {
                        "id": each.id,
                        "name": each.name,
                        "user": each.user,
                        "scope": each.scope.value,
                        "created_at": each.created_at,
                        "expires_at": each.expires_at,
                        "is_over": each.expires_at <= now,
                    }
                    for each in tokens
                ],
            }
        )
        return
    output.table(
        ["user", "role", "since"],
        [[each.name, each.role.value, output.instant(each.created_at)] for each in users],
    )
    if tokens:
        output.table(
            ["token", "of", "scope", "ends", "name"],
            [
                [each.id, each.user, each.scope.value, output.instant(each.expires_at), each.name]
                for each in tokens
            ],
        )


@NOUN.verb("launch.py user remove anna", NAME, JSON, DRY_RUN, records=("name",))
def run_remove(arguments: argparse.Namespace) -> None:
    """Remove a user and the user's tokens; ends the user's sessions."""
    file, _ = _users_file()
    name = file.users.user(arguments.name).name
    _change(file, arguments, lambda users: users.without_user(name))
    _show_change(arguments, {"user": name}, f"{name} is removed, with all tokens and sessions")


@NOUN.verb("launch.py user logout anna", NAME, JSON, DRY_RUN, records=("name",))
def run_logout(arguments: argparse.Namespace) -> None:
    """End all sessions of a user, in all browsers; tokens stay valid."""
    from synergy.mx.accounts.sessions import Sessions, sessions_file

    file, _ = _users_file()
    name, sessions = arguments.name, Sessions(sessions_file(_settings().home))
    if not sessions.has(name):  # users of a login provider are not in the file
        file.users.user(name)
    if not arguments.dry_run:
        sessions.end_all(name)
    _show_change(arguments, {"user": name}, f"all sessions of {name} have ended")


@NOUN.verb(
    """launch.py user token anna --scope operator --expires 30d --name backup
    launch.py user token --revoke 1f0c33ab""",
    argument("name", metavar="NAME", nargs="?", help="whose token it is"),
    argument("--scope", choices=SCOPES, help="what it lets a program do"),
    argument(
        "--expires",
        metavar="90d",
        type=_lifetime,
        default=timedelta(days=90),
        help="after how many hours (h) or days (d), at most 366d; default: 90d",
    ),
    argument("--name", dest="label", metavar="TEXT", default="", help="what it is for"),
    argument("--revoke", metavar="ID", help="revoke this token"),
    JSON,
    DRY_RUN,
    records=("name", "scope", "label", "revoke"),
)
def run_token(arguments: argparse.Namespace) -> None:
    """Make a token for a program, or revoke one."""
    from synergy.mx.accounts.roles import Role
    from synergy.mx.accounts.users import new_token

    if arguments.revoke:
        _revoke(arguments)
        return
    if not (arguments.name and arguments.scope):
        raise InvalidValue("expected NAME and --scope for a new token, or --revoke ID")
    file, now = _users_file()
    times = (now, now + arguments.expires)
    scope = Role(arguments.scope)
    _, token, secret = new_token(file.users, arguments.name, scope, arguments.label, times)
    _change(file, arguments, lambda users: users.with_token(token))
    facts: dict[str, object] = {
        "id": token.id,
        "user": token.user,
        "scope": scope.value,
        "expires_at": token.expires_at,
        **({} if arguments.dry_run else {"secret": secret}),
    }
    until = f"{token.expires_at:%Y-%m-%d %H:%M}Z"
    line = f"token {token.id} of {token.user}, {scope.value}, until {until}"
    if arguments.json or arguments.dry_run:
        _show_change(arguments, facts, line)
        return
    output.note(line)
    output.say(secret)
    output.note("this is shown once: keep it where the program finds it")


def _revoke(arguments: argparse.Namespace) -> None:
    file, _ = _users_file()
    id_ = arguments.revoke
    file.users.without_token(id_)
    _change(file, arguments, lambda users: users.without_token(id_))
    _show_change(arguments, {"id": id_}, f"token {id_} is revoked")


def _users_file() -> tuple[UsersFile, datetime]:
    """The users file of the settings, which may not exist yet, and the current instant."""
    from synergy.mx.accounts.users import UsersFile

    settings = _settings()
    if settings.mx_users_file is None:
        raise Refused(NO_FILE)
    return UsersFile(settings.mx_users_file), settings.clock.now()


def _settings() -> Settings:
    """The settings alone: a mistake in the context must not keep users from being changed."""
    from synergy.config.loader import load_settings

    return load_settings()


def _change(
    file: UsersFile, arguments: argparse.Namespace, change: Callable[[Users], Users]
) -> None:
    if not arguments.dry_run:
        file.change(change)


def _show_change(arguments: argparse.Namespace, facts: Mapping[str, object], line: str) -> None:
    output.show_change(arguments, facts, f"dry run: {line}" if arguments.dry_run else line)


def _password(arguments: argparse.Namespace) -> str:
    """The hash of the password that is read; raises InvalidValue if that is too weak."""
    from synergy.mx.accounts import passwords

    if arguments.password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif not sys.stdin.isatty():
        raise Refused("there is no terminal to ask for a password on: add --password-stdin")
    else:
        from getpass import getpass

        password = passwords.checked(getpass("Password: "), arguments.name)
        if getpass("Again: ") != password:
            raise InvalidValue("the two passwords differ; nothing was done")
    return passwords.hashed(passwords.checked(password, arguments.name))
