"""Registers the store in a MongoDB database: `mongodb://HOST/DATABASE`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from synergy import extras
from synergy.errors import InvalidValue
from synergy.storage.mongodb_url import MongoUrl

if TYPE_CHECKING:
    from synergy.commands.older.records import Documents
    from synergy.storage.protocol import Store
    from synergy.storage.protocol.check import Progress, StoreCheck

EXAMPLE = "mongodb://host-1,host-2/synergy?replicaSet=rs0"

_DATABASE = re.compile(r"""[^/\\. "$*<>:|?\x00]{1,63}""")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^][:,]+)(:[0-9]{1,5})?")
_KNOWN = """
    appName authMechanism authMechanismProperties authSource compressors connect connectTimeoutMS
    directConnection heartbeatFrequencyMS journal loadBalanced localThresholdMS maxConnecting
    maxIdleTimeMS maxPoolSize maxStalenessSeconds minPoolSize readConcernLevel readPreference
    readPreferenceTags replicaSet retryReads retryWrites serverMonitoringMode
    serverSelectionTimeoutMS socketTimeoutMS srvMaxHosts srvServiceName ssl timeoutMS tls
    tlsAllowInvalidCertificates tlsAllowInvalidHostnames tlsCAFile tlsCRLFile tlsCertificateKeyFile
    tlsCertificateKeyFilePassword tlsDisableOCSPEndpointCheck tlsInsecure w waitQueueTimeoutMS
    wTimeoutMS zlibCompressionLevel
"""
OPTIONS = {name.lower(): name for name in _KNOWN.split()}
"""The options of a URL. The driver knows them too, but importing it takes long."""
_PORT = 27017  # if the URL names none


class MongoEngine:
    """See `synergy.engines.protocol.StoreEngine`."""

    module = "synergy.storage.mongodb"
    expected = EXAMPLE

    def matches(self, url: str) -> bool:
        return url.startswith(("mongodb://", "mongodb+srv://"))

    def complete(self, url: str, file: Callable[[str], Path]) -> str:
        if found := _mistake(url):
            raise InvalidValue(found)
        extras.require("mongodb", "pymongo")
        return url

    def place(self, url: str) -> str:
        """The sorted hosts as text; different names of one machine are different places."""
        parts = MongoUrl.parse(url)
        hosts = list(parts.hosts)
        if parts.scheme == "mongodb":
            hosts = [host if _has_port(host) else f"{host}:{_PORT}" for host in hosts]
        return f"{parts.scheme}://{','.join(sorted(hosts))}{parts.path}"

    def weaknesses(self, url: str) -> list[str]:
        parts = MongoUrl.parse(url)
        found = [f"{option} lets any server pose as the store" for option in parts.unverified]
        if parts.remote and not parts.has_tls:
            hosts = ", ".join(parts.remote)
            found.append(f"data and password are sent in clear text to {hosts}: add tls=true")
        return found

    def file(self, url: str) -> None:
        return None

    def open(self, url: str, *, create: bool) -> Store:
        from synergy.storage.mongodb import MongoStore

        return MongoStore.open(url, create=create)

    def prepare(self, url: str, *, dry_run: bool = False) -> list[str]:
        from synergy.storage.mongodb import engine

        return engine.prepare(url, dry_run=dry_run)

    def exists(self, url: str) -> bool:
        from synergy.storage.mongodb import engine

        return engine.exists(url)

    def check(self, url: str, progress: Progress) -> StoreCheck:
        from synergy.storage.mongodb import engine

        return engine.check(url, progress)

    def drop(self, url: str) -> None:
        from synergy.storage.mongodb import engine

        engine.drop(url)


def older_documents(url: str, names: Sequence[str]) -> Documents:
    """The documents of these collections, which an older version of Synergy wrote."""
    from synergy.storage.mongodb import older_deployment

    return older_deployment.older_documents(url, names)


def _mistake(url: str) -> str | None:
    """The mistake in a URL, with the expected form; None if there is none.

    The text quotes no part of the URL: what looks like a path may belong to a password.
    """
    parts = MongoUrl.parse(url)
    if "@" in parts.user + parts.path + parts.query + parts.fragment:
        return "in a password @ is written %40, / %2F, ? %3F and # %23"
    if not all(map(_HOST.fullmatch, parts.hosts)):
        return f"expected a host, or several with commas, for example {EXAMPLE}"
    if not parts.path.strip("/"):
        return f"expected the name of a database, for example {EXAMPLE}"
    if not _DATABASE.fullmatch(parts.database):
        return f"that is no name of a database; expected, for example, {EXAMPLE}"
    for name in parts.options:
        if name not in OPTIONS:
            near = get_close_matches(name, OPTIONS, 1)
            meant = f"did you mean {OPTIONS[near[0]]}?" if near else "MongoDB has no such option"
            return f"unknown option {name}: {meant}"
    return None


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")
