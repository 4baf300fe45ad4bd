"""Runs programs to their end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.figures import BenchFailed

_TAIL = 2000  # characters of the output that an error shows


def output_of(
    command: Sequence[str],
    name: str,
    timeout: float,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """The standard output of a program; raises BenchFailed if it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"{name} took more than {timeout:g} s") from None
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        raise BenchFailed(f"{name} ended with {done.returncode}: {text[-_TAIL:]}")
    return done.stdout
