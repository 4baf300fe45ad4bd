"""Standard output and error of a process that nobody watches: visible, and without secrets.

The supervisor appends them to `logs/<process>.out`: what work prints, and the traceback of an
interpreter that ends. The output of programs that work starts itself is not masked.
"""

from __future__ import annotations

import sys
import threading
from io import TextIOBase
from typing import TextIO, cast

from synergy.runtime.masking import mask
from synergy.visible_text import visible

LONGEST = 65_536  # characters of an unfinished line that are kept


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
                self._stream.write(visible(mask(lines)) + end)
                self._stream.flush()
            if len(self._line) > LONGEST:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Writes the unfinished line as well."""
        with self._lock:
            line, self._line = self._line, ""
            self._stream.write(visible(mask(line)))
            self._stream.flush()


def mask_output() -> None:
    """Masks what this process prints from now on."""
    sys.stdout = cast("TextIO", MaskedOutput(sys.stdout))
    sys.stderr = cast("TextIO", MaskedOutput(sys.stderr))
