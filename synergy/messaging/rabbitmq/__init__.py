"""The bus over RabbitMQ, and messages to exchanges. pika is imported only here."""

from synergy.messaging.rabbitmq.bus import RabbitBus

__all__ = ["RabbitBus"]
