"""What can be said of a MongoDB URL before anything is connected."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

SCHEMES = ("mongodb", "mongodb+srv")
EXAMPLE = "mongodb://host-1,host-2/synergy?replicaSet=rs0"

_DATABASE = re.compile(r"""[^/\\. "$*<>:|?\x00]{1,63}""")


def mistake(url: str) -> str | None:
    """What is wrong with the URL of a store, and what was expected; None if nothing is.

    It quotes no part of the URL: what looks like a path may be a part of a password.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return f"{url}: {error}; expected, for example, {EXAMPLE}"
    user, _, hosts = parts.netloc.rpartition("@")
    if "@" in user + parts.path + parts.query + parts.fragment:
        return f"{url}: in a password @ is written %40, / %2F, ? %3F and # %23"
    if not hosts:
        return f"{url}: expected a host, for example {EXAMPLE}"
    if not parts.path.strip("/"):
        return f"{url}: expected the name of a database, for example {EXAMPLE}"
    if not _DATABASE.fullmatch(parts.path.removeprefix("/")):
        return f"{url}: that is no name of a database; expected, for example, {EXAMPLE}"
    return None
