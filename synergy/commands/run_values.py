"""Values that are given for one run of a schedule, in place of those of its definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from synergy.commands.schedule_rows import missing_payload, stored_separately
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import Definition, DeliveryProgram
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.format.read import read
from synergy.storage.payload import name_of
from synergy.storage.protocol import StoreView


@dataclass(frozen=True, slots=True)
class RunValues:
    """The arguments of a worker, which override those of the schedule; or the payload of a request.

    A payload is a text, which may be a template, or any other JSON value. None: as defined.
    """

    arguments: Mapping[str, object] | None = None
    payload: object = None

    @property
    def remark(self) -> str:
        """What is said about a run by hand with these values."""
        if self.arguments is not None:
            return "by hand, with arguments of its own"
        return "by hand" if self.payload is None else "by hand, with a payload of its own"

    def applied(
        self, data: Mapping[str, object], known: Known, store: StoreView
    ) -> tuple[Definition, bytes | None]:
        """The definition of the run, and its payload if that has to be stored beside the run.

        The values are checked as those of a definition; raises InvalidDefinition.
        """
        given = dict(data)
        if self.arguments is not None:
            present = data.get("arguments")
            given["arguments"] = {
                **(present if isinstance(present, Mapping) else {}),
                **self.arguments,
            }
        if self.payload is not None:
            given["payload"] = self.payload
        definition = read(given, known)
        if mistakes := missing_payload(definition, store):
            raise InvalidDefinition(mistakes)
        program = definition.program
        if self.payload is None or not isinstance(program, DeliveryProgram):
            return definition, None
        content = stored_separately(program.payload)
        if content is None:
            return definition, None
        stored = StoredDelivery(
            program.target,
            "",
            program.content_type,
            program.headers,
            program.signing_secret,
            name_of(content),
        )
        return replace(definition, program=stored), content


AS_DEFINED = RunValues()
