"""Certificates signed by an authority of the tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.missing import program

_HOSTS = "subjectAltName=DNS:localhost,IP:127.0.0.1"


class Authority:
    """Signs certificates; `cacertfile` is its own certificate."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self.cacertfile = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        self._make(self.cacertfile, self._key, "-subj", f"/CN={name}")

    def sign(self, name: str, hosts: str = _HOSTS) -> tuple[Path, Path]:
        """Returns a new certificate and its key."""
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        signer = ("-CA", str(self.cacertfile), "-CAkey", str(self._key))
        self._make(certificate, key, "-subj", f"/CN={name}", "-addext", hosts, *signer)
        return certificate, key

    def _make(self, certificate: Path, key: Path, *more: str) -> None:
        new = ("req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2")
        subprocess.run(
            [openssl(), *new, "-out", str(certificate), "-keyout", str(key), *more],
            capture_output=True,
            check=True,
        )


def encrypted(key: Path) -> Path:
    """Returns a copy of the key that is encrypted with a password."""
    locked = key.with_suffix(".locked")
    command = [openssl(), "pkcs8", "-topk8", "-in", str(key), "-out", str(locked)]
    subprocess.run([*command, "-passout", "pass:secret"], capture_output=True, check=True)
    return locked


def openssl() -> str:
    """Returns the path of the program that makes certificates."""
    return program("openssl", "install openssl")
