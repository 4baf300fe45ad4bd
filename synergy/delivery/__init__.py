"""Where runs of schedules go besides workers: webhooks, AMQP exchanges, SQS queues, SNS topics."""
