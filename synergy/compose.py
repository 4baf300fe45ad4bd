"""The composition root, where engines and services meet: settings and context become processes."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from synergy import private_files
from synergy.config.entry_points import entry_point
from synergy.config.loader import check, read_again
from synergy.config.project import program_line, project_folder
from synergy.config.settings import Settings
from synergy.engines import bus_engine, mongodb, store_engine
from synergy.errors import (
    ConfigurationError,
    MessagingUnavailable,
    NotFound,
    StorageUnavailable,
    SynergyError,
)
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Deployment, Process, WorkingProcess
from synergy.names import DELIVERIES
from synergy.runtime import identity
from synergy.runtime.stop import Stop
from synergy.schedule.format.literals import suggestion

if TYPE_CHECKING:
    from synergy.messaging.protocol import Bus
    from synergy.runtime.workplace import Workplace
    from synergy.storage.protocol import Store
    from synergy.storage.protocol.check import Progress, StoreCheck
    from synergy.supervisor.config import SupervisorConfig

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Project:
    """A deployment on disk: its folder, its settings, and what `context.py` declares.

    `warnings` are about what is valid but probably a mistake.
    """

    path: Path
    settings: Settings
    deployment: Deployment
    warnings: tuple[str, ...]

    def process(self, name: str) -> Process:
        """The process of that name; raises NotFound, with the nearest name, if it is unknown."""
        found = self.deployment.processes.get(name)
        if found is None:
            raise NotFound("process", name, suggestion(name, self.deployment.processes))
        return found

    @property
    def queues(self) -> list[str]:
        """The queues of all processes, and the one that agents share."""
        processes = self.deployment.processes.values()
        return sorted({DELIVERIES, *(process.queue for process in processes)})


def open_project(
    path: Path | None = None, environ: Mapping[str, str] = os.environ, *, imports: bool = False
) -> Project:
    """The project in a folder, or the one found; raises ConfigurationError with all mistakes.

    With `imports`, the classes of all processes are imported and checked as well; without it,
    commands that only read start quickly.
    """
    path = path or project_folder(environ)
    found = check(path, environ, imports=imports)
    if found.mistakes:
        raise ConfigurationError(found.mistakes)
    return Project(path, found.settings, found.deployment, found.warnings)


def open_store(settings: Settings, *, create: bool = True) -> Store:
    """The store that the settings name, created where there is none.

    Without `create`, a missing store raises StorageUnavailable. An unfinished copy of another
    store raises Refused.
    """
    from synergy.commands.store_copy_state import refuse_unfinished

    _make_home(settings)
    store = open_url(settings.store, create=create)
    try:
        refuse_unfinished(store)
    except BaseException:
        store.close()
        raise
    return store


def _make_home(settings: Settings) -> None:
    try:
        private_files.make_folder(settings.home)
    except OSError as error:
        raise StorageUnavailable(f"{settings.home} cannot be made: {error.strerror}") from error


def open_url(url: str, *, create: bool = True) -> Store:
    """The store at a complete URL, even an unfinished copy; see `config.stores`."""
    return store_engine(url).open(url, create=create)


def prepare_store(settings: Settings, *, dry_run: bool = False) -> list[str]:
    """Creates the store, or what it lacks; returns the names of the indexes it created."""
    if not dry_run:
        _make_home(settings)
    return store_engine(settings.store).prepare(settings.store, dry_run=dry_run)


def has_store(settings: Settings) -> bool:
    """Whether the store that the settings name exists."""
    return has_url(settings.store)


def has_url(url: str) -> bool:
    """Whether the store at a complete URL exists."""
    return store_engine(url).exists(url)


def check_store(settings: Settings, progress: Progress) -> StoreCheck:
    """Reads everything in the store, and changes nothing there."""
    return store_engine(settings.store).check(settings.store, progress)


older_documents = mongodb.older_documents


def remove_store(settings: Settings) -> None:
    """Deletes the store with all its contents; no process may have it open."""
    store_engine(settings.store).drop(settings.store)


def open_bus(project: Project, store: Store) -> Bus:
    """The bus that the settings name, not connected yet."""
    given, engine = project.settings, bus_engine(project.settings.bus)
    pooled = project.deployment.pooled()
    return engine.open(given.bus, store, given.home, given.clock, project.queues, pooled)


def prepare_bus(project: Project) -> None:
    """Creates what the bus needs in its broker, if it has one; the store must exist."""
    with closing(open_store(project.settings)) as store, closing(open_bus(project, store)) as bus:
        bus.declare(project.queues)


def empty_bus(project: Project) -> None:
    """Deletes all waiting messages; the store must exist."""
    url = project.settings.store
    with closing(open_url(url)) as store, closing(open_bus(project, store)) as bus:
        for queue in project.queues:
            bus.purge(queue)


def workplace(
    project: Project, process_name: str, instance: int, stop: Stop, *, create: bool = True
) -> Workplace:
    """Everything that an instance of a process works with; the caller closes its store and bus.

    `create` creates a missing store; without it, that raises StorageUnavailable.
    """
    from synergy.runtime.workplace import Workplace

    process = project.process(process_name)
    settings = project.settings
    store = open_store(settings, create=create)
    queues = [process.queue] if isinstance(process, WorkingProcess) else project.queues
    return Workplace(
        process=process,
        store=store,
        bus=_prepared_bus(project, store, queues, must_answer=False),
        clock=settings.clock,
        owner=str(identity.incarnation()),
        stop=stop,
        instance=instance,
        deployment=project.deployment,
        home=settings.home,
        box=settings.box_id,
        start_timeperiod=settings.start_timeperiod,
        retention=settings.retention,
        schedules_update=settings.schedules_update,
        webhook_networks=settings.webhook_networks,
        webhook_plaintext=settings.webhook_plaintext,
        webhook_secrets=settings.webhook_secrets,
        mx_address=(settings.mx_host, settings.mx_port),
        mx_users_file=settings.mx_users_file,
        mx_names=settings.mx_names,
        mx_proxy_user=settings.mx_proxy_user,
        mx_oidc=settings.mx_oidc,
        mx_tls=settings.mx_tls,
        mx_session_idle=timedelta(minutes=settings.mx_session_idle),
    )


def _prepared_bus(
    project: Project, store: Store, queues: Sequence[str], *, must_answer: bool
) -> Bus:
    """The bus with what these queues need; closes bus and store on errors that are raised."""
    bus = open_bus(project, store)
    try:
        bus.declare(queues)
    except SynergyError as error:
        if isinstance(error, MessagingUnavailable) and not must_answer:
            log.warning("%s", error, extra={"event": "bus.away"})
            return bus
        bus.close()
        store.close()
        raise
    return bus


def supervisor_config(project: Project) -> SupervisorConfig:
    """The configuration of the supervisor of this box; opens nothing yet."""
    from synergy.runtime import logs
    from synergy.supervisor.config import SupervisorConfig
    from synergy.supervisor.host import fork_server_marker

    settings = project.settings

    start = (*program_line(project.path), "process", "start")
    preloaded = (store_engine(settings.store).module, bus_engine(settings.bus).module)
    marker = fork_server_marker(settings.home) + uuid.uuid4().hex

    def connect() -> tuple[Store, Bus]:
        store = open_store(settings)
        for warning in store.warnings():
            log.warning("Store: %s", warning, extra={"event": "store.warning"})
        return store, _prepared_bus(project, store, project.queues, must_answer=True)

    return SupervisorConfig(
        box=settings.box_id,
        home=settings.home,
        directory=project.path,
        deployment=project.deployment,
        command=lambda name, number: (*start, name, "--console", "--instance", str(number)),
        connect=connect,
        open_logs=partial(logs.configure, settings.home, "supervisor", settings.box_id),
        read_again=lambda: read_again(project.path, os.environ, settings),
        fork_server=(sys.executable, "-m", "synergy.cli.preloaded", *preloaded),
        program=(sys.executable, "-m", "synergy.cli.supervising", *preloaded, marker),
    )


def run_process(project: Project, name: str, instance: int = 1, *, console: bool = False) -> bool:
    """Runs an instance of a process in this one, until a signal stops it; main thread only.

    `console` is for a process that was started by hand: it also logs to the console, and creates a
    missing store. A process of the supervisor does not: its store existed before, so it was moved
    away, and an empty one must not take its place.

    Returns False if it ended with an error, which is then logged; raises a SynergyError as well.
    """
    from synergy.runtime import logs

    process = project.process(name)
    settings = project.settings
    logs.configure(settings.home, name, settings.box_id, instance, console, settings.log_level)
    stop = Stop()
    stop.on_signals()
    try:
        _work(workplace(project, process.name, instance, stop, create=console))
    except SynergyError as error:
        log.error("%s failed: %s", name, error, extra={"event": "process.failed"})  # noqa: TRY400
        raise
    except Exception:  # the boundary of the process: whatever ended it is logged
        log.exception("%s failed", name, extra={"event": "process.failed"})
        return False
    log.info("%s stopped", name, extra={"event": "process.stopped"})
    return True


def _work(place: Workplace) -> None:
    from synergy.runtime.process_memory import release_free_memory
    from synergy.supervisor.ready import report_ready

    try:
        begin = entry_point(place)
        log.info("%s started", place.process.name, extra={"event": JournalEvent.PROCESS_STARTED})
        report_ready()
        release_free_memory()  # what was needed only for the start
        begin()
    finally:
        place.bus.close()
        place.store.close()
