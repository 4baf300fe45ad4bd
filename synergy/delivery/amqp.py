"""Sends requests to AMQP exchanges, each to an address that was judged before (`resolver`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synergy.clock import Clock
from synergy.delivery import headers
from synergy.delivery.options import Options
from synergy.delivery.request import JSON, Request, Response, SendOutcome, failed, sent
from synergy.delivery.resolver import AddressNotFound, Blocked, Resolver
from synergy.delivery.target import split_exchange
from synergy.errors import MessagingUnavailable
from synergy.messaging.rabbitmq.exchange import Exchanges, OutgoingMessage
from synergy.runtime.masking import mask


class AmqpExchanges:
    """The transport to AMQP exchanges; for one event loop."""

    def __init__(self, options: Options, clock: Clock, resolver: Resolver) -> None:
        self._options = options
        self._clock = clock
        self._resolver = resolver
        self._exchanges = Exchanges()

    async def send(self, request: Request, report: Callable[[Response], None]) -> None:
        """Reports the broker's confirm, or the failure; raises InvalidValue for invalid headers."""
        destination, limit = request.target.destination, self._options.total
        exchange = split_exchange(request.target.url)
        metadata = headers.about(request)
        message = OutgoingMessage(
            exchange=exchange.name,
            routing_key=exchange.routing_key,
            body=request.body,
            content_type=request.content_type or JSON,
            key=metadata[headers.KEY],
            headers={**request.headers, **metadata},
            sent_at=self._clock.now(),
        )
        try:
            async with asyncio.timeout(limit):
                broker = exchange.broker
                addresses = await self._resolver.allowed(broker.host, broker.port)
                hosts = list(map(str, addresses))
                await self._exchanges.publish(broker, hosts, message, request.assert_current)
        except TimeoutError:
            report(failed(f"{destination}: no confirm within {limit:g} s", SendOutcome.TIMEOUT))
        except Blocked as error:
            report(failed(f"{destination}: {error}", SendOutcome.BLOCKED, may_retry=False))
        except (AddressNotFound, MessagingUnavailable) as error:
            report(failed(mask(f"{destination}: {error}")))
        else:
            report(sent())

    async def close(self) -> None:
        await self._exchanges.close()
