"""Runs Python files that define values: settings and context.

They are executed, not imported, so that a check always reads the current text. What they print goes
to standard error: standard output is that of the command, which may be JSON.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from synergy.config import context
from synergy.config.findings import Findings
from synergy.config.older_context import older_lines
from synergy.config.older_names import module_advice


def run_file(path: Path, project: Path, findings: Findings) -> dict[str, object] | None:
    """The names that the file defines; None, and a finding, if it fails."""
    where = shown(path, project)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    text = b""
    try:
        text = path.read_bytes()
        with redirect_stdout(sys.stderr):
            exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        there = shown(Path(error.filename or path), project)
        findings.mistake(f"{there} line {error.lineno}", f"{type(error).__name__}: {error.msg}")
    except OSError as error:
        findings.mistake(where, f"cannot be read: {error.strerror}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the file may raise anything
        older = older_lines(text) if isinstance(error, ImportError | NameError) else {}
        for number, messages in older.items():
            for message in messages:
                findings.mistake(f"{where} line {number}", message)
        line = _line_of(error, path)
        if line not in older:
            at = f" line {line}" if line else ""
            findings.mistake(f"{where}{at}", f"{type(error).__name__}: {error}{_advice(error)}")
    else:
        return vars(module)
    return None


def _advice(error: BaseException) -> str:
    """What to import instead of what an error did not find; "" for other errors."""
    found = ""
    if isinstance(error, NameError):
        found = _import_of(error.name or "")
    elif isinstance(error, ModuleNotFoundError):
        found = module_advice(error.name or "")
    return f": {found}" if found else ""


def _import_of(name: str) -> str:
    """The import that a name of `synergy.config.context` needs; "" for other names."""
    found = vars(context).get(name)
    if found is None or getattr(found, "__module__", context.__name__) != context.__name__:
        return ""  # also for names that this module imports
    return f"import it from {context.__name__}"


def _line_of(error: BaseException, path: Path) -> int:
    """The line of the file in which the error was raised; 0 for other files."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else 0


def shown(path: Path, project: Path) -> str:
    """The path for messages: relative to the project, if it is inside."""
    return str(path.relative_to(project) if path.is_relative_to(project) else path)


def forget_imports(folders: Iterable[Path]) -> None:
    """Makes this process import the modules in these folders anew, except those of Synergy."""
    roots = tuple(folders)
    for name, module in list(sys.modules.items()):
        path = Path(getattr(module, "__file__", None) or "/")
        is_installed = "site-packages" in path.parts or "dist-packages" in path.parts
        is_kept = is_installed or name.partition(".")[0] in ("synergy", "__main__")
        if not is_kept and any(path.is_relative_to(root) for root in roots):
            del sys.modules[name]
    importlib.invalidate_caches()


def put_on_path(project: Path) -> None:
    """Makes the project's own modules (`workers`, ...) importable, before all others."""
    if sys.path[:1] != [str(project)]:
        sys.path.insert(0, str(project))
