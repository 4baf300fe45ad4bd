"""Sends requests to SQS queues and SNS topics.

boto3 is an extra, imported with the first request. Credentials, endpoints and proxies are those
that AWS's own tools find. A queue's URL only names the queue; the connection goes to the endpoint
of its region, or to the configured one, whatever host the URL has. The endpoint's address is judged
at each connection (`aws_connections`), unless a proxy is configured, which finds it itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from synergy.delivery import headers
from synergy.delivery.options import Options
from synergy.delivery.request import (
    JSON,
    NotSent,
    Request,
    Response,
    SendOutcome,
    failed,
    sent,
)
from synergy.delivery.resolver import Blocked, Resolver
from synergy.delivery.target import Queue, TargetKind, split_queue, split_topic
from synergy.delivery.thread_pool import ThreadPool
from synergy.errors import InvalidValue
from synergy.runtime.masking import mask

MOST_ATTRIBUTES = 10  # the most attributes of a message
THREADS = 32
_FIFO = ".fifo"
_LONGEST_ID = 128
_THROTTLED = ("throttl", "requestlimitexceeded", "toomanyrequests")


class Aws:
    """The transport to one of the two services; for one event loop."""

    def __init__(self, kind: TargetKind, options: Options, resolver: Resolver) -> None:
        self._service = kind.value
        self._call = self._to_queue if kind is TargetKind.SQS else self._to_topic
        self._options = options
        self._resolver = resolver
        self._threads = ThreadPool(f"delivery-{kind}", THREADS)
        self._lock = threading.Lock()
        self._own = threading.local()  # `assert_current` of the request that a thread sends
        self._clients: dict[str | None, Any] = {}
        self._urls: dict[Queue, str] = {}

    async def send(self, request: Request, report: Callable[[Response], None]) -> None:
        """Reports the answer in time, and returns when its thread is free; raises InvalidValue."""
        destination, limit = request.target.destination, self._options.total
        headers.about(request)
        loop = asyncio.get_running_loop()

        def assert_current() -> None:
            asyncio.run_coroutine_threadsafe(request.assert_current(), loop).result(limit)

        work = self._threads.run(lambda: self._answer(request, assert_current))
        try:
            report(await asyncio.wait_for(asyncio.shield(work), limit))
        except TimeoutError:
            report(failed(f"{destination}: no answer within {limit:g} s", SendOutcome.TIMEOUT))
            await work

    def close(self) -> None:
        self._threads.close()
        for client in self._clients.values():
            client.close()

    # In a thread

    def _answer(self, request: Request, assert_current: Callable[[], None]) -> Response:
        destination = request.target.destination
        self._own.assert_current = assert_current
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return sent(HTTPStatus.OK, self._call(request).encode())
        except InvalidValue as error:
            return failed(f"{destination}: {error}", may_retry=False)
        except ClientError as error:
            return _refused(destination, error.response, str(error))
        except BotoCoreError as error:
            return _broken(destination, error)

    def _to_queue(self, request: Request) -> str:
        queue = split_queue(request.target.url)
        message = {"MessageBody": _text(request.body), **_extras(request, queue.name)}
        client = self._client(queue.region)
        try:
            done = client.send_message(QueueUrl=self._url(client, queue), **message)
        except client.exceptions.QueueDoesNotExist:
            self._urls.pop(queue, None)  # it may be recreated with another URL
            raise
        return f"MessageId {done['MessageId']}"

    def _to_topic(self, request: Request) -> str:
        topic = split_topic(request.target.url)
        message = {"Message": _text(request.body), **_extras(request, topic.name)}
        done = self._client(topic.region).publish(TopicArn=topic.arn, **message)
        return f"MessageId {done['MessageId']}"

    def _url(self, client: Any, queue: Queue) -> str:
        url = queue.url or self._urls.get(queue)
        if url is None:
            url = self._urls[queue] = str(client.get_queue_url(QueueName=queue.name)["QueueUrl"])
        return url

    def _assert_current(self) -> None:
        self._own.assert_current()

    def _client(self, region: str | None) -> Any:
        """The client of a region. Threads may share clients, but not sessions, which make them."""
        import boto3
        from botocore.config import Config

        from synergy.delivery.aws_connections import connect_to

        with self._lock:
            if region not in self._clients:
                config = Config(
                    connect_timeout=self._options.connect,
                    read_timeout=self._options.read,
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    max_pool_connections=THREADS,
                )
                client = boto3.session.Session().client(
                    self._service, region_name=region, config=config
                )
                connect_to(client, self._resolver.allowed_now, self._assert_current)
                self._clients[region] = client
            return self._clients[region]


def _extras(request: Request, name: str) -> dict[str, Any]:
    """The arguments besides the text, for a queue or topic of this name.

    A FIFO one keeps the order within a schedule, and accepts each run once.
    """
    metadata = headers.about(request)
    attributes = _attributes(request, metadata)
    if not name.endswith(_FIFO):
        return {"MessageAttributes": attributes}
    return {
        "MessageAttributes": attributes,
        "MessageDeduplicationId": _id(metadata[headers.KEY]),
        "MessageGroupId": _id(metadata[headers.SCHEDULE]),
    }


def _attributes(request: Request, metadata: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The headers as attributes; empty ones are left out, because AWS rejects them."""
    own = {**metadata, "Content-Type": request.content_type or JSON}
    if len(request.headers) > MOST_ATTRIBUTES - len(own):
        room = MOST_ATTRIBUTES - len(own)
        raise InvalidValue(f"headers: a message has room for {room} beside Synergy's own")
    return {
        name: {"DataType": "String", "StringValue": value}
        for name, value in {**request.headers, **own}.items()
        if value
    }


def _id(text: str) -> str:
    """The text, or its hash if it is too long for AWS."""
    return text if len(text) <= _LONGEST_ID else sha256(text.encode()).hexdigest()


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidValue("the payload is not UTF-8: SQS and SNS take only text") from None


def _refused(destination: str, response: Mapping[str, Any], text: str) -> Response:
    """The service's error with its status; throttling, which AWS reports as 400, becomes 429."""
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    code = str(response.get("Error", {}).get("Code", ""))
    if any(word in code.lower() for word in _THROTTLED):
        status = HTTPStatus.TOO_MANY_REQUESTS
    return failed(mask(f"{destination}: {text}"), SendOutcome.REFUSED, status=status)


def _broken(destination: str, error: Exception) -> Response:
    from botocore import exceptions

    text = mask(f"{destination}: {error}")
    if isinstance(error, exceptions.HTTPClientError):
        inner = error.kwargs.get("error")
        if isinstance(inner, NotSent):
            raise inner
        if isinstance(inner, Blocked):
            return failed(f"{destination}: {inner}", SendOutcome.BLOCKED, may_retry=False)
    if isinstance(error, exceptions.ConnectTimeoutError | exceptions.ReadTimeoutError):
        return failed(text, SendOutcome.TIMEOUT)
    mistakes = exceptions.ParamValidationError | exceptions.NoRegionError
    return failed(text, may_retry=not isinstance(error, mistakes))
