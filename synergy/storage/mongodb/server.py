"""The kind of server, and warnings about the durability that it offers."""

from __future__ import annotations

from dataclasses import dataclass

from synergy.storage.mongodb.database import Database

_ALONE = "no replica set: acknowledged writes can be lost at host loss"
_FERRETDB_1 = "updates are not atomic in FerretDB 1: not for production"


@dataclass(frozen=True, slots=True)
class Server:
    """A server's product with version, its topology, and warnings."""

    version: str
    topology: str
    warnings: tuple[str, ...]


def ask(database: Database) -> Server:
    """Asks the server for its version and topology."""
    build, hello = database.command("buildInfo"), database.command("hello")
    topology = _topology(hello)
    warnings = [_ALONE] if topology == "standalone" else []
    product = ""
    if "ferretdbVersion" in build:  # FerretDB 2 has another name for it
        product = "FerretDB 1 as "
        warnings.append(_FERRETDB_1)
    return Server(f"{product}{build['version']}", topology, tuple(warnings))


def _topology(hello: dict[str, object]) -> str:
    if "setName" in hello:
        return f"replica set {hello['setName']}"
    return "sharded cluster" if hello.get("msg") == "isdbgrid" else "standalone"
