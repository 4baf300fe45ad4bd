"""Celery: a task that does no work, sent with publisher confirms, its result ignored."""

from __future__ import annotations

from celery import Celery

from bench.contestants.race import Race

race = Race.from_environ()
mark = race.marker()
app = Celery("bench", broker=race.url)
app.conf.update(
    broker_transport_options={"confirm_publish": True},
    task_default_queue=race.queue,
    task_ignore_result=True,
    worker_enable_remote_control=False,
)


def mark_only() -> None:
    """Does no work; its mark counts the message as processed."""
    mark()


nothing = app.task(mark_only, name="nothing")


def send(count: int) -> None:
    """Sends tasks; they are durable by default, and confirmed by the option above."""
    for _ in range(count):
        nothing.delay()


if __name__ == "__main__":
    race.run(send)
