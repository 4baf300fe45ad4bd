"""Standard output and error of a process that nobody watches: visible, and without secrets.

The supervisor appends them to `logs/<process>.out`: what work prints, and the traceback of an
interpreter that ends. The output of programs that work starts itself is not masked.

A secret may be printed in pieces, so whole lines are masked: an unfinished line is written when it
ends, or when the process does.
"""

from __future__ import annotations

import atexit
import sys
import threading
from contextlib import suppress
from io import TextIOBase
from typing import TextIO, cast

from synergy.runtime.masking import mask
from synergy.visible_text import visible

LONGEST = 65_536  # characters of an unfinished line that are kept
KEPT_BACK = 8_192  # of a longer one: longer than any secret that could continue


class MaskedOutput(TextIOBase):
    """A text stream that writes whole lines to another one, masked and with visible characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line = ""
        self._lock = threading.RLock()  # a signal's handler may print, too

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            lines, end, self._line = (self._line + text).rpartition("\n")
            if end:
                self._show(mask(lines) + end)
            if len(self._line) > LONGEST:
                masked = mask(self._line)
                self._line = masked[-KEPT_BACK:]
                self._show(masked[:-KEPT_BACK])
        return len(text)

    def finish(self) -> None:
        """Writes the unfinished line, unless the stream is closed by now."""
        with self._lock, suppress(ValueError):
            line, self._line = self._line, ""
            self._show(mask(line))

    def _show(self, masked: str) -> None:
        self._stream.write(visible(masked))
        self._stream.flush()


def mask_output() -> None:
    """Masks what this process prints from now on."""
    out, err = MaskedOutput(sys.stdout), MaskedOutput(sys.stderr)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)
    atexit.register(err.finish)
    atexit.register(out.finish)
