"""A client of MX that knows where it is, and beyond that only what OpenAPI says there.

Whatever is sent is held against the description before it is sent, and every answer against
what the description says of its status: so a description that is not true fails the test that
meets it. What the description does not name may not be there either.
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
    """An answer that is as it was described; `body` is JSON or a text."""

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
        """Fails unless the value is as the schema says."""
        whole = {"$ref": schema["$ref"]} if "$ref" in schema else schema
        validator = Draft202012Validator(
            {**whole, "components": self._components}, format_checker=FORMATS
        )
        wrong = [
            f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)
        ]
        assert not wrong, wrong[:5]

    def check_as(self, name: str, value: object) -> None:
        """Fails unless the value is as the schema of that name says."""
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
        assert found, f"nobody said that there is {place}"
        _, path, values = min(found)
        return path, values


class Client:
    """Somebody who uses the API of the MX at `base`; `headers` go with each request."""

    def __init__(self, base: str, headers: Mapping[str, str] | None = None) -> None:
        self.http = httpx.Client(
            base_url=base, headers=dict(headers or {}), timeout=LIMIT, trust_env=False
        )
        answer = until(self._reached)
        self.description = Description(answer.raise_for_status().json())

    def _reached(self) -> httpx.Response | None:
        """The description, from an MX that may still be on its way."""
        with suppress(httpx.TransportError):
            return self.http.get("/api/openapi.json")

    def close(self) -> None:
        self.http.close()

    def get(self, place: str, status: int = 200, **given: Any) -> Any:
        """The body of an answer; a name that Python keeps for itself ends with `_`."""
        return self.ask("GET", place, status=status, **given).body

    def post(self, place: str, body: object, status: int = 200, **given: Any) -> Any:
        return self.ask("POST", place, body, status, **given).body

    def ask(
        self, method: str, place: str, body: object = None, status: int | None = 200, **given: Any
    ) -> Answer:
        """Makes a request whose answer has to have this status; None for any that is described.

        `place` is a path of the description, or an address that one of them describes, with or
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
        """The operation that a 202 says to follow, when it has ended."""
        assert accepted.status == 202
        place = accepted.headers["location"]
        with self.listen(nouns="operation") as listener:
            return listener.until(
                lambda _: found if (found := self.get(place))["finished_at"] else None
            )

    def listen(self, since: int | None = None, **given: Any) -> Listener:
        """The stream of what happens from now on, or from after an entry."""
        return Listener(self, since, given)

    def stream(self, since: str | None, given: Mapping[str, Any]) -> httpx.Response:
        """The answer of the stream, whose end nobody waits for."""
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
        assert operation is not None, f"nobody said that {path} takes {method}"
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
        assert not values, f"nobody said that {path} takes {sorted(values)}"
        for name, value in sent["path"].items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            self.description.check(body, content["schema"])
        else:
            assert body is None, f"nobody said that {path} takes a body"
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
class Told:
    """A message of the stream; `id` is the number of the last entry that it tells of."""

    id: int
    event: str
    data: dict[str, Any]


class Listener:
    """Follows the stream as a browser does: who was cut off comes back with what he saw last."""

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
        """Ends the connection; what is told meanwhile comes with the next one."""
        if self._answer is not None:
            self._answer.close()
        self._answer = None

    def until(self, look: Callable[[Told | None], T | None], limit: float = LIMIT) -> T:
        """The first true answer of `look`: now (None), or when something was told."""
        clock = SystemClock()
        deadline = clock.monotonic() + limit
        if found := look(None):
            return found
        for told in self.messages():
            if told is not None and (found := look(told)):
                return found
            assert clock.monotonic() < deadline, f"not within {limit:g} s"
        raise AssertionError

    def messages(self) -> Iterator[Told | None]:
        """What is told, for ever; None for each sign that there is nothing to tell."""
        while True:
            try:
                if self._answer is None:
                    self._connect()
                yield from self._connected()
            except httpx.TransportError:
                Event().wait(STEP)
            self.cut()

    def rest(self) -> Iterator[Told | None]:
        """What this connection still tells until the other side ends it."""
        with suppress(httpx.TransportError):
            yield from self._connected()

    def _connect(self) -> None:
        """Returns when the stream has said where it begins."""
        self._answer = self._client.stream(self.last, self._given)
        self._lines = self._answer.iter_lines()
        self.connections += 1
        for _ in self._connected():
            return

    def _connected(self) -> Iterator[Told | None]:
        fields: dict[str, str] = {}
        for line in self._lines:
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
                continue
            self.last = fields.get("id", self.last)
            if "data" in fields:
                yield self._told(fields)
            else:
                yield None
            fields = {}

    def _told(self, fields: Mapping[str, str]) -> Told:
        data = json.loads(fields["data"])
        told = Told(int(fields["id"]), fields["event"], data)
        if told.event == "behind":
            assert set(data) == {"from", "to"}
        else:
            self._client.description.check_as("JournalEntry", data)
            assert (told.id, told.event) == (data["seq"], data["event"].partition(".")[0])
        return told


def _close(schema: object) -> None:
    """Has objects refuse what is not named, where nothing is said about that."""
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
