"""The program of a detached supervisor: `python -m synergy.cli.supervising MODULE... MARKER FILE`.

It imports what the fork server needs, and forks the server before it reads the project: so both
share this memory, and the server has nothing of the project. `FILE` is the number of the open file
that it reports to; see `supervisor.daemon`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from synergy import compose
from synergy.cli import preloaded
from synergy.supervisor.fork_client import ForkFailed, ForkServer

if TYPE_CHECKING:
    from synergy.supervisor.config import SupervisorConfig


def _configured(server: ForkServer | None) -> SupervisorConfig:
    """The configuration of the project, for a supervisor with this fork server."""
    from dataclasses import replace

    from synergy.config.project import program_line
    from synergy.supervisor import proc_identity

    project = compose.open_project()
    with suppress(OSError):  # only its name in ps is another one then
        proc_identity.show([*program_line(project.path), "supervisor", "start"], os.environ)
    return replace(compose.supervisor_config(project), server=server)


def main(modules: list[str], marker: str, writer: int) -> None:
    """Supervises; returns in the processes that the fork server forks, once they have ended."""
    os.set_inheritable(writer, False)
    preloaded.load(modules)
    server = None
    with suppress(ForkFailed):  # then the supervisor starts one
        server = ForkServer.forked([sys.executable, "-m", preloaded.__name__, *modules], marker)
        if server is None:
            preloaded.run()
    from synergy.supervisor.daemon import supervise_detached  # the server does not need it

    supervise_detached(lambda: _configured(server), writer)


if __name__ == "__main__":
    main(sys.argv[1:-2], sys.argv[-2], int(sys.argv[-1]))
