"""An index of the lines of a large file.

The file is divided into blocks of whole lines. The index has the position of each block and the
number of lines before it, so that any line is found by reading one block.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

BLOCK = 64 * 1024  # bytes
LONGEST = 1024 * 1024  # bytes of a line; a longer line counts as several


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a file up to the byte `end`, which hold `lines`.

    `begins` are positions in bytes, `numbers` the lines of the file before each block.
    """

    begins: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    lines: int = 0
    end: int = 0


def blocks_of(handle: int, size: int, is_live: bool, known: Blocks | None = None) -> Blocks:
    """The blocks of the first `size` bytes of a file.

    `known` is the index of the file when it was shorter. While the file `is_live`, a last line
    without an end is left out, because it may still be being written.
    """
    if known is None or known.end > size:
        known = Blocks()
    begins, numbers = list(known.begins), list(known.numbers)
    lines, end = known.lines, known.end
    if begins and end - begins[-1] < BLOCK // 2 and end < size:
        end, lines = begins.pop(), numbers.pop()  # the last block is extended
    while end < size:
        block = _block(handle, end, size, is_live)
        if not block:
            break
        begins.append(end)
        numbers.append(lines)
        lines += len(_split(block))
        end += len(block)
    return Blocks(tuple(begins), tuple(numbers), lines, end)


def lines_of(handle: int, begin: int, end: int) -> list[bytes]:
    """The lines of a block."""
    return _split(os.pread(handle, end - begin, begin))


def _block(handle: int, begin: int, size: int, is_live: bool) -> bytes:
    """The whole lines of the block that begins there; none if the only line has no end yet."""
    wanted = BLOCK
    while True:
        block = os.pread(handle, min(wanted, size - begin), begin)
        cut = block.rfind(b"\n") + 1
        if cut or wanted >= LONGEST or len(block) < wanted:
            break
        wanted *= 2
    is_at_end = begin + len(block) >= size
    if is_at_end and not is_live:
        return block
    if cut == 0 and wanted >= LONGEST:
        return block
    return block[:cut]


def _split(block: bytes) -> list[bytes]:
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines
