"""Requests into an AMQP exchange."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synergy.clock import Clock
from synergy.delivery import headers
from synergy.delivery.options import Options
from synergy.delivery.request import JSON, Request, Response, SendOutcome, failed, sent
from synergy.delivery.target import split_exchange
from synergy.errors import MessagingUnavailable
from synergy.messaging.rabbitmq.exchange import Exchanges, OutgoingMessage
from synergy.runtime.masking import mask


class AmqpExchanges:
    """To be used in one event loop."""

    def __init__(self, options: Options, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._exchanges = Exchanges()

    async def send(self, request: Request, tell: Callable[[Response], None]) -> None:
        """Tells the answer when a queue has it; raises InvalidValue for its headers."""
        place, limit = request.target.destination, self._options.total
        exchange = split_exchange(request.target.url)
        told = headers.about(request)
        letter = OutgoingMessage(
            exchange=exchange.name,
            routing_key=exchange.routing_key,
            body=request.body,
            content_type=request.content_type or JSON,
            key=told[headers.KEY],
            headers={**request.headers, **told},
            sent_at=self._clock.now(),
        )
        try:
            async with asyncio.timeout(limit):
                await self._exchanges.publish(exchange.broker, letter)
        except TimeoutError:
            tell(failed(f"{place}: no confirm within {limit:g} s", SendOutcome.TIMEOUT))
        except MessagingUnavailable as error:
            tell(failed(mask(f"{place}: {error}")))
        else:
            tell(sent())

    async def close(self) -> None:
        await self._exchanges.close()
