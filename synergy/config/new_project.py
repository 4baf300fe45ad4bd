"""Makes the folder of a new project from the files in `synergy/templates/project`.

The templates are what they become, except for `${name}` and the like, and for `dot.` at the
beginning of a file's name, which becomes `.`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from string import Template
from urllib.parse import unquote, urlsplit

import synergy
from synergy.errors import InvalidValue, Refused
from synergy.program import PACKAGE

TEMPLATES = Path(synergy.__file__).parent / "templates" / "project"
WELCOME = frozenset({".git", ".venv"})
"""What a folder may have in it before it becomes a project."""
NAME_RULE = "expected a name with at least one letter or digit of ASCII, such as shop or web-shop"


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project to be made: its files by path, and the wheel of Synergy to be copied to them.

    `requirement` is the line of requirements.txt that installs Synergy.
    """

    folder: Path
    name: str
    requirement: str
    files: Mapping[str, str]
    wheel: Path | None

    @property
    def paths(self) -> list[str]:
        """The paths of all files below the folder."""
        return sorted([*self.files, *([self.wheel.name] if self.wheel else [])])

    def write(self) -> None:
        """Writes all files; if one cannot be written, none is left."""
        is_new = not self.folder.exists()
        try:
            for path, text in self.files.items():
                file = self.folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            if self.wheel:
                shutil.copyfile(self.wheel, self.folder / self.wheel.name)
        except OSError:
            _remove(self.folder, keep_folder=not is_new)
            raise


def new_project(folder: Path, now: datetime) -> NewProject:
    """The project to be made in a folder that is missing or empty; raises Refused for others.

    A new repository (`.git`) and an environment (`.venv`) may be in it.
    """
    folder = folder.absolute()
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is a file: give the path of a new folder")
    if folder.is_dir() and _others_in(folder):
        raise Refused(f"{folder} is not empty, and is left as it is: give the path of a new folder")
    name = project_name(folder.resolve().name)
    requirement, wheel = _origin()
    values = {
        "name": name,
        "requirement": requirement,
        "yesterday": f"{now - timedelta(days=1):%Y-%m-%d}",
    }
    return NewProject(folder, name, requirement, rendered(values), wheel)


def project_name(text: str) -> str:
    """A name of a project that is one for compose and images, too: `My Shop` is `my-shop`."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name:
        raise InvalidValue(f"{text!r} is no name of a project: {NAME_RULE}")
    return name


def rendered(values: Mapping[str, str]) -> dict[str, str]:
    """The text of each file of a project by its path."""
    found = {}
    for template in sorted(TEMPLATES.rglob("*")):
        if template.is_file() and "__pycache__" not in template.parts:
            path = template.relative_to(TEMPLATES)
            name = re.sub(r"^dot\.", ".", path.name)
            text = Template(template.read_text()).substitute(values)
            found[path.with_name(name).as_posix()] = text
    return found


def compatible(version: str = synergy.__version__) -> str:
    """The versions that a project made by this one works with."""
    major, minor, *_ = map(int, re.findall(r"\d+", version))
    return f">={version},<{f'0.{minor + 1}' if major == 0 else major + 1}"


def _origin() -> tuple[str, Path | None]:
    """The requirement that installs Synergy as it is here, and the wheel that it names, if any.

    pip remembers an origin that is no index. A checkout that is not installed is one, too.
    """
    try:
        text = metadata.distribution(PACKAGE).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return f"{PACKAGE} @ {Path(synergy.__file__).parents[1].as_uri()}", None
    if not text:
        return f"{PACKAGE}{compatible()}", None
    url = json.loads(text)["url"]
    wheel = Path(unquote(urlsplit(url).path))
    if url.startswith("file:") and wheel.suffix == ".whl" and wheel.is_file():
        return f"./{wheel.name}", wheel
    return f"{PACKAGE} @ {url}", None


def _others_in(folder: Path) -> list[Path]:
    return [child for child in folder.iterdir() if child.name not in WELCOME]


def _remove(folder: Path, *, keep_folder: bool) -> None:
    """Removes what was written; the folder had been missing, or empty."""
    if not keep_folder:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for child in _others_in(folder):
        shutil.rmtree(child, ignore_errors=True) if child.is_dir() else child.unlink()
