"""Delivers runs of schedules to webhooks, AMQP exchanges, SQS queues and SNS topics.

Targets, requests, retries and transports are here; the agent decides which run is sent when.
"""
