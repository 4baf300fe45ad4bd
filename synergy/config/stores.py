"""Parses the URLs of stores in settings and arguments."""

from __future__ import annotations

from pathlib import Path

from synergy.engines import store_engine
from synergy.errors import InvalidValue
from synergy.runtime.masking import mask


def store_url(text: str, project: Path, home: Path) -> str:
    """The complete URL of a store, with absolute paths.

    Raises InvalidValue for any other text.
    """

    def file(path: str) -> Path:
        return whole_path(project, path.replace("<home>", str(home)))

    try:
        return store_engine(text).complete(text, file)
    except InvalidValue as error:
        raise InvalidValue(mask(str(error))) from error


def whole_path(project: Path, text: str) -> Path:
    """The absolute path; relative paths start at the project's folder, `~` is expanded."""
    try:
        return project / Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidValue(f"{text!r} cannot be resolved: {error}") from error


def place(url: str) -> str:
    """The URL without user, secrets and options; equal for all URLs of a store."""
    return store_engine(url).place(url)
