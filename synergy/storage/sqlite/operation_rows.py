"""Between rows and values: operations, and answers that are kept."""

from __future__ import annotations

import orjson

from synergy.model.answer import Answer
from synergy.model.operation import Operation, OperationState
from synergy.storage.encoding import instant, instant_or_none, json, micros, micros_or_none
from synergy.storage.sqlite.rows import Row


def operation(row: Row) -> Operation:
    """A row of `operation`."""
    (
        _, id_, kind, process, who, why, created_at, state, total, done, touched, detail, owner,
        finished_at, rev, request,
    ) = row  # fmt: skip
    return Operation(
        id=id_,
        kind=kind,
        process=process,
        request=orjson.loads(request),
        who=who,
        why=why,
        created_at=instant(created_at),
        state=OperationState(state),
        total=total,
        done=done,
        touched=touched,
        detail=detail,
        owner=owner,
        finished_at=instant_or_none(finished_at),
        rev=rev,
    )


def operation_row(operation: Operation) -> Row:
    """The columns of a new operation, without number and `rev`."""
    return (
        operation.id,
        operation.kind,
        operation.process,
        operation.who,
        operation.why,
        micros(operation.created_at),
        *changing(operation),
        json(operation.request, f"the request of operation {operation.id}"),
    )


def changing(operation: Operation) -> Row:
    """The columns that a change writes, in order."""
    return (
        operation.state.value,
        operation.total,
        operation.done,
        operation.touched,
        operation.detail,
        operation.owner,
        micros_or_none(operation.finished_at),
    )


def answer(row: Row) -> Answer:
    """The columns of an answer, in the order of its fields."""
    person, key, fingerprint, owner, at, status, headers, body, rev = row
    return Answer(
        person, key, fingerprint, owner, instant(at), status, orjson.loads(headers), body, rev
    )


def answer_row(answer: Answer) -> Row:
    """The columns of an answer, without `rev`."""
    return (
        answer.person,
        answer.key,
        answer.fingerprint,
        answer.owner,
        micros(answer.at),
        answer.status,
        json(answer.headers, "the headers of an answer"),
        answer.body,
    )
