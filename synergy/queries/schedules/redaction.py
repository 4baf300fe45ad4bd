"""Hides secrets of schedules and runs: passwords, tokens, and headers that contain them.

A hidden value is shown as `***`. A definition that is sent back with `***` in that place keeps the
stored value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from synergy.delivery.target import TargetKind, parse_target, split_exchange
from synergy.errors import InvalidValue
from synergy.runtime.masking import HIDDEN, OPTION, mask
from synergy.schedule.definition import DeliveryProgram, Program

SHORTEST = 4  # characters of a secret that is searched for in texts: shorter ones occur anywhere

_SECRET = re.compile(r"auth|cookie|token|secret|passw|api-?key|signature|credential", re.IGNORECASE)
_HIDDEN_IN_URL = re.compile(r"[:=/]\*{3}(?=[@&]|$)")
SIGNING_SECRET = "signing_secret"
_OF_RECEIVER = ("headers", SIGNING_SECRET)  # fields whose secrets are meant for one receiver
_PORT = re.compile(r"(https?://[^/?#@:]+)(:[0-9]+)(?=[/?])", re.IGNORECASE)
_URLS = ("target",)  # fields that hold a URL


def shown(value: object) -> object:
    """A definition, or a request, as plain values without its secrets."""
    if isinstance(value, Mapping):
        return {name: _field(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    return value


def _field(name: str, value: object) -> object:
    if name == "headers" and isinstance(value, Mapping):
        return {
            header: HIDDEN if _SECRET.search(str(header)) else text
            for header, text in value.items()
        }
    if name in _URLS and isinstance(value, str):
        return masked_target(value)
    if name == SIGNING_SECRET and value:
        return HIDDEN
    return shown(value)


def masked_target(url: str) -> str:
    """The URL of a target without its secrets.

    `mask` would take a port for the beginning of a password if an @ follows in the path. A webhook
    has no login, so its URL is masked without the port.
    """
    found = _PORT.match(url)
    if found is None:
        return mask(url)
    host, port = found.groups()
    return f"{host}{port}{mask(host + url[found.end() :])[len(host) :]}"


def secrets_of(request: Mapping[str, object]) -> frozenset[str]:
    """The hidden values of a request, to be removed from texts that may repeat them."""
    headers, target = request.get("headers"), request.get("target")
    values = [
        str(text)
        for header, text in (headers.items() if isinstance(headers, Mapping) else ())
        if _SECRET.search(str(header))
    ]
    words = [word for value in values for word in (value, value.rpartition(" ")[2])]
    words += _words(str(request.get(SIGNING_SECRET, "")))
    if isinstance(target, str):
        words += [found[0].partition("=")[2] for found in OPTION.finditer(target)]
    return frozenset(word for word in words if len(word) >= SHORTEST)


def _words(signing_secret: str) -> list[str]:
    """The words of a signing secret: one, or a new and an old one."""
    return [word.strip() for word in signing_secret.split(",")]


def without(secrets: frozenset[str], value: object) -> object:
    """The texts of a value, which may be in mappings, without these secrets."""
    if isinstance(value, Mapping):
        return {name: without(secrets, inner) for name, inner in value.items()}
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, HIDDEN)
    return value


def _receiver(target: object) -> tuple[str, ...] | None:
    """The receiver of a target, without a login; None for a target that cannot be sent to.

    For a webhook it is the server. Another exchange, routing key, queue or topic counts as another
    receiver, because other programs may read from it.
    """
    try:
        found = parse_target(str(target))
    except InvalidValue:
        return None
    match found.kind:
        case TargetKind.WEBHOOK:
            return (found.destination,)
        case TargetKind.AMQP:
            exchange = split_exchange(found.url)
            return found.destination, exchange.name, exchange.routing_key
        case TargetKind.SQS | TargetKind.SNS:
            return (found.url,)


def hidden(program: Program) -> list[str]:
    """The mistakes of a program in which `***` stands for no stored value."""
    if not isinstance(program, DeliveryProgram):
        return []
    found = [f"headers: {name}" for name, value in program.headers.items() if value == HIDDEN]
    if HIDDEN in _words(program.signing_secret):
        found.append(SIGNING_SECRET)
    if masked_target(program.target) == program.target and _HIDDEN_IN_URL.search(program.target):
        found.append("target")
    return [f"{place}: {HIDDEN} is shown in the place of a secret: write it out" for place in found]


def kept(sent: object, present: object) -> object:
    """The sent value, with `***` replaced by the present value of the same place.

    Headers and the signing secret are not restored if the target has another receiver: a user who
    may not see a secret must not be able to send it elsewhere either.
    """
    if isinstance(sent, Mapping) and isinstance(present, Mapping):
        receiver = _receiver(kept(sent.get("target"), present.get("target")))
        is_same = receiver is not None and receiver == _receiver(present.get("target"))
        return {
            name: kept(value, present.get(name)) if is_same or name not in _OF_RECEIVER else value
            for name, value in sent.items()
        }
    if not isinstance(sent, str) or not isinstance(present, str) or HIDDEN not in sent:
        return sent
    return present if sent in (HIDDEN, mask(present), masked_target(present)) else sent
