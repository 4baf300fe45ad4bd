"""A client of MX that knows only its address and its OpenAPI document.

Each request is validated against the document before it is sent, and each response against the
schema of its status. A wrong document therefore fails the test that uses it. Fields that the
document does not name are errors too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from jsonschema import Draft202012Validator, FormatChecker

from synergy.clock import SystemClock
from tests.acceptance.kit import LIMIT, STEP, until

PREFIX = "/api/v1"
FORMATS = FormatChecker(formats=())

T = TypeVar("T")


@FORMATS.checks("date-time", raises=ValueError)
def _is_instant(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that matches its description; `body` is JSON or text."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Description:
    """An OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        _close(document["components"]["schemas"])
        _close(document["paths"])
        self._components = document["components"]
        self.paths = document["paths"]
        operations = [each for path in self.paths.values() for each in path.values()]
        names = [each["operationId"] for each in operations]
        assert len(set(names)) == len(names)
        self._by_name = dict(zip(names, operations, strict=True))

    def check(self, value: object, schema: Mapping[str, Any]) -> None:
        """Fails unless the value matches the schema."""
        whole = {"$ref": schema["$ref"]} if "$ref" in schema else schema
        validator = Draft202012Validator(
            {**whole, "components": self._components}, format_checker=FORMATS
        )
        wrong = [
            f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)
        ]
        assert not wrong, wrong[:5]

    def check_as(self, name: str, value: object) -> None:
        """Fails unless the value matches the schema of this name."""
        self.check(value, {"$ref": f"#/components/schemas/{name}"})

    def path_of(self, place: str) -> tuple[str, dict[str, str]]:
        """The path that describes an address, and the values of its parameters."""
        if place in self.paths:
            return place, {}
        found = []
        for path in self.paths:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
            if match := re.fullmatch(pattern, place):
                found.append((path.count("{"), path, match.groupdict()))
        assert found, f"the document has no path {place}"
        _, path, values = min(found)
        return path, values


class Client:
    """Calls the API of the MX at `base`; `headers` are sent with each request."""

    def __init__(self, base: str, headers: Mapping[str, str] | None = None) -> None:
        self.http = httpx.Client(
            base_url=base, headers=dict(headers or {}), timeout=LIMIT, trust_env=False
        )
        answer = until(self._reached)
        self.description = Description(answer.raise_for_status().json())

    def _reached(self) -> httpx.Response | None:
        """The response with the document; None while MX does not accept connections yet."""
        with suppress(httpx.TransportError):
            return self.http.get("/api/openapi.json")

    def close(self) -> None:
        self.http.close()

    def get(self, place: str, status: int = 200, **given: Any) -> Any:
        """The body of a response; a parameter named like a Python keyword ends with `_`."""
        return self.ask("GET", place, status=status, **given).body

    def post(self, place: str, body: object, status: int = 200, **given: Any) -> Any:
        return self.ask("POST", place, body, status, **given).body

    def ask(
        self, method: str, place: str, body: object = None, status: int | None = 200, **given: Any
    ) -> Answer:
        """Sends a request and expects this status; None accepts any status of the document.

        `place` is a path template of the document, or a concrete path that matches one, with or
        without the prefix of the API; `given` are parameters by name.
        """
        request = self._request(method, place, body, given)
        operation = request.extensions.pop("described")
        answer = self.http.send(request)
        found = self._checked(operation, answer)
        assert status in (None, found.status), (method, place, found.status, found.body)
        return found

    def items(self, place: str, **given: Any) -> Iterator[Any]:
        """All items of a list, page by page."""
        cursor = {}
        while True:
            page = self.get(place, **given, **cursor)
            yield from page["items"]
            if page["next"] is None:
                return
            cursor = {"cursor": page["next"]}

    def follow(self, accepted: Answer) -> dict[str, Any]:
        """The operation that a 202 response links to, once it has finished."""
        assert accepted.status == 202
        place = accepted.headers["location"]
        with self.listen(nouns="operation") as listener:
            return listener.until(
                lambda _: found if (found := self.get(place))["finished_at"] else None
            )

    def listen(self, since: int | None = None, **given: Any) -> Listener:
        """The stream of events from now on, or those after the entry `since`."""
        return Listener(self, since, given)

    def stream(self, since: str | None, given: Mapping[str, Any]) -> httpx.Response:
        """The open response of the stream; its body is not read yet."""
        seen = {} if since is None else {"Last-Event-ID": since}
        request = self._request("GET", "/stream", None, {**given, **seen})
        request.extensions.pop("described")
        answer = self.http.send(request, stream=True)
        assert (answer.status_code, _media_type(answer)) == (200, "text/event-stream")
        return answer

    def _request(
        self, method: str, place: str, body: object, given: Mapping[str, Any]
    ) -> httpx.Request:
        url, _, query = place.partition("?")
        assert not query, "parameters are given by name"
        path, values = self.description.path_of(url if url.startswith(PREFIX) else f"{PREFIX}{url}")
        operation = self.description.paths[path].get(method.lower())
        assert operation is not None, f"the document has no {method} for {path}"
        values = {**values, **{name.removesuffix("_"): value for name, value in given.items()}}
        sent: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}}
        for parameter in operation.get("parameters", ()):
            value = values.pop(parameter["name"], None)
            if value is None:
                assert not parameter.get("required"), parameter
                continue
            self.description.check(value, parameter["schema"])
            text = value if isinstance(value, str) else json.dumps(value)
            sent[parameter["in"]][parameter["name"]] = text
        assert not values, f"{path} has no parameters {sorted(values)}"
        for name, value in sent["path"].items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            self.description.check(body, content["schema"])
        else:
            assert body is None, f"{path} takes no body"
        return self.http.build_request(
            method, path, params=sent["query"], headers=sent["header"],
            json=body if "requestBody" in operation else None,
            extensions={"described": operation},
        )  # fmt: skip

    def _checked(self, operation: Mapping[str, Any], answer: httpx.Response) -> Answer:
        described = operation["responses"].get(str(answer.status_code))
        said = (operation["operationId"], answer.status_code)
        assert described is not None, f"{said} is not described: {answer.text[:500]}"
        contents = {_bare(name): each for name, each in described.get("content", {}).items()}
        kind = _media_type(answer)
        assert kind in contents if contents else not answer.content, (*said, kind)
        body = answer.json() if kind.endswith("json") else answer.text
        if contents:
            self.description.check(body, contents[kind]["schema"])
        for name in described.get("headers", {}):
            header = described["headers"][name]
            if name in answer.headers:
                self.description.check(answer.headers[name], header["schema"])
        return Answer(answer.status_code, answer.headers, body)


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message of the stream; `id` is the number of the last journal entry that it covers."""

    id: int
    event: str
    data: dict[str, Any]


class Listener:
    """Follows the stream as a browser does: reconnects with the id of the last message."""

    def __init__(self, client: Client, since: int | None, given: Mapping[str, Any]) -> None:
        self._client = client
        self._given = given
        self._answer: httpx.Response | None = None
        self._lines: Iterator[str] = iter(())
        self.last = None if since is None else str(since)
        self.connections = 0
        self._connect()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """Ends the connection; the next one delivers the messages that were missed."""
        if self._answer is not None:
            self._answer.close()
        self._answer = None

    def until(self, look: Callable[[StreamMessage | None], T | None], limit: float = LIMIT) -> T:
        """The first true result of `look`, called at once with None, then with each message."""
        clock = SystemClock()
        deadline = clock.monotonic() + limit
        if found := look(None):
            return found
        for message in self.messages():
            if message is not None and (found := look(message)):
                return found
            assert clock.monotonic() < deadline, f"not within {limit:g} s"
        raise AssertionError

    def messages(self) -> Iterator[StreamMessage | None]:
        """All messages, without end; None for each keep-alive."""
        while True:
            try:
                if self._answer is None:
                    self._connect()
                yield from self._connected()
            except httpx.TransportError:
                Event().wait(STEP)
            self.cut()

    def rest(self) -> Iterator[StreamMessage | None]:
        """The remaining messages of this connection, until the server closes it."""
        with suppress(httpx.TransportError):
            yield from self._connected()

    def _connect(self) -> None:
        """Returns when the stream has sent the position at which it begins."""
        self._answer = self._client.stream(self.last, self._given)
        self._lines = self._answer.iter_lines()
        self.connections += 1
        for _ in self._connected():
            return

    def _connected(self) -> Iterator[StreamMessage | None]:
        fields: dict[str, str] = {}
        for line in self._lines:
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
                continue
            self.last = fields.get("id", self.last)
            if "data" in fields:
                yield self._parsed(fields)
            else:
                yield None
            fields = {}

    def _parsed(self, fields: Mapping[str, str]) -> StreamMessage:
        data = json.loads(fields["data"])
        message = StreamMessage(int(fields["id"]), fields["event"], data)
        if message.event == "behind":
            assert set(data) == {"from", "to"}
        else:
            self._client.description.check_as("JournalEntry", data)
            assert (message.id, message.event) == (data["seq"], data["event"].partition(".")[0])
        return message


def _close(schema: object) -> None:
    """Forbids additional properties wherever the schema leaves them open."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for inner in schema.values():
            _close(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _close(inner)


def _media_type(answer: httpx.Response) -> str:
    return _bare(answer.headers.get("content-type", ""))


def _bare(content_type: str) -> str:
    return content_type.partition(";")[0].strip()
