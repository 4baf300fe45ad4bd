"""Parses the URLs of targets, without resolving names or connecting.

    https://host:port/path?query                                a webhook
    amqp://user:password@host:5672/vhost?exchange=E&routing_key=K   an exchange; or amqps://
    sqs:name, sqs:https://sqs.region.amazonaws.com/account/name, each with ?region=R if wanted
    sns:arn:aws:sns:region:account:topic

Each kind has a function that splits it, and raises InvalidValue with the expected form. No message
quotes the URL: any part of it may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv6Address
from urllib.parse import SplitResult, quote, unquote, urlsplit

from synergy.errors import InvalidValue
from synergy.messaging.amqp import Address

MAX_LENGTH = 2_048
MAX_HOST = 253
MAX_SHORT_STRING = 255  # bytes; what AMQP allows for the name of an exchange and a routing key
PORTS = {"http": 80, "https": 443}

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_BRACKETS = re.compile(r"\[[^]]*\](:.*)?")
_QUEUE = re.compile(r"(?=.{1,80}\Z)[A-Za-z0-9_-]+(\.fifo)?", re.ASCII)
_TOPIC = re.compile(r"(?=.{1,256}\Z)[A-Za-z0-9_-]+(\.fifo)?", re.ASCII)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}", re.ASCII)
_REGION_OF_HOST = re.compile(r"(?:^|\.)sqs\.([a-z0-9-]+)\.|^([a-z0-9-]+)\.queue\.", re.ASCII)
_ACCOUNT = re.compile(r"[0-9]{12}", re.ASCII)
_PARTITION = re.compile(r"aws(-[a-z]+)*", re.ASCII)


class TargetKind(StrEnum):
    """The kind of receiver."""

    WEBHOOK = "webhook"
    AMQP = "amqp"
    SQS = "sqs"
    SNS = "sns"


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed target.

    Targets with the same `destination` fail, or are slow, together, and share its limit. It
    contains no secret, unlike `url`.
    """

    url: str = field(repr=False)
    kind: TargetKind
    destination: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """The parts of a webhook's URL.

    `host` is a name in lower case, or an address without brackets; `path` includes the query.
    """

    scheme: str
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange of a broker, and the routing key."""

    broker: Address = field(repr=False)
    scheme: str
    name: str
    routing_key: str


@dataclass(frozen=True, slots=True)
class Queue:
    """An SQS queue; `url` is None if the target has only a name, `region` if it has none."""

    name: str
    url: str | None
    region: str | None


@dataclass(frozen=True, slots=True)
class Topic:
    """An SNS topic."""

    arn: str
    region: str
    name: str


def parse_target(url: str) -> Target:
    """The target of a URL; raises InvalidValue with the reason."""
    _check_text(url)
    scheme, colon, _ = url.partition(":")
    match scheme.lower() if colon else "":
        case "http" | "https":
            hook = split_webhook(url)
            host = f"[{hook.host}]" if ":" in hook.host else hook.host
            return Target(url, TargetKind.WEBHOOK, f"{hook.scheme}://{host}:{hook.port}")
        case "amqp" | "amqps":
            return Target(url, TargetKind.AMQP, _destination(split_exchange(url)))
        case "sqs":
            return Target(url, TargetKind.SQS, f"sqs:{split_queue(url).name}")
        case "sns":
            return Target(url, TargetKind.SNS, f"sns:{split_topic(url).name}")
        case "":
            raise InvalidValue("target: expected https://…, amqp://…, sqs:… or sns:…")
        case other:
            raise InvalidValue(
                f"target: unknown scheme {other[:20]!r}: expected http, https, amqp, amqps, "
                "sqs or sns"
            )


def split_webhook(url: str) -> Webhook:
    """The parts of `http(s)://…`."""
    if "\\" in url:
        raise InvalidValue(r"target: a URL has no \: write it %5C")
    if "#" in url:
        raise InvalidValue("target: what follows # is never sent to a receiver: leave it out")
    parts = _split(url)
    if "@" in parts.netloc:
        raise InvalidValue(
            "target: no user or password in a webhook's URL: they would be shown with it; "
            "send a header"
        )
    scheme, host, port = parts.scheme, _host(parts), _port(parts)
    path = parts.path or "/"
    if not path.startswith("/"):
        raise InvalidValue("target: the path begins with /")
    query = f"?{parts.query}" if parts.query else ""
    return Webhook(scheme, host, PORTS[scheme] if port is None else port, path + query)


def split_exchange(url: str) -> Exchange:
    """The parts of `amqp(s)://…?exchange=…`."""
    if "#" in url:
        raise InvalidValue("target: in names, passwords and routing keys # is written %23")
    broker, _, query = url.partition("?")
    options = _options(query, ("exchange", "routing_key"), "an amqp target")
    if not options.get("exchange"):
        raise InvalidValue("target: no exchange: amqp://host/vhost?exchange=NAME&routing_key=KEY")
    for name, value in options.items():
        if len(value.encode()) > MAX_SHORT_STRING:
            raise InvalidValue(f"target: {name} is longer than {MAX_SHORT_STRING} bytes")
    try:
        address = Address.parse(broker)
    except InvalidValue as error:
        raise InvalidValue(f"target: {error}") from None
    scheme = broker.partition(":")[0].lower()
    return Exchange(address, scheme, options["exchange"], options.get("routing_key", ""))


def split_queue(url: str) -> Queue:
    """The parts of `sqs:…`."""
    rest, _, query = url.partition(":")[2].partition("?")
    region = _options(query, ("region",), "an sqs target").get("region")
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidValue(f"target: {region[:40]!r} is not a region, such as eu-west-1")
    if not rest:
        raise InvalidValue("target: no queue: sqs:NAME, or sqs: and the queue's URL")
    if "://" not in rest:
        return Queue(_queue_name(rest), None, region)
    parts = _split(rest)
    if parts.scheme not in PORTS:
        raise InvalidValue("target: a queue's URL begins with https://")
    if "@" in parts.netloc or "#" in rest:
        raise InvalidValue("target: a queue's URL has neither user, password nor #")
    host, _ = _host(parts), _port(parts)
    account, _, name = parts.path.rpartition("/")
    if not account.strip("/"):
        raise InvalidValue("target: a queue's URL ends with /account/name")
    found = _REGION_OF_HOST.search(host)
    return Queue(_queue_name(name), rest, region or (found and (found[1] or found[2])) or None)


def split_topic(url: str) -> Topic:
    """The parts of `sns:arn:…`."""
    arn = url.partition(":")[2]
    if not arn:
        raise InvalidValue("target: no topic: sns:arn:aws:sns:REGION:ACCOUNT:NAME")
    parts = arn.split(":")
    if len(parts) != 6 or parts[0] != "arn" or not _PARTITION.fullmatch(parts[1]):
        raise InvalidValue("target: not a topic's ARN: sns:arn:aws:sns:REGION:ACCOUNT:NAME")
    _, _, service, region, account, name = parts
    if service != "sns":
        raise InvalidValue(f"target: an ARN of {service[:20]!r}, not of sns")
    if not _REGION.fullmatch(region):
        raise InvalidValue(f"target: {region[:40]!r} is not a region, such as eu-west-1")
    if not _ACCOUNT.fullmatch(account):
        raise InvalidValue("target: the account in an ARN is 12 digits")
    if not _TOPIC.fullmatch(name):
        raise InvalidValue(
            "target: a topic's name is 1 to 256 letters, digits, - and _, and may end in .fifo"
        )
    return Topic(arn, region, name)


def _check_text(url: str) -> None:
    if not url:
        raise InvalidValue("target: it is empty")
    if len(url) > MAX_LENGTH:
        raise InvalidValue(f"target: {len(url)} characters: the most is {MAX_LENGTH}")
    if not url.isprintable():
        raise InvalidValue("target: it contains a control or invisible character")
    if " " in url:
        raise InvalidValue("target: it contains a blank: write it %20")


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # some versions of Python reject here what `_ipv6` would
        raise InvalidValue(
            "target: the part between // and / is not a host; "
            "only a port may follow an address in brackets"
        ) from None


def _host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host:
        raise InvalidValue("target: no host")
    if "[" in parts.netloc:
        return _ipv6(host, parts.netloc)
    if not host.isascii():
        raise InvalidValue("target: write the host in ASCII: xn--…")
    host = host.removesuffix(".")
    if len(host) > MAX_HOST or not all(map(_LABEL.fullmatch, host.split("."))):
        raise InvalidValue(f"target: {host[:40]!r} is not a host name")
    return host


def _ipv6(text: str, netloc: str) -> str:
    if not _BRACKETS.fullmatch(netloc):
        raise InvalidValue("target: only a port may follow an address in brackets")
    try:
        if "%" not in text:
            return str(IPv6Address(text))
    except ValueError:
        raise InvalidValue(f"target: [{text[:40]}] is not an IPv6 address") from None
    raise InvalidValue("target: an address with a zone (%) is valid on one machine only")


def _port(parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise InvalidValue("target: a port is a number from 1 to 65535")
    return port


def _options(query: str, known: tuple[str, ...], of: str) -> Mapping[str, str]:
    """The options of a query. `+` is not a blank, because routing keys may contain it."""
    found: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name not in known:
            raise InvalidValue(
                f"target: unknown option {name[:40]!r} of {of}: expected {' or '.join(known)}"
            )
        if name in found:
            raise InvalidValue(f"target: {name} is given twice")
        found[name] = unquote(value)
    return found


def _queue_name(name: str) -> str:
    if not _QUEUE.fullmatch(name):
        raise InvalidValue(
            "target: a queue's name is 1 to 80 letters, digits, - and _, and may end in .fifo"
        )
    return name


def _destination(exchange: Exchange) -> str:
    broker = exchange.broker
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    vhost = "" if broker.vhost == "/" else quote(broker.vhost, safe="")
    return f"{exchange.scheme}://{host}:{broker.port}/{vhost}"
