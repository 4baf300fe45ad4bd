"""The program that replaces MongoDB in tests: FerretDB behind a gate, built by Go.

`python3 -m tests.servers.ferretdb_program` builds it beforehand. It uses only the standard library,
so that it can run while the packages of the tests are being installed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.servers.builds import NotBuilt, built_once, output_of

SOURCE = Path(__file__).parent / "ferretdb"
FERRETDB = "github.com/FerretDB/FerretDB"
NARROWED = SOURCE / "narrowed" / "narrowed.go"
UNUSED = (  # files of FerretDB; their dependencies are a third of all that would be compiled
    "handler/registry/mysql.go",
    "handler/registry/postgresql.go",
    "util/logging/pgx.go",
    "util/observability/observability.go",
)
_VALUE = """DefaultColumn + `->>'$."_id"'`"""
CHANGES = {  # in FerretDB, by file: begin and end of the replaced text, and its replacement
    "backends/sqlite/collection.go": (
        (
            "\tif params.Filter.Len() == 1 {",
            "\tq += whereClause",
            "\twhereClause, args = narrowed(params.Filter)\n\n",
        ),
        ("prepareOrderByClause(", "\n", "ordered(params.Sort, meta.Capped())"),
    ),
    # Users, whom FerretDB knows but does not offer as a library: it starts with this one.
    "../ferretdb/ferretdb.go": (
        ("import (\n", '\t"context"', 'import (\n\t"os"\n'),
        (
            '"github.com/FerretDB/FerretDB/internal/handler/registry"',
            "\n",
            '"github.com/FerretDB/FerretDB/internal/handler/registry"\n'
            '\t"github.com/FerretDB/FerretDB/internal/util/password"',
        ),
        (
            "\t\tTestOpts: registry.TestOpts{",
            "\n",
            '\t\tSetupDatabase: os.Getenv("FERRETDB_DATABASE"),\n'
            '\t\tSetupUsername: os.Getenv("FERRETDB_USER"),\n'
            '\t\tSetupPassword: password.WrapPassword(os.Getenv("FERRETDB_PASSWORD")),\n'
            "\t\tTestOpts: registry.TestOpts{\n"
            '\t\t\tEnableNewAuth: os.Getenv("FERRETDB_USER") != "",',
        ),
    ),
    # The column as the index on `_id` spells it, or SQLite would not use it; and the values.
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
    # If the order of `_id` is requested, documents are read in that order and not sorted.
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
WITHOUT_DEBUG_DATA = ("-gcflags=all=-dwarf=false", "-ldflags=-s -w")  # compiles faster


def built() -> Path:
    """Returns the path of the program, which is built once for each state of its source."""
    sources = [*sorted(SOURCE.rglob("*.go")), SOURCE / "go.mod", SOURCE / "go.sum", Path(__file__)]
    return built_once("ferretdb", sources, _build)


def _build(program: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise NotBuilt("there is no Go")
    with tempfile.TemporaryDirectory() as folder:
        modfile = _with_changes(go, Path(folder))
        place = ("-modfile", str(modfile), "-o", str(program))
        _go(go, "build", *WITHOUT_DEBUG_DATA, *place, ".")


def _with_changes(go: str, folder: Path) -> Path:
    """Writes a go.mod that names a copy of FerretDB which passes filters on to SQLite.

    The copy has only the SQLite backend.
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
    given = (SOURCE / "go.mod").read_text(encoding="utf-8")
    modfile.write_text(f"{given}\nreplace {FERRETDB} => {copy}\n", encoding="utf-8")
    shutil.copyfile(SOURCE / "go.sum", folder / "go.sum")
    return modfile


def _change(path: Path, changes: Sequence[tuple[str, str, str]]) -> None:
    """Replaces each stretch of text, from its begin up to its end."""
    text = path.read_text(encoding="utf-8")
    for begin, end, instead in changes:
        first = text.index(begin)
        last = text.index(end, first)
        text = text[:first] + instead + text[last:]
    path.parent.chmod(0o755)
    path.write_text(text, encoding="utf-8")


def _go(go: str, *words: str) -> str:
    """Returns the output of a command of Go."""
    return output_of([go, *words], SOURCE, {"GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"})


if __name__ == "__main__":
    try:
        built()
    except NotBuilt as error:
        sys.exit(str(error))
