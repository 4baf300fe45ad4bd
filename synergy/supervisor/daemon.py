"""Starts a supervisor: detached, as a daemon, or attached to the terminal.

`start_detached` returns when every process either runs or has died once; see `start_report`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from synergy import private_files
from synergy.errors import (
    ConfigurationError,
    MessagingUnavailable,
    Refused,
    StorageUnavailable,
    SynergyError,
)
from synergy.runtime.stop import Stop
from synergy.supervisor import home_lock, output
from synergy.supervisor.box_claim import BoxClaim
from synergy.supervisor.config import SupervisorConfig
from synergy.supervisor.home_lock import HomeLock
from synergy.supervisor.start_report import (
    Outcome,
    Pipe,
    StartReport,
    StartReporter,
    Watcher,
    follow,
)
from synergy.supervisor.supervisor import Supervisor

SPACE = 16 << 20  # bytes that a start needs: a small store, its write-ahead log, log files

logger = logging.getLogger(__name__)


def run_foreground(config: SupervisorConfig, watcher: Watcher) -> StartReport:
    """Supervises in this process until SIGTERM, SIGINT or SIGHUP; returns when all has ended."""
    if home_lock.holder(config.home) is None and (lack := _lack_of_space(config.home)):
        return lack
    return _supervise(config, lambda pid: None, watcher, lambda: None)


def start_detached(
    config: SupervisorConfig, watcher: Watcher, timeout: float = 60.0
) -> StartReport:
    """Starts a supervisor that outlives the caller; returns when its processes are up.

    The caller must have no threads, and neither store nor bus open: they would not survive the
    fork. After `timeout` seconds it returns although the start goes on.
    """
    if home_lock.holder(config.home) is not None:
        return _running_already(config)
    private_files.make_home_folder(config.home / "logs")
    if lack := _lack_of_space(config.home):
        return lack
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_daemon(config, writer)
    os.close(writer)
    os.waitpid(child, 0)
    try:
        return follow(reader, config, watcher, timeout)
    finally:
        os.close(reader)


def _supervise(
    config: SupervisorConfig,
    began: Callable[[int], None],
    watcher: Watcher,
    settled: Callable[[], None],
) -> StartReport:
    held = HomeLock(config.home, config.box)
    if not held.acquire():
        return _running_already(config)
    try:
        config.open_logs()
        began(os.getpid())
        return _supervise_locked(config, held, watcher, settled)
    finally:
        held.release()


def _running_already(config: SupervisorConfig) -> StartReport:
    """Nothing to do; refused if the home has the supervisor of another box."""
    running = home_lock.holder(config.home)
    pid = running.pid if running else None
    box = home_lock.holder_box(config.home)
    if box in {"", config.box}:
        return StartReport(Outcome.ALREADY_RUNNING, pid)
    return StartReport(
        Outcome.REFUSED,
        reason=f"{config.home} has the supervisor of box {box} (pid {pid}), and this start is for "
        f"box {config.box}: set SYNERGY_BOX_ID={box}, or SYNERGY_HOME to a home of its own",
    )


def _lack_of_space(home: Path) -> StartReport | None:
    """Why nothing can be started on this disk; None if it has room."""
    probe = home / "run" / "space"
    private_files.make_home_folder(probe.parent)
    handle = private_files.open_file(probe, os.O_WRONLY | os.O_CREAT)
    try:
        os.posix_fallocate(handle, 0, SPACE)
    except OSError as error:
        return StartReport(
            Outcome.UNREACHABLE,
            reason=f"{home}: {error.strerror}: a start needs {SPACE >> 20} MiB; free some, or set "
            "SYNERGY_HOME to a home on another disk",
        )
    finally:
        os.close(handle)
        probe.unlink(missing_ok=True)  # a start at the same time has the same probe
    return None


def _supervise_locked(
    config: SupervisorConfig, held: HomeLock, watcher: Watcher, settled: Callable[[], None]
) -> StartReport:
    try:
        store, bus = config.connect()
    except (StorageUnavailable, MessagingUnavailable) as error:
        return StartReport(Outcome.UNREACHABLE, reason=str(error))
    except ConfigurationError as error:
        return StartReport(Outcome.MISCONFIGURED, reason=str(error))
    except Refused as error:
        return StartReport(Outcome.REFUSED, reason=str(error))
    stop = Stop()
    _stop_on_signals(stop)
    claim = BoxClaim(store.leases, config.clock, config.box, held.holder, held.predecessor)
    supervisor = Supervisor(config, store, bus, stop)
    exclusivity = _Exclusivity(config, held, claim, stop)
    try:
        if claim.acquire(stop):
            _run(supervisor, exclusivity, StartReporter(supervisor, watcher, settled))
    except StorageUnavailable as error:
        return StartReport(Outcome.UNREACHABLE, reason=str(error))
    except Refused as error:
        logger.error("%s", error, extra={"event": "supervisor.refused"})  # noqa: TRY400
        return StartReport(Outcome.REFUSED, reason=str(error))
    finally:
        bus.close()
        store.close()
    return StartReport(Outcome.STOPPED, os.getpid())


def _run(supervisor: Supervisor, exclusivity: _Exclusivity, reporter: StartReporter) -> None:
    """Supervises until asked to stop; raises Refused if the box was taken by another meanwhile."""

    def after_turn() -> None:
        reporter.report()
        exclusivity.check()

    logger.info("Supervisor of box %s", exclusivity.box, extra={"event": "supervisor.started"})
    supervisor.run(after_turn)
    exclusivity.release()
    logger.info("Supervisor stopped", extra={"event": "supervisor.stopped"})


class _Exclusivity:
    """The lock of the home and the claim of the box, which exclude other supervisors.

    Without one of them another supervisor can start or has started, so this one stops.
    """

    def __init__(
        self, config: SupervisorConfig, held: HomeLock, claim: BoxClaim, stop: Stop
    ) -> None:
        self.box = config.box
        self._home = config.home
        self._held = held
        self._claim = claim
        self._stop = stop
        self._refusal: Refused | None = None

    def check(self) -> None:
        if self._stop.is_set:
            return
        if not self._held.is_intact:
            self._lose("home_lost", f"{self._home} was removed")
        try:
            self._claim.keep()
        except StorageUnavailable:  # the supervisor itself logs it
            return
        except Refused as error:
            self._refusal = error
            self._lose("box_lost", str(error))

    def release(self) -> None:
        """Releases the box after all processes have ended; raises Refused if that was the cause."""
        with suppress(StorageUnavailable):
            self._claim.release()
        if self._refusal is not None:
            raise self._refusal

    def _lose(self, event: str, reason: str) -> None:
        logger.error("%s: stopping", reason, extra={"event": f"supervisor.{event}"})
        self._stop.set()


def _stop_on_signals(stop: Stop) -> None:
    stop.on_signals(signal.SIGTERM, signal.SIGINT)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
        stop.on_signals(signal.SIGHUP)


def _be_daemon(config: SupervisorConfig, writer: int) -> NoReturn:
    """Supervises as a daemon and never returns into the caller's copy of the program."""

    def detached() -> SupervisorConfig:
        _detach(config, writer)
        if config.program:
            for file in (sys.stdin.fileno(), writer):
                os.set_inheritable(file, True)
            os.execv(config.program[0], [*config.program, str(writer)])
        return config

    supervise_detached(detached, writer)


def supervise_detached(configured: Callable[[], SupervisorConfig], writer: int) -> NoReturn:
    """Supervises with the configuration, reports to the file `writer`, and ends the process."""
    code = 1
    pipe = Pipe(writer)
    try:
        config = configured()
        report = _supervise(config, pipe.began, pipe.changed, pipe.settled)
        pipe.ended(report)
        code = 0 if report.outcome in {Outcome.STOPPED, Outcome.ALREADY_RUNNING} else 1
    except (SynergyError, OSError) as error:
        pipe.ended(StartReport(Outcome.FAILED, reason=str(error)))
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _detach(config: SupervisorConfig, writer: int) -> None:
    from daemon import DaemonContext

    umask = os.umask(0)
    os.umask(umask)
    with output.appending(config.home / "logs" / "supervisor.out") as log:
        DaemonContext(
            working_directory=str(config.directory),
            umask=umask,
            prevent_core=False,
            detach_process=True,
            files_preserve=[writer],
            stdout=log,
            stderr=log,
            signal_map={},
        ).open()
