"""The fork server: one process that has imported what all processes need, and forks them.

A forked process shares the memory of what was imported with the server and with all others, until
it writes to it. The server has no threads, and opens neither store nor bus nor log, so that
nothing of that kind is copied. It is forked twice: the one in between ends at once, and so the
process becomes a child of the supervisor, which is the subreaper. The supervisor waits for its
end, signals and reaps it like a process that it has started itself.

The server lives as long as its standard input, a socket to the supervisor; see `ForkServer`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import NoReturn

from synergy.supervisor import proc_identity
from synergy.supervisor.proctable import MARKER
from synergy.supervisor.ready import READY_FD

MOST = 65_536  # bytes of a request
READY = {"is_ready": True}
_READY_FD = 3


def serve() -> list[str]:
    """Forks a process for each request, and returns in each of them, with its command.

    In the server itself it does not return: it ends when the supervisor has ended.
    """
    channel = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    _refuse_threads()
    proc_identity.show(sys.orig_argv, os.environ)  # what cannot be done here cannot be done later
    gc.collect()
    gc.freeze()  # no collection writes to what is shared
    with suppress(BrokenPipeError, ConnectionResetError):
        channel.send(json.dumps(READY).encode())
        while True:
            request, files, _, _ = socket.recv_fds(channel, MOST, 2)
            if not request:
                break
            command, marker = json.loads(request)
            begun, begin = os.pipe()
            if _is_forked(begin):
                channel.detach()
                _become(command, marker, files, begin)
                return list(command)
            for file in (begin, *files):
                os.close(file)
            channel.send(_answer(begun))
            os.close(begun)
    raise SystemExit(0)


def _refuse_threads() -> None:
    """Ends the server if it has threads: their locks would be copied in any state."""
    if len(os.listdir("/proc/self/task")) > 1:
        names = ", ".join(thread.name for thread in threading.enumerate())
        raise SystemExit(f"the fork server has threads: {names}")


def _is_forked(begin: int) -> bool:
    """Forks twice; whether this is the new process. The one in between has ended on return."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    try:
        child = os.fork()
    except OSError as error:
        _fail(begin, error)
    if child:
        os._exit(0)
    return True


def _become(command: list[str], marker: str, files: list[int], begin: int) -> None:
    """Makes this process what the command would be, and says so; ends it if that fails."""
    try:
        os.setsid()
        os.environ |= {MARKER: marker, READY_FD: str(_READY_FD)}
        proc_identity.show(command, os.environ)
        output, ready = files
        # The files have greater numbers than these, which are all in use since the server began.
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(ready, _READY_FD, inheritable=False)
    except OSError as error:
        _fail(begin, error)
    sys.orig_argv, sys.argv = command, command[1:]
    importlib.invalidate_caches()  # packages may have been added since the server began
    os.write(begin, str(os.getpid()).encode())
    os.closerange(_READY_FD + 1, max(map(int, os.listdir("/proc/self/fd"))) + 1)


def _fail(begin: int, error: OSError) -> NoReturn:
    os.write(begin, str(error).encode())
    os._exit(1)


def _answer(begun: int) -> bytes:
    said = os.read(begun, 1_000).decode()
    answer = {"pid": int(said)} if said.isdigit() else {"error": said or "it ended at once"}
    return json.dumps(answer).encode()
