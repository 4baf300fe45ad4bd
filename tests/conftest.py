"""Settings and fixtures of all tests."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Generator, Iterator

import pytest
from _pytest.logging import LogCaptureHandler
from hypothesis import HealthCheck, settings

from launch import PROJECT, PROJECT_NOUNS
from synergy.cli.main import GC_THRESHOLDS, NOUNS
from synergy.runtime import masking
from tests import missing
from tests.servers import mongodb as mongodb_servers
from tests.servers import rabbitmq as rabbitmq_servers
from workers import commands

# The time that an example takes depends on the machine, not on the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# Without it argparse looks up translations of its messages in the machine's language.
os.environ["LANGUAGE"] = "C"

gc.set_threshold(*GC_THRESHOLDS)

NOUNS.update({**commands.NOUNS, **PROJECT_NOUNS})  # as for `launch.py -h`
os.environ["SYNERGY_PROJECT"] = str(PROJECT)


@pytest.fixture(autouse=True)
def _no_known_secrets() -> None:
    """Forgets the secrets of the settings that an earlier test has loaded."""
    masking.know(())


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Removes the handlers of a test, which would write into files and streams that are closed."""
    root = logging.getLogger()
    before, level, hook = list(root.handlers), root.level, threading.excepthook
    yield
    for handler in list(root.handlers):
        if handler not in before and not isinstance(handler, LogCaptureHandler):
            root.removeHandler(handler)
            handler.close()
    root.setLevel(level)
    threading.excepthook = hook


@pytest.fixture(scope="session")
def mongodb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mongodb_servers.Server]:
    """The MongoDB that all tests of a session share."""
    with mongodb_servers.running(tmp_path_factory.mktemp("mongodb")) as server:
        yield server


@pytest.fixture
def mongodb_url(mongodb: mongodb_servers.Server) -> Iterator[str]:
    """The URL of a database of the test's own."""
    with mongodb.fresh_database() as url:
        yield url


@pytest.fixture
def emptied_mongodb_url(mongodb: mongodb_servers.Server) -> Iterator[str]:
    """The URL of the empty database that tests share if they do not change a store's layout."""
    with mongodb.emptied_database() as url:
        yield url


@pytest.fixture(scope="session")
def mongo_java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mongodb_servers.Server]:
    """The mongo-java-server that all tests of a session share."""
    with mongodb_servers.running_mongo_java(tmp_path_factory.mktemp("mongo-java")) as server:
        yield server


@pytest.fixture
def mongo_java_url(mongo_java: mongodb_servers.Server) -> Iterator[str]:
    """The URL of a database of the test's own on mongo-java-server."""
    with mongo_java.fresh_database() as url:
        yield url


@pytest.fixture
def emptied_mongo_java_url(mongo_java: mongodb_servers.Server) -> Iterator[str]:
    """The URL of the database that tests share, like `emptied_mongodb_url`."""
    with mongo_java.emptied_database() as url:
        yield url


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rabbitmq_servers.Broker]:
    """The RabbitMQ that all tests of a session share."""
    with rabbitmq_servers.running(tmp_path_factory.mktemp("rabbitmq")) as broker:
        yield broker


@pytest.fixture
def rabbitmq_url(rabbitmq: rabbitmq_servers.Broker) -> Iterator[str]:
    """The URL of RabbitMQ, from which the queues of earlier tests are removed."""
    with rabbitmq.emptied() as url:
        yield url


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    used = getattr(item, "funcargs", {})
    for server in map(used.get, ("mongodb", "mongo_java", "rabbitmq")):
        if report.failed and server is not None:
            report.sections.append(("the end of the server's log", server.log_tail()))
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists what this machine lacks, once for each thing, and what to install."""
    skipped = terminalreporter.getreports("skipped")
    for line in missing.lines(report.longrepr[-1] for report in skipped):
        terminalreporter.write_line(line, yellow=True)
