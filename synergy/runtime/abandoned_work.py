"""What a worker and the supervisor of its box agree on about work that does not let go.

A unit that was canceled, timed out or given to somebody else is nobody's work any more. Work that
goes on for longer than `GRACE` after that is ended with its process, which leaves with `EXIT`, so
that the supervisor knows that it did so on purpose, and starts another one at once.
"""

from __future__ import annotations

from typing import Final

GRACE: Final = 10.0  # seconds
EXIT: Final = 75  # a temporary failure, by the convention of sysexits: try again
