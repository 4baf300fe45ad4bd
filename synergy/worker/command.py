"""Carries out units by a command, started once for each unit.

Exit code 0 means processed, 99 nothing to do, any other a failure, with the end of the program's
standard error as the reason. The items of the command (`model.command_template`) may contain
`${timeperiod}`, `${start}`, `${end}` (the unit's half-open range, as timeperiods; for a run, those
of the period that triggered it, or else its due time as `YYYYMMDDHHmmSS` for all three),
`${attempt}`, `${run}` (the id of a run), `${state}` and `${generation}` (for a run: those of the
period that triggered it), `${home}` (of the deployment) and the names of the entry's arguments, for
which a run may have values of its own. No shell is involved.

Effects of a program outside of Synergy cannot be fenced. Its environment holds the unit (whose id
is that of the run, if it carries out one), the timeperiod, the generation, the attempt, and an
idempotency key that is the same for all attempts of one generation; with these it can avoid
repeated effects.

Of the worker's own environment a program gets only the variables of `PASSED_ON` and those that its
process names; it also gets those that its process sets. The others may hold passwords, which a
program that prints its environment would put into the log of its unit.
"""

from __future__ import annotations

import os
import pwd
import select
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

from synergy.errors import InvalidValue
from synergy.model.command_template import check_values, parse_item
from synergy.model.process import FreerunProcess, WorkingProcess
from synergy.runtime.masking import mask
from synergy.runtime.workplace import Workplace
from synergy.worker.base import Worker
from synergy.worker.outcome import CommandFailed, Nothing, Outcome, Processed
from synergy.worker.task import Task

NOTHING_TO_DO = 99
CHECK_SECONDS = 1.0  # the time between two checks whether the unit was lost
GRACE_SECONDS = 5.0  # the time between TERM and KILL for a program whose unit was lost
DRAIN_SECONDS = 2.0  # the longest wait for an output stream that another process still holds
KEPT = 200  # the last lines of each output stream, kept for the reason and the unit's log

Heard = Callable[[str, bool], object]

PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR"),
    *("XDG_*", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH"),
    # for a program that is `launch.py`: the deployment that it works on
    *("SYNERGY_ENV", "SYNERGY_HOME", "SYNERGY_BOX_ID", "SYNERGY_CONTEXT", "SYNERGY_NO_VENV"),
    "SYNERGY_RUN",  # the mark by which the supervisor finds all processes that it must end
)
"""The variables that every program gets from its worker, as patterns."""


class CommandWorker(Worker):
    """The worker of a process that is declared with a `command`.

    `heard` is called with each line of output as it comes, and whether it is of standard error.
    """

    def __init__(self, workplace: Workplace, heard: Heard | None = None) -> None:
        super().__init__(workplace)
        self._heard = heard

    def work(self, task: Task) -> Outcome:
        arguments = command_line(task, self.workplace.home)
        program = _started(task.process, arguments, environment(task, os.environ))
        output = _Tail(program.stdout, self._heard, is_error=False)
        errors = _Tail(program.stderr, self._heard, is_error=True)
        try:
            _wait(program, task)
        finally:
            _end(program)
            for line in (*output.lines(), *errors.lines()):
                task.log.info("%s", line)
        code = program.returncode
        if code == NOTHING_TO_DO:
            return Nothing()
        if code != 0:
            how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
            text = "\n".join(errors.lines()) or "nothing on standard error"
            raise CommandFailed(how, text[-3500:])
        return Processed()


def _started(
    process: WorkingProcess, arguments: list[str], variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """The program, as the user that its process names; raises CommandFailed if it cannot start."""
    account = _account(process)
    is_other = account is not None and account.pw_uid != os.geteuid()
    try:
        with _input(process.stdin) as stdin:
            return subprocess.Popen(
                arguments,
                cwd=process.cwd,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=variables,
                start_new_session=True,
                user=account.pw_uid if account and is_other else None,
                group=account.pw_gid if account and is_other else None,
                extra_groups=_groups(account) if account and is_other else None,
            )
    except OSError as error:
        what = f"{arguments[0]} cannot be started"
        if process.cwd is not None and error.filename == process.cwd:
            what = f"{process.cwd}, its cwd, cannot be entered"
        elif is_other and os.geteuid() != 0:
            what += f" as {process.user}, which only root can do"
        raise CommandFailed(f"{what}: {error.strerror}") from None


def _account(process: WorkingProcess) -> pwd.struct_passwd | None:
    """The user that the program runs as; None for the worker's own."""
    if process.user is None:
        return None
    try:
        return pwd.getpwnam(process.user)
    except KeyError:
        raise CommandFailed(f"this box has no user {process.user}") from None


def _groups(account: pwd.struct_passwd) -> list[int]:
    return os.getgrouplist(account.pw_name, account.pw_gid)


@contextmanager
def _input(text: str | None) -> Iterator[IO[bytes] | int]:
    """The standard input of a program: a file with the text, so that nothing has to be fed."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file


def command_line(task: Task, home: Path) -> list[str]:
    """The command with the unit's values inserted.

    Arguments of a run that the entry of the process does not name are left out. Raises
    CommandFailed for a value with NUL, or that would be an option of the program and may not.
    """
    process, unit, arguments = task.process, task.unit, task.arguments
    values: dict[str, object] = {
        **(_ending(task) if isinstance(process, FreerunProcess) else {}),
        **{name: arguments[name] for name in process.arguments},
        **_period(task),
        "attempt": unit.attempt,
        "home": home,
    }
    if isinstance(process, FreerunProcess):
        values["run"] = unit.id
    assert process.command is not None
    try:
        check_values(process.command, values, process.option_arguments)
    except InvalidValue as error:
        raise CommandFailed(str(error)) from None
    return [parse_item(item).fill(values) for item in process.command]


def _period(task: Task) -> dict[str, str]:
    """The period to work on: the unit's, or the period that triggered the run."""
    unit = task.unit
    period = {
        "timeperiod": unit.timeperiod,
        "start": unit.start_timeperiod,
        "end": unit.end_timeperiod,
    }
    cause = _cause(task)
    return period | {name: str(cause[name]) for name in period if cause.get(name)}


def _ending(task: Task) -> dict[str, str]:
    """The final state and the generation of the period that triggered the run, or empty texts.

    Arguments of the same names take precedence, for compatibility.
    """
    cause = _cause(task)
    return {
        "state": str(cause.get("status", "")),
        "generation": str(cause.get("generation", "")),
    }


def _cause(task: Task) -> Mapping[str, object]:
    return task.run.detail.cause if task.run is not None else {}


def environment(task: Task, worker: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program: variables of the worker's, and the unit's values."""
    unit, process = task.unit, task.process
    patterns = (*PASSED_ON, *process.environment)
    account = _account(process)
    return {
        **{
            name: value
            for name, value in worker.items()
            if any(fnmatchcase(name, pattern) for pattern in patterns)
        },
        **({} if account is None else _login_variables(account)),
        **process.variables,
        "SYNERGY_UNIT": unit.id,
        "SYNERGY_TIMEPERIOD": _period(task)["timeperiod"],
        "SYNERGY_GENERATION": str(unit.generation),
        "SYNERGY_ATTEMPT": str(unit.attempt),
        "SYNERGY_IDEMPOTENCY_KEY": f"{unit.id}:{unit.generation}",
    }


def _login_variables(account: pwd.struct_passwd) -> dict[str, str]:
    name = account.pw_name
    return {"USER": name, "LOGNAME": name, "HOME": account.pw_dir}


def _wait(program: subprocess.Popen[bytes], task: Task) -> None:
    """Waits for the program's end; raises LostAttempt if its unit is lost meanwhile."""
    handle = os.pidfd_open(program.pid)
    try:
        while not select.select([handle], [], [], CHECK_SECONDS)[0]:
            task.checkpoint()
    finally:
        os.close(handle)


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ends the program and the processes of its group.

    The program is reaped last: until then its pid, and its group's, cannot be used again.
    """
    handle = os.pidfd_open(program.pid)
    try:
        if not select.select([handle], [], [], 0)[0]:
            _signal_group(program, signal.SIGTERM)
            select.select([handle], [], [], GRACE_SECONDS)
    finally:
        os.close(handle)
    _signal_group(program, signal.SIGKILL)
    program.wait()


def _signal_group(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(PermissionError):  # a program that changed its user cannot be signalled
        os.killpg(program.pid, number)


class _Tail:
    """Reads a stream to its end in a thread of its own, and keeps the last lines.

    It is not a service: it ends with the stream, and a blocked read cannot be interrupted.
    """

    def __init__(self, stream: IO[bytes] | None, heard: Heard | None, *, is_error: bool) -> None:
        assert stream is not None
        self._stream = stream
        self._heard = heard
        self._is_error = is_error
        self._kept: deque[bytes] = deque(maxlen=KEPT)
        self._is_cut = False  # whether the kept lines begin within a line of the stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while line := self._stream.readline(8192):
                if len(self._kept) == KEPT:
                    self._is_cut = not self._kept[0].endswith(b"\n")
                self._kept.append(line)
                if self._heard is not None:
                    text = line.decode(errors="replace").removesuffix("\n")
                    self._heard(mask(text), self._is_error)

    def lines(self) -> list[str]:
        """The last lines, masked; waits briefly for a stream that another process still holds.

        Secrets are masked in the whole text, before it is split or shortened, which could cut a
        secret in two. A first line whose beginning is not kept is replaced by `...`, because it may
        begin within a secret.
        """
        self._thread.join(DRAIN_SECONDS)
        kept = b"".join(self._kept)
        if self._is_cut:
            kept = b"...\n" + kept.partition(b"\n")[2]
        text = mask(kept.decode(errors="replace"))
        return text.removesuffix("\n").split("\n") if text else []
