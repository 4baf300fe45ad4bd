"""Blocks of job states, one byte per job, as every engine stores them.

An engine reads the blocks of a group of moves, applies the moves in memory one after the other, and
writes the changed blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from synergy.model.job import STATE_MASK, UNREADABLE, JobChange, JobSpan

BLOCK = 1024  # jobs

Place = tuple[str, int]
"""A process and the number of a block: the ordinal of its first job / BLOCK."""

_WITHOUT_FLAGS = bytes(byte & STATE_MASK for byte in range(256))


class Block:
    """The states of 1,024 neighbouring jobs, and the generations that are not 1, by ordinal."""

    __slots__ = ("first", "generations", "states")

    def __init__(self, number: int, states: bytes, generations: dict[int, int]) -> None:
        self.first = number * BLOCK
        self.states = bytearray(states)
        self.generations = generations

    @classmethod
    def empty(cls, number: int) -> Block:
        """A block whose jobs were never moved."""
        return cls(number, bytes(BLOCK), {})

    def is_as(self, move: JobChange, first: int, last: int) -> bool:
        """Whether the jobs `first` to `last` all have the state and generation of the move."""
        states = self.states[first - self.first : last - self.first + 1]
        if states.translate(_WITHOUT_FLAGS).strip(bytes((move.before,))):
            return False
        if not self.generations:
            return move.generation == 1
        jobs = range(first, last + 1)
        return all(self.generations.get(job, 1) == move.generation for job in jobs)

    def apply(self, first: int, last: int, byte: int, generation: int | None) -> None:
        """Sets the jobs to a byte, and to a generation if one is given."""
        count = last - first + 1
        self.states[first - self.first : last - self.first + 1] = bytes((byte,)) * count
        if generation is not None:
            self.generations.update(dict.fromkeys(range(first, last + 1), generation))

    def span(self, process: str) -> JobSpan:
        """The jobs from the first to the last one that was ever moved."""
        states = bytes(self.states)
        begin = len(states) - len(states.lstrip(b"\0"))
        end = len(states.rstrip(b"\0"))
        for ordinal in self.generations:
            begin = min(begin, ordinal - self.first)
            end = max(end, ordinal - self.first + 1)
        return JobSpan(process, self.first + begin, states[begin:end], self.generations)


def unreadable(process: str, number: int) -> JobSpan:
    """The jobs of a malformed block: nothing is decided about them."""
    return JobSpan(process, number * BLOCK, bytes((UNREADABLE,)) * BLOCK, {})


class Blocks:
    """The blocks of a group of moves: each is read once, and the changed ones are recorded."""

    def __init__(self, read: Callable[[Place], Block]) -> None:
        self._read = read
        self._blocks: dict[Place, Block] = {}
        self._changed: set[Place] = set()

    def apply(self, move: JobChange) -> bool:
        """Applies the move to all of its jobs, or to none; returns whether it did."""
        parts = list(parts_of(move.process, move.first, move.last))
        if not all(self._block(place).is_as(move, *jobs) for place, jobs in parts):
            return False
        for place, jobs in parts:
            self._block(place).apply(*jobs, byte_after(move), generation_after(move))
            self._changed.add(place)
        return True

    def changed(self) -> Iterable[tuple[Place, Block]]:
        """The blocks that moves were applied to."""
        return [(place, self._blocks[place]) for place in self._changed]

    def _block(self, place: Place) -> Block:
        block = self._blocks.get(place)
        if block is None:
            block = self._blocks[place] = self._read(place)
        return block


def parts_of(process: str, first: int, last: int) -> Iterable[tuple[Place, tuple[int, int]]]:
    """The blocks of a range of jobs, each with its first and last job of the range."""
    for number in range(first // BLOCK, last // BLOCK + 1):
        begin = number * BLOCK
        yield (process, number), (max(first, begin), min(last, begin + BLOCK - 1))


def places_of(moves: Sequence[JobChange]) -> set[Place]:
    """All blocks that hold jobs of the moves."""
    return {place for move in moves for place, _ in parts_of(move.process, move.first, move.last)}


def byte_after(move: JobChange) -> int:
    """The byte of a job after the move: state and flags."""
    return move.after | move.flags


def generation_after(move: JobChange) -> int | None:
    """The generation after the move; None if it does not change."""
    return move.generation + 1 if move.start_over else None
