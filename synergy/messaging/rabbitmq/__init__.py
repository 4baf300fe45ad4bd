"""The bus that is RabbitMQ. The one home of pika."""

from synergy.messaging.rabbitmq.bus import RabbitBus

__all__ = ["RabbitBus"]
