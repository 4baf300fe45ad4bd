"""The command `synergy`, and `python -m synergy`: the program of an installed package."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs the command line; returns its exit code."""
    os.environ["SYNERGY_PROGRAM"] = "synergy"  # before `synergy.program` reads it
    from synergy.cli import main as command_line

    return command_line.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
