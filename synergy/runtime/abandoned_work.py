"""The convention between a worker and its supervisor about work on a lost unit.

Work that goes on for longer than `GRACE_SECONDS` after its unit was canceled, timed out or handed
out again is ended with its process. The process exits with `EXIT_CODE`, so that the supervisor
knows that it did so on purpose, and starts another one at once.
"""

from __future__ import annotations

from typing import Final

GRACE_SECONDS: Final = 10.0
EXIT_CODE: Final = 75  # a temporary failure, by the convention of sysexits: try again
