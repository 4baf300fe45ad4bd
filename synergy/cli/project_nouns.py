"""The commands that the project adds: the names of `NOUNS` in its package `workers.commands`."""

from __future__ import annotations

import importlib
import sys

from synergy.config.project import project_folder
from synergy.errors import ConfigurationError


def project_nouns() -> dict[str, tuple[str, str]]:
    """Module and help by noun; none without a project, or if the package cannot be imported.

    A mistake there must keep no other command from working, so it is only a warning.
    """
    try:
        project = project_folder()
    except ConfigurationError:
        return {}
    if not (project / "workers" / "commands" / "__init__.py").is_file():
        return {}
    from synergy.config.source import put_on_path

    put_on_path(project)
    try:
        return dict(importlib.import_module("workers.commands").NOUNS)
    except (ImportError, AttributeError, SyntaxError) as error:
        from synergy.visible_text import visible_line

        reason = visible_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"warning: the commands of workers/commands are left out: {reason}\n")
        return {}
