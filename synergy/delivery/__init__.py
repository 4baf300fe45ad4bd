"""Delivers runs of schedules to webhooks, AMQP exchanges, SQS queues and SNS topics.

Targets, requests, retries and transports are here; which run is sent when is the agent's part.
"""
