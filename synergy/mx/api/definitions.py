"""Definitions of schedules in request bodies: the fields of a schedule file.

`synergy.schedule.format` reads them and reports all mistakes at once; this module describes them
for OpenAPI.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path
from pydantic import ConfigDict

from synergy.mx.bodies import Action, Body

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"

Name = Annotated[str, Path(pattern=NAME, description="the name of a schedule")]

_TEXT = {"type": "string", "minLength": 1, "maxLength": 256}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 10_000}}
_DURATION = {
    "oneOf": [{"type": "string", "pattern": r"^[0-9]{1,12}\s*[smhd]?$"}, {"type": "number"}],
    "description": "seconds, or a text such as 5m; at most ten years",
}
_INSTANT = {"type": "string", "description": "such as 2026-11-22T00:00:00Z"}
_ZONE = {"type": "string", "minLength": 1, "description": "such as Europe/Berlin"}
_CRON = {"type": "string", "minLength": 9, "maxLength": 995}
_DEPENDENCY = {
    "type": "object",
    "properties": {
        "type": {"enum": ["FILE", "TABLE", "TIME BASED", "TIME_BASED", "TIME_BASED_CRON"]},
        "resourceId": {"type": "string", "minLength": 1, "maxLength": 2048},
        "lifeDuration": _DURATION,
    },
    "required": ["type", "resourceId", "lifeDuration"],
    "additionalProperties": False,
}
FIELDS: dict[str, Any] = {
    "name": {"type": "string", "pattern": NAME},
    "schedule_name": {"type": "string", "pattern": NAME, "description": "alias of name"},
    "process": {**_TEXT, "description": "the free-run process that it runs"},
    "arguments": {"type": "object", "description": "for the worker"},
    "target": {**_TEXT, "maxLength": 2048, "description": "what it sends to"},
    "payload": {"description": "a text, which may be a template, or any other value"},
    "content_type": _TEXT,
    "headers": _TEXTS,
    "signing_secret": {**_TEXT, "maxLength": 1000, "description": "signs requests to a webhook"},
    "budget": _DURATION,
    "trigger": {
        "oneOf": [
            {"type": "string", "minLength": 1, "maxLength": 1000},
            {"type": "object", "minProperties": 1, "maxProperties": 1},
        ],
        "description": "`cron 0 2 * * *`, `every 60`, `at 02:30`, or an object of one kind such as "
        "`{calendar_interval: {weeks, time, start, end, jitter}}` or "
        "`{timetable: {process, statuses, generations}}`",
    },
    "cron": {"oneOf": [_CRON, {"type": "array", "items": _CRON, "minItems": 1, "maxItems": 100}]},
    "when": _INSTANT,
    "dependencies": {"type": "array", "items": _DEPENDENCY, "minItems": 1, "maxItems": 100},
    "zone": _ZONE,
    "template_zone": _ZONE,
    "from": _INSTANT,
    "end": {**_INSTANT, "description": "the last instant at which it may be due"},
    "max_runs": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "jitter": {**_DURATION, "description": "delays each due time by up to this, in whole seconds"},
    "exclude": {
        "type": "array",
        "items": {"type": "string", "format": "date"},
        "maxItems": 2_000,
        "description": "dates in the schedule's zone on which due times are skipped",
    },
    "overlap": {
        "enum": ["skip", "buffer_one", "buffer_all", "cancel_other", "allow"],
        "description": "what becomes of a run that is triggered during a run",
    },
    "coalesce": {"type": "boolean", "description": "whether an event joins a run that waits"},
    "pause_after_failures": {"type": "integer", "minimum": 1, "maximum": 100},
    "first_run": {"enum": ["on_schedule", "immediately"]},
    "catchup": {"enum": ["all", "latest", "none"]},
    "catchup_max": {"type": "integer", "minimum": 1, "maximum": 10_000},
    "constraints": {
        "type": "array",
        "items": {"type": "object", "minProperties": 1, "maxProperties": 1},
        "maxItems": 50,
    },
    "timeout": _DURATION,
    "timeout_policy": {"enum": ["discard", "force"]},
    "priority": {"type": "integer", "minimum": -1_000_000, "maximum": 1_000_000},
    "group": {**_TEXT, "maxLength": 100},
    "properties": _TEXTS,
    "external_id": _TEXT,
    "by": _TEXT,
    "enabled": {"type": "boolean", "description": "whether a new schedule begins at once"},
}
PROGRAM, TRIGGER = ("process", "target"), ("trigger", "cron", "when", "dependencies")


def _described(schema: dict[str, Any]) -> None:
    """Adds the fields to the OpenAPI schema of a definition."""
    _describe(schema, [_one_of(PROGRAM), _one_of(TRIGGER)])


def _described_configuration(schema: dict[str, Any]) -> None:
    """Adds the fields to the OpenAPI schema of a definition that may lack its program."""
    _describe(schema, [{"not": {"required": [*PROGRAM]}}, _one_of(TRIGGER)])


def _describe(schema: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    schema.setdefault("properties", {}).update(FIELDS)
    schema["additionalProperties"] = False
    schema["allOf"] = rules


def _one_of(names: tuple[str, ...]) -> dict[str, Any]:
    return {"oneOf": [{"required": [name]} for name in names]}


class Definition(Body):
    """A schedule, as docs/schedule-files.md describes it."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_described)

    @property
    def definition(self) -> Mapping[str, object]:
        """The definition without the fields of an action."""
        return self.model_extra or {}


class NewDefinition(Definition, Action):
    """A schedule to store, with the fields of every action."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_described)


class Configuration(NewDefinition):
    """A schedule to store, whose program may be given beside it."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_described_configuration)
