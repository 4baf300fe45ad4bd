"""The program that stands for MongoDB: FerretDB and a gate before it, built by Go.

`python3 -m tests.servers.ferretdb_program` builds it beforehand. Standard library alone, so that
this may be done while the packages of tests are fetched.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parent / "ferretdb"
FERRETDB = "github.com/FerretDB/FerretDB"
NARROWED = SOURCE / "narrowed" / "narrowed.go"
LIMIT = 900  # seconds, on a machine that has to fetch and compile everything
UNUSED = (  # of FerretDB: what only these files need is a third of all that would be compiled
    "handler/registry/mysql.go",
    "handler/registry/postgresql.go",
    "util/logging/pgx.go",
    "util/observability/observability.go",
)
_VALUE = """DefaultColumn + `->>'$."_id"'`"""
CHANGES = {  # of FerretDB, by file: from where to where, and what stands there instead
    "backends/sqlite/collection.go": (
        (
            "\tif params.Filter.Len() == 1 {",
            "\tq += whereClause",
            "\twhereClause, args = narrowed(params.Filter)\n\n",
        ),
        ("prepareOrderByClause(", "\n", "ordered(params.Sort, meta.Capped())"),
    ),
    # The column as it stands in the index of all `_id`s, which SQLite did not use; and the values.
    "backends/sqlite/metadata/metadata.go": (
        (
            "DefaultColumn + \"->'$._id'\"",
            "\n",
            f"DefaultColumn + \"->'_id'\"\n\tIDValue = {_VALUE}",
        ),
    ),
    "backends/sqlite/metadata/registry.go": (
        (
            "\tif _, err = db.ExecContext(ctx, q); err != nil {\n\t\treturn false",
            "\tif _, err = db",
            '\tq += fmt.Sprintf("; CREATE INDEX %q ON %q (%s)",'
            ' tableName+"_ordered", tableName, IDValue)\n',
        ),
    ),
    # Documents come in the order of their `_id`, if that is asked for, and need no sorting.
    "handler/msg_find.go": (
        (
            '\t\tif params.Sort.Keys()[0] != "$natural" {',
            '\t\tif params.Sort.Keys()[0] != "$natural" {',
            '\t\tif order, _ := params.Sort.Get("_id"); order != nil && !cInfo.Capped() {\n'
            '\t\t\tqp.Sort = must.NotFail(types.NewDocument("$natural", order))\n'
            "\t\t\tparams.Sort = nil\n"
            "\t\t\tbreak\n"
            "\t\t}\n\n",
        ),
    ),
}
QUICKLY = ("-gcflags=all=-dwarf=false", "-ldflags=-s -w")  # without what only debuggers read


class NotBuilt(Exception):
    """There is no such program, and why."""


def built() -> Path:
    """The program, built once for each state of its source."""
    sources = [*sorted(SOURCE.rglob("*.go")), SOURCE / "go.mod", SOURCE / "go.sum", Path(__file__)]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "synergy-tests"
    program = cache / f"ferretdb-{state}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "building").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                _build(program)
    return program


def _build(program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise NotBuilt("there is no Go")
    unfinished = program.with_suffix(".new")
    with tempfile.TemporaryDirectory() as folder:
        modfile = _with_changes(go, Path(folder))
        place = ("-modfile", str(modfile), "-o", str(unfinished))
        _go(go, "build", *QUICKLY, *place, ".")
    unfinished.rename(program)


def _with_changes(go: str, folder: Path) -> Path:
    """A go.mod that names a copy of FerretDB whose filters are said to SQLite as well.

    The copy has no backend but SQLite's.
    """
    found = json.loads(_go(go, "mod", "download", "-json", FERRETDB))["Dir"]
    copy = shutil.copytree(found, folder / "ferretdb", copy_function=shutil.copyfile)
    for unused in (copy / "internal" / name for name in UNUSED):
        unused.parent.chmod(0o755)
        unused.unlink()
    package = copy / "internal" / "backends" / "sqlite"
    for changed, changes in CHANGES.items():
        _change(copy / "internal" / changed, changes)
    package.chmod(0o755)
    shutil.copyfile(NARROWED, package / NARROWED.name)
    modfile = folder / "go.mod"
    told = (SOURCE / "go.mod").read_text(encoding="utf-8")
    modfile.write_text(f"{told}\nreplace {FERRETDB} => {copy}\n", encoding="utf-8")
    shutil.copyfile(SOURCE / "go.sum", folder / "go.sum")
    return modfile


def _change(path: Path, changes: Sequence[tuple[str, str, str]]) -> None:
    """Puts in place of each stretch, from a beginning up to an end, what is said there."""
    text = path.read_text(encoding="utf-8")
    for begin, end, instead in changes:
        first = text.index(begin)
        last = text.index(end, first)
        text = text[:first] + instead + text[last:]
    path.parent.chmod(0o755)
    path.write_text(text, encoding="utf-8")


def _go(go: str, *words: str) -> str:
    """What a command of Go says."""
    done = subprocess.run(
        [go, *words],
        cwd=SOURCE,
        env={**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        raise NotBuilt(f"FerretDB could not be built: {done.stderr[-500:]}")
    return done.stdout


if __name__ == "__main__":
    try:
        built()
    except NotBuilt as error:
        sys.exit(str(error))
