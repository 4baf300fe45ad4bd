"""The names and checks that definitions of schedules are validated with."""

from __future__ import annotations

from collections.abc import Mapping

from synergy.delivery.addresses import AddressRules, literal
from synergy.delivery.headers import check_content_type, check_headers
from synergy.delivery.signature import secrets_in
from synergy.delivery.target import TargetKind, parse_target, split_exchange, split_webhook
from synergy.model.process import Process
from synergy.schedule.check_context import Known


def known(processes: Mapping[str, Process | None]) -> Known:
    """These processes, and the checks of targets, headers, content types and signing secrets.

    A process that is None was declared, but is invalid; that was reported already.
    """
    return Known(processes, parse_target, check_headers, check_content_type, secrets_in)


def refusal(url: str, rules: AddressRules) -> str:
    """Why requests to a target are refused, judged by its URL alone; empty if they are allowed.

    Names of hosts, and endpoints of AWS, are resolved and judged by address before each request.
    """
    target = parse_target(url)
    match target.kind:
        case TargetKind.WEBHOOK:
            hook = split_webhook(url)
            host, is_plaintext = hook.host, hook.scheme == "http"
        case TargetKind.AMQP:
            host, is_plaintext = split_exchange(url).broker.host, False
        case _:
            return ""
    found = literal(host)
    addresses = [] if found is None else [found]
    why = rules.refusal(addresses)
    return why or (rules.plaintext_refusal(host, addresses) if is_plaintext else "")
