"""Python files that hold values: settings and context.

They are run as they are, not imported, so that a check always sees the present text.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType

from synergy.config import context
from synergy.config.findings import Findings


def run_file(path: Path, project: Path, findings: Findings) -> dict[str, object] | None:
    """The names that the file defines; None if it fails, which is then among the findings."""
    where = shown(path, project)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SyntaxError as error:
        there = shown(Path(error.filename or path), project)
        findings.mistake(f"{there} line {error.lineno}", f"{type(error).__name__}: {error.msg}")
    except OSError as error:
        findings.mistake(where, f"cannot be read: {error.strerror}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a deployment's file may raise anything
        lacking = _import_of(error.name) if isinstance(error, NameError) else ""
        told = f"{type(error).__name__}: {error}{lacking}"
        findings.mistake(f"{where}{line_of(error, path)}", told)
    else:
        return vars(module)
    return None


def _import_of(name: str | None) -> str:
    """Where the examples of the documentation have this name from; empty for any other."""
    found = vars(context).get(name or "")
    if found is None or getattr(found, "__module__", context.__name__) != context.__name__:
        return ""  # also for what that module itself has from elsewhere
    return f": import it from {context.__name__}"


def line_of(error: BaseException, path: Path) -> str:
    """` line N`: where in the file the error came from; empty if it came from elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f" line {lines[-1]}" if lines else ""


def shown(path: Path, project: Path) -> str:
    """The path as people know it: relative to the project, if it lies there."""
    return str(path.relative_to(project) if path.is_relative_to(project) else path)


def put_on_path(project: Path) -> None:
    """Makes the project's own modules (`workers`, ...) importable in this process."""
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))
