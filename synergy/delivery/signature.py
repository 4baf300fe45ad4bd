"""Signatures of webhook requests, as by the Standard Webhooks specification, and their secrets."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence

from synergy.errors import InvalidValue

_WHSEC = "whsec_"


def signature(secrets: Sequence[str], key: str, timestamp: str, body: bytes) -> str:
    """A signature for each secret, so that a receiver may know either; empty without secrets."""
    message = f"{key}.{timestamp}.".encode() + body
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(_bytes_of(secret), message, "sha256")).decode()
        for secret in secrets
    )


def check_secrets(secrets: Sequence[str]) -> None:
    """Raises InvalidValue for secrets that cannot be used; the message does not quote them."""
    if len(secrets) > 2:
        raise InvalidValue("signing secrets: two at most, the old and the new one")
    for secret in secrets:
        try:
            if not _bytes_of(secret):
                raise InvalidValue("signing secrets: one is empty")
        except ValueError:
            raise InvalidValue(f"signing secrets: what follows {_WHSEC} is not base64") from None


def secrets_in(text: str) -> tuple[str, ...]:
    """The secrets of a text: one, or the new and the old one, separated by a comma; none in "".

    Raises InvalidValue for secrets that cannot be used; the message does not quote them.
    """
    secrets = tuple(word.strip() for word in text.split(",") if word.strip())
    if text and not secrets:  # those of the deployment would sign in their place
        raise InvalidValue("signing secrets: one is empty")
    check_secrets(secrets)
    return secrets


def _bytes_of(secret: str) -> bytes:
    """The key of a secret: `whsec_…` is base64, as specified; any other is plain text."""
    if secret.startswith(_WHSEC):
        return base64.b64decode(secret.removeprefix(_WHSEC), validate=True)
    return secret.encode()
