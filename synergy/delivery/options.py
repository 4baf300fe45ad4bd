"""Options of sending."""

from __future__ import annotations

from dataclasses import dataclass, field

from synergy.delivery.addresses import AddressRules
from synergy.delivery.signature import check_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of sending; raises InvalidValue for secrets that cannot be used.

    `secrets`: none, one, or two (an old and a new one) that sign webhooks.
    `rules`: which addresses requests may be sent to.
    `connect`, `read`, `total`: seconds for a connection with TLS, between two pieces of an
    answer, and for everything from the look-up of the name to the end of the answer.
    `per_destination`, `most`: how many requests are in flight at once, to one destination, and to
    all of a kind; SQS and SNS have their own limit (`aws.THREADS`).
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    rules: AddressRules = field(default_factory=AddressRules)
    connect: float = 3.0
    read: float = 10.0
    total: float = 10.0
    per_destination: int = 8
    most: int = 500

    def __post_init__(self) -> None:
        check_secrets(self.secrets)
