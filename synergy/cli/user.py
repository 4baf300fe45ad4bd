"""`launch.py user …`: who may log in to MX, and tokens for programs."""

from __future__ import annotations

import argparse
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from synergy.cli import options

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from synergy.mx.accounts.users import Users, UsersFile

ROLES = ("viewer", "operator", "admin")
SCOPES = ("events", *ROLES)
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}
NO_FILE = (
    "there is no setting mx_users_file: nobody has to log in, and MX is reached from this machine "
    "only. To have users, set SYNERGY_MX_USERS_FILE=var/mx/users.json (or MX_USERS_FILE in "
    "settings/base.py), add one, and restart MX"
)


def add(subparsers: Any) -> None:
    """Adds the noun to the parser."""
    verbs = options.noun(
        subparsers, "user", "who may log in to MX, and tokens for programs",
        "launch.py user add anna --role admin",
    )  # fmt: skip
    new = options.verb(
        verbs, "add", run_add, "let somebody log in, with a password that is asked for",
        "launch.py user add anna --role admin",
    )  # fmt: skip
    new.add_argument("name", metavar="NAME")
    new.add_argument("--role", choices=ROLES, required=True, help="what he may do")
    password = options.verb(
        verbs, "password", run_password, "give a user another password; his sessions end",
        "launch.py user password anna",
    )  # fmt: skip
    password.add_argument("name", metavar="NAME")
    for parser in (new, password):
        parser.add_argument(
            "--password-stdin", action="store_true", help="read it from standard input"
        )
    role = options.verb(
        verbs, "role", run_role, "give a user another role; his sessions end",
        "launch.py user role anna operator",
    )  # fmt: skip
    role.add_argument("name", metavar="NAME")
    role.add_argument("role", choices=ROLES, help="what he may do")
    shown = options.verb(
        verbs, "list", run_list, "show users and tokens", "launch.py user list --json"
    )
    remove = options.verb(
        verbs, "remove", run_remove, "remove a user with his tokens; his sessions end",
        "launch.py user remove anna",
    )  # fmt: skip
    remove.add_argument("name", metavar="NAME")
    token = _token_verb(verbs)
    for parser in (new, password, role, shown, remove, token):
        options.json_option(parser)
    for parser in (new, password, role, remove, token):
        options.dry_run_option(parser)


def _token_verb(verbs: Any) -> Any:
    token = options.verb(
        verbs, "token", run_token, "make a token for a program, or revoke one",
        """launch.py user token anna --scope operator --expires 30d --name backup
        launch.py user token --revoke 1f0c33ab""",
    )  # fmt: skip
    token.add_argument("name", metavar="NAME", nargs="?", help="whose token it is")
    token.add_argument("--scope", choices=SCOPES, help="what it lets a program do")
    token.add_argument(
        "--expires", metavar="90d", type=_life, default=timedelta(days=90),
        help="after how many hours (h) or days (d), 366d at most (90d)",
    )  # fmt: skip
    token.add_argument("--name", dest="label", metavar="TEXT", default="", help="what it is for")
    token.add_argument("--revoke", metavar="ID", help="make this token worthless")
    return token


def run_add(arguments: argparse.Namespace) -> None:
    """One user more."""
    from synergy.mx.accounts.roles import Role
    from synergy.mx.accounts.users import checked_name, new_user

    book, now = _book()
    name, role = checked_name(arguments.name), Role(arguments.role)
    new_user(book.users, name, role, "", now)
    hash_ = "" if arguments.dry_run else _password(arguments)
    _change(book, arguments, lambda users: new_user(users, name, role, hash_, now))
    _tell(arguments, {"user": name, "role": role.value}, f"{name} may log in as {role.value}")


def run_password(arguments: argparse.Namespace) -> None:
    """Another password."""
    from dataclasses import replace

    book, _ = _book()
    name = book.users.user(arguments.name).name
    hash_ = "" if arguments.dry_run else _password(arguments)
    _change(
        book, arguments, lambda users: users.with_user(replace(users.user(name), password=hash_))
    )
    _tell(arguments, {"user": name}, f"{name} has another password; his sessions have ended")


def run_role(arguments: argparse.Namespace) -> None:
    """Another role."""
    from dataclasses import replace

    from synergy.mx.accounts.roles import Role

    book, _ = _book()
    role = Role(arguments.role)
    name = book.users.user(arguments.name).name
    _change(book, arguments, lambda users: users.with_user(replace(users.user(name), role=role)))
    _tell(arguments, {"user": name, "role": role.value}, f"{name} is {role.value} now")


def run_remove(arguments: argparse.Namespace) -> None:
    """One user less."""
    book, _ = _book()
    name = book.users.user(arguments.name).name
    _change(book, arguments, lambda users: users.without_user(name))
    _tell(arguments, {"user": name}, f"{name} may not log in any more, and his tokens are gone")


def run_token(arguments: argparse.Namespace) -> None:
    """A token more or less."""
    from synergy.errors import InvalidValue
    from synergy.mx.accounts.roles import Role
    from synergy.mx.accounts.users import new_token

    if arguments.revoke:
        _revoke(arguments)
        return
    if not (arguments.name and arguments.scope):
        raise InvalidValue("expected NAME and --scope for a new token, or --revoke ID")
    book, now = _book()
    times = (now, now + arguments.expires)
    scope = Role(arguments.scope)
    made = new_token(book.users, arguments.name, scope, arguments.label, times)
    _, token, secret = made
    _change(book, arguments, lambda users: users.with_token(token))
    shown = {} if arguments.dry_run else {"secret": secret}
    facts: dict[str, object] = {"id": token.id, "user": token.user, "scope": scope.value,
             "expires_at": token.expires_at, **shown}  # fmt: skip
    ends = f"{token.expires_at:%Y-%m-%d %H:%M}Z"
    _tell(
        arguments, facts, f"token {token.id} of {token.user}, {scope.value}, until {ends}", secret
    )


def _revoke(arguments: argparse.Namespace) -> None:
    book, _ = _book()
    id_ = arguments.revoke
    book.users.without_token(id_)
    _change(book, arguments, lambda users: users.without_token(id_))
    _tell(arguments, {"id": id_}, f"token {id_} is worthless now")


def run_list(arguments: argparse.Namespace) -> None:
    """Users and tokens, without anything secret."""
    from synergy.cli import output

    book, now = _book()
    users = book.users
    people = sorted(users.people.values(), key=lambda user: user.name)
    tokens = sorted(users.tokens.values(), key=lambda token: (token.user, token.created_at))
    if arguments.json:
        output.print_json(
            {
                "users": [
                    {"name": each.name, "role": each.role.value, "created_at": each.created_at}
                    for each in people
                ],
                "tokens": [
                    {"id": each.id, "name": each.name, "user": each.user,
                     "scope": each.scope.value, "created_at": each.created_at,
                     "expires_at": each.expires_at, "is_over": each.expires_at <= now}
                    for each in tokens
                ],
            }
        )  # fmt: skip
        return
    output.table(
        ["user", "role", "since"],
        [[each.name, each.role.value, output.instant(each.created_at)] for each in people],
    )
    if tokens:
        output.table(
            ["token", "of", "scope", "ends", "name"],
            [[each.id, each.user, each.scope.value, output.instant(each.expires_at), each.name]
             for each in tokens],
        )  # fmt: skip


def _book() -> tuple[UsersFile, datetime]:
    """The users file of the settings, which need not be there yet, and the present instant.

    The context is not looked at, nor anything else that a start would need.
    """
    import os

    from synergy.compose import HERE
    from synergy.config.loader import load_settings
    from synergy.errors import Refused
    from synergy.mx.accounts.users import UsersFile

    settings = load_settings(HERE, os.environ)
    if settings.mx_users_file is None:
        raise Refused(NO_FILE)
    return UsersFile(settings.mx_users_file), settings.clock.now()


def _change(
    book: UsersFile, arguments: argparse.Namespace, change: Callable[[Users], Users]
) -> None:
    if not arguments.dry_run:
        book.change(change)


def _tell(
    arguments: argparse.Namespace, facts: dict[str, object], text: str, secret: str = ""
) -> None:
    from synergy.cli import output

    if arguments.json:
        output.print_json({**facts, "dry_run": arguments.dry_run})
    elif arguments.dry_run:
        output.say(f"would be so: {text}")
    else:
        output.note(text) if secret else output.say(text)
        if secret:
            output.say(secret)
            output.note("this is shown once: keep it where the program finds it")


def _password(arguments: argparse.Namespace) -> str:
    """The hash of a password that is good enough; raises InvalidValue for others."""
    import sys

    from synergy.errors import InvalidValue, Refused
    from synergy.mx.accounts import passwords

    if arguments.password_stdin:
        said = sys.stdin.readline().rstrip("\r\n")
    elif not sys.stdin.isatty():
        raise Refused("nobody is there to be asked for a password: add --password-stdin")
    else:
        from getpass import getpass

        said = passwords.checked(getpass("Password: "), arguments.name)
        if getpass("Again: ") != said:
            raise InvalidValue("the two passwords differ; nothing was done")
    return passwords.hashed(passwords.checked(said, arguments.name))


def _life(text: str) -> timedelta:
    number, unit = text[:-1], UNITS.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit() and len(number) < 6):
        raise argparse.ArgumentTypeError(f"{text!r}: expected 12h or 90d, for example")
    life = int(number) * unit
    if not timedelta(0) < life <= timedelta(days=366):
        raise argparse.ArgumentTypeError(f"{text}: a token lives 1h to 366d")
    return life
