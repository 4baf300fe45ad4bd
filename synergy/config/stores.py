"""The URLs of stores."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from synergy.config import mongodb
from synergy.errors import InvalidValue
from synergy.runtime.masking import mask

DEFAULT = "sqlite:///<home>/synergy.db"

SQLITE = "sqlite:///"  # before the path of a file
_PORT = 27017  # of MongoDB, where the URL names none


def store_url(text: str, project: Path, home: Path) -> str:
    """The URL that a setting or a person names, a file with its whole path.

    Raises InvalidValue, which says what was expected, for anything that cannot be a store.
    """
    scheme, _, rest = text.partition("://")
    if scheme in mongodb.SCHEMES:
        if mistake := mongodb.mistake(text):
            raise InvalidValue(mask(mistake))
        return text
    if scheme != "sqlite" or not rest.startswith("/") or rest.endswith("/"):
        expected = f"expected sqlite:///FILE, for example {DEFAULT}, or {mongodb.EXAMPLE}"
        raise InvalidValue(mask(f"{text!r}: {expected}"))
    if rest == "/:memory:":
        raise InvalidValue("a store in memory cannot be shared by several processes")
    file = rest.removeprefix("/").replace("<home>", str(home))
    return f"{SQLITE}{whole_path(project, file)}"


def whole_path(project: Path, text: str) -> Path:
    """Absolute; relative paths begin at the project's folder, `~` is understood."""
    try:
        return project / Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidValue(f"{text!r} cannot be resolved: {error}") from error


def place(url: str) -> str:
    """Where a store is, without user, secrets and options; equal for URLs of the same store.

    Names of hosts are taken as they are: two of them may still mean one machine.
    """
    if url.startswith(SQLITE):
        return f"{SQLITE}{Path(url.removeprefix(SQLITE)).resolve()}"
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2].lower().split(",")
    if parts.scheme == "mongodb":
        hosts = [host if _has_port(host) else f"{host}:{_PORT}" for host in hosts]
    return f"{parts.scheme}://{','.join(sorted(hosts))}{parts.path}"


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")
