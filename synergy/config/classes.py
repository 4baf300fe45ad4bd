"""Class paths, `package.module.Class.method`, and the classes that they name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType

from synergy.config.older_names import module_advice
from synergy.errors import InvalidValue
from synergy.schedule.format.literals import suggestion


def split(path: str) -> tuple[str, str, str]:
    """Module, class and method of a class path; raises InvalidValue for any other text."""
    parts = path.split(".")
    if len(parts) < 3 or not all(part.isidentifier() for part in parts):
        raise InvalidValue(f"{path!r}: expected package.module.Class.method")
    return ".".join(parts[:-2]), parts[-2], parts[-1]


def resolve(path: str) -> tuple[type, str]:
    """Imports the class of a class path; returns it with the name of its method.

    Raises InvalidValue if the class cannot be used.
    """
    module_name, class_name, method = split(path)
    module = _imported(module_name)
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        classes = [name for name, member in vars(module).items() if inspect.isclass(member)]
        raise InvalidValue(
            f"{module_name} has no class {class_name}: {suggestion(class_name, classes)}"
        )
    if not callable(getattr(found, method, None)):
        methods = [name for name in dir(found) if not name.startswith("_")]
        raise InvalidValue(f"{class_name} has no method {method}: {suggestion(method, methods)}")
    if inspect.isabstract(found):
        lacking = [n for n, m in inspect.getmembers(found) if getattr(m, "__isabstractmethod__", 0)]
        raise InvalidValue(f"{class_name} does not define {', '.join(lacking)}")
    return found, method


def entry_point(path: str, *arguments: object) -> Callable[[], object]:
    """The method, bound to a new object of the class with these arguments."""
    found, method = resolve(path)
    bound: Callable[[], object] = getattr(found(*arguments), method)
    return bound


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        advice = f": {found}" if (found := module_advice(missing or "")) else ""
        text = f"cannot import {name}: {type(error).__name__}: {error}{advice}"
        raise InvalidValue(text) from error
