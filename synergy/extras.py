"""The parts of Synergy whose packages are optional, and are named as extras of its own package."""

from __future__ import annotations

from importlib.util import find_spec

from synergy.errors import InvalidValue
from synergy.program import LAUNCHER, PACKAGE, PROGRAM


def require(extra: str, package: str) -> None:
    """Raises InvalidValue, with what to install, if the package of an extra is not installed."""
    if find_spec(package) is not None:
        return
    install = f"pip install '{PACKAGE}[{extra}]'"
    if PROGRAM == LAUNCHER:
        install = f"add {package} to requirements-local.txt"
    raise InvalidValue(f"{package} is not installed: {install}")
