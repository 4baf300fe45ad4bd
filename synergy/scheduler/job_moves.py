"""Moves of jobs: neighbours that move alike, and the jobs of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synergy.model.job import JobChange


def merged(moves: Sequence[JobChange]) -> list[JobChange]:
    """Neighbouring jobs that make the same move without a unit become one move."""
    found: list[JobChange] = []
    for move in moves:
        previous = found[-1] if found else None
        if previous is not None and _continues(previous, move):
            found[-1] = replace(move, first=previous.first)
        else:
            found.append(move)
    return found


def _continues(previous: JobChange, move: JobChange) -> bool:
    return (
        move.unit is None
        and previous.unit is None
        and previous.last + 1 == move.first
        and (previous.process, previous.before, previous.after)
        == (move.process, move.before, move.after)
        and (previous.generation, previous.why, previous.covered, previous.flags)
        == (move.generation, move.why, move.covered, move.flags)
    )


def jobs_of(moves: Sequence[JobChange]) -> set[tuple[str, int]]:
    """The process and ordinal of each job that the moves are about."""
    return {(move.process, at) for move in moves for at in range(move.first, move.last + 1)}
