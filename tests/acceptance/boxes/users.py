"""Users of a RabbitMQ that it has from its start: `rabbitmqctl` would take a second for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

RIGHTS = ("configure", "write", "read")
ALL = (".*", ".*", ".*")


def setting_of(folder: Path, *users: tuple[str, str, Sequence[str]]) -> str:
    """The setting of a node that has these users and no others: name, password, and rights."""
    data = {
        "vhosts": [{"name": "/"}],
        "users": [{"name": name, "password": password, "tags": ""} for name, password, _ in users],
        "permissions": [
            {"user": name, "vhost": "/", **dict(zip(RIGHTS, may, strict=True))}
            for name, _, may in users
        ],
    }
    file = folder / "definitions.json"
    file.write_text(json.dumps(data))
    return f"load_definitions = {file}"
