"""The fork server: one process that has imported what all processes need, and forks them.

A forked process shares the memory of what was imported with the server and with all others, until
it writes to it. The server has no threads, and opens neither store nor bus nor log, so that
nothing of that kind is copied. It is forked twice: the one in between ends at once, and so the
process becomes a child of the supervisor, which is the subreaper. The supervisor waits for its
end, signals and reaps it like a process that it has started itself.

Processes that are started together also share what they prepare. A *template*, a fork of the
server that lives until they are started, prepares it once, and forks them. So nothing is older
than their start. A template that has got threads or open files would be copied with them: then
each process prepares by itself, and so does each one if the preparation fails.

The server lives as long as its standard input, a socket to the supervisor; see `ForkServer`.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from synergy.supervisor import proc_identity
from synergy.supervisor.proctable import MARKER
from synergy.supervisor.ready import READY_FD

MOST = 65_536  # bytes of a message
_UNPREPARED = 3  # the exit code of a template without use
_READY_FD = 3

_Prepared = TypeVar("_Prepared")


def serve(prepare: Callable[[], _Prepared]) -> tuple[list[str], _Prepared | None]:
    """Forks processes on request; returns in each its command, and what was prepared for it.

    In the server itself it does not return: it ends when the supervisor has ended.
    """
    channel = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    if threads := _threads():
        raise SystemExit(f"the fork server has threads: {threads}")
    proc_identity.show(sys.orig_argv, os.environ)  # what cannot be done here cannot be done later
    gc.collect()
    gc.freeze()  # no collection writes to what is shared
    with suppress(BrokenPipeError, ConnectionResetError):
        _send(channel, {"ready": True})
        return _serve(channel, prepare, ())
    raise SystemExit(0)


def _serve(
    channel: socket.socket, prepare: Callable[[], _Prepared], prepared: Sequence[_Prepared]
) -> tuple[list[str], _Prepared | None]:
    """Serves requests; in a template, which has prepared something, until it is done."""
    while True:
        text, files, _, _ = socket.recv_fds(channel, MOST, 2)
        match json.loads(text or '{"end": true}'):
            case {"prepare": True}:
                _forget_missing_folders()
                template = os.fork()
                if template == 0:
                    return _serve(channel, prepare, [_prepared(channel, prepare)])
                _await_template(channel, template)
            case {"command": list(command), "marker": str(marker)}:
                begun, begin = os.pipe()
                if _is_forked(begin):
                    channel.detach()
                    _become(command, marker, files, begin)
                    return command, next(iter(prepared), None)
                for file in (begin, *files):
                    os.close(file)
                _send(channel, _answer(begun))
            case {"done": True} if not prepared:
                pass  # the template was of no use
            case _ if prepared:
                os._exit(0)
            case _:
                raise SystemExit(0)


def _forget_missing_folders() -> None:
    """Lets imports find folders that have been made since; other changes are seen anyway."""
    for folder, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[folder]


def _prepared(channel: socket.socket, prepare: Callable[[], _Prepared]) -> _Prepared:
    """What was prepared; ends the template if that fails, or is not fit to be copied."""
    files = len(os.listdir("/proc/self/fd"))
    with suppress(Exception, SystemExit):  # each process meets and reports it
        prepared = prepare()
        if not _threads() and len(os.listdir("/proc/self/fd")) == files:
            gc.freeze()
            _send(channel, {"prepared": True})
            return prepared
    os._exit(_UNPREPARED)


def _await_template(channel: socket.socket, template: int) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(template, 0)[1])
    if code == _UNPREPARED:
        _send(channel, {"prepared": False})
    elif code != 0:
        raise SystemExit(f"the template of the fork server died, exit code {code}")


def _threads() -> str:
    """The names of the threads besides the only one that may be; locks of others are copied."""
    if len(os.listdir("/proc/self/task")) == 1:
        return ""
    return ", ".join(thread.name for thread in threading.enumerate())


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
    os.write(begin, str(os.getpid()).encode())
    os.closerange(_READY_FD + 1, max(map(int, os.listdir("/proc/self/fd"))) + 1)


def _fail(begin: int, error: OSError) -> NoReturn:
    os.write(begin, str(error).encode())
    os._exit(1)


def _answer(begun: int) -> dict[str, Any]:
    said = os.read(begun, 1_000).decode()
    os.close(begun)
    return {"pid": int(said)} if said.isdigit() else {"error": said or "it ended at once"}


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.send(json.dumps(message).encode())
