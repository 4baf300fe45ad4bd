"""The second program that replaces MongoDB in tests: mongo-java-server, from Maven Central.

`python3 -m tests.servers.mongo_java_program` builds it beforehand; with `-listen HOST:PORT` it also
becomes the server, for benchmarks. It uses only the standard library, so that it can run while the
packages of the tests are being installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from tests.servers.builds import NotBuilt, built_once, output_of

SOURCE = Path(__file__).parent / "mongo_java"
CHECKSUMS = SOURCE / "checksums.txt"
MAIN = "ParallelServer"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
# Most of its processes live for seconds, in which no more than simple compilation pays.
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)


def command() -> list[str]:
    """Returns the command that starts it; builds it once for each state of its source."""
    sources = [*sorted(SOURCE.iterdir()), Path(__file__)]
    folder = built_once("mongo-java", sources, _build)
    return [_program("java"), *OPTIONS, "-cp", f"{folder}:{folder / 'lib'}/*", MAIN]


def _build(folder: Path) -> None:
    maven, compiler = _program("mvn"), _program("javac")
    shutil.rmtree(folder, ignore_errors=True)
    library = folder / "lib"
    output_of(
        [maven, "--batch-mode", "--file", "pom.xml", COPY, f"-DoutputDirectory={library}"], SOURCE
    )
    _check(library)
    place = ("-cp", f"{library}/*", "-d", str(folder))
    output_of([compiler, *place, f"{MAIN}.java"], SOURCE)


def _check(library: Path) -> None:
    """Raises NotBuilt unless the files are those of `checksums.txt`, all of them and no others."""
    found = {
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in library.iterdir()
    }
    if differing := found ^ set(CHECKSUMS.read_text(encoding="utf-8").splitlines()):
        raise NotBuilt(f"{CHECKSUMS.name} does not describe what Maven brought: {differing}")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotBuilt(f"there is no {name}")
    return found


if __name__ == "__main__":
    try:
        found = command()
        if sys.argv[1:]:
            os.execv(found[0], [*found, *sys.argv[1:]])
    except NotBuilt as error:
        sys.exit(str(error))
