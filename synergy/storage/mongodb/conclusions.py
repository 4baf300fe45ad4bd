"""Conclusions of units with their results.

A result may have many rows, and there are no transactions. So a conclusion that changes rows takes
four steps, each of which is a compare-and-set or can be repeated by any process:

1. The rows are inserted hidden.
2. `ending` is set on the unit, if the attempt still holds it. This is the commit point.
3. The rows are shown and announced.
4. The unit gets its new state, and its journal entry is written.

Until step 4 the unit is in progress and cannot be moved. If a worker dies after step 2, the unit
has an `ending`, which `recover` carries out.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import ATTEMPT_ENDS
from synergy.model.unit_of_work import Conclusion, UnitState
from synergy.runtime.masking import mask
from synergy.storage.instants import micros, micros_or_none
from synergy.storage.mongodb.compare_and_set import Swap, swap
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.mongodb.journal import MongoJournal
from synergy.storage.mongodb.results import Page, Result, Results
from synergy.storage.mongodb.unit_documents import entry, journal_entry
from synergy.storage.stored_fields import counts_list


class Conclusions:
    """Concludes attempts, and recovers conclusions that were interrupted."""

    def __init__(self, database: Database, results: Results, journal: MongoJournal) -> None:
        self._database = database
        self._results = results
        self._journal = journal
        self._stuck: dict[str, int] = {}  # open conclusions at the last `recover`: unit, version

    def conclude(self, conclusions: Sequence[Conclusion], now: datetime) -> list[Conclusion]:
        """See `synergy.storage.protocol.Units.conclude`."""
        results = [_prepared(conclusion) for conclusion in conclusions]
        with self._database.calling():
            documents = self._units(conclusions)
            owned: dict[str, int] = {}
            for at, conclusion in enumerate(conclusions):
                if _is_owned(conclusion, documents.get(conclusion.unit)):
                    owned.setdefault(conclusion.unit, at)
            begun = {  # by an earlier call whose answer was lost
                unit: at for unit, at in owned.items() if documents[unit]["ending"] is not None
            }
            self._carry_out([documents[unit] for unit in begun])
            owned = {unit: at for unit, at in owned.items() if unit not in begun}
            pages = self._results.stage(
                {
                    unit: (_version(documents[unit]), results[at])
                    for unit, at in owned.items()
                    if results[at]
                }
            )
            endings = {
                unit: _ending(documents[unit], conclusions[at], micros(now), pages.get(unit, []))
                for unit, at in owned.items()
            }
            done = self._commit([documents[unit] for unit in owned], endings)
            unused = [page for unit, some in pages.items() if unit not in done for page in some]
            if unused:
                self._results.discard(unused)
        made = {*begun.values(), *(owned[unit] for unit in done)}
        return [conclusion for at, conclusion in enumerate(conclusions) if at not in made]

    def recover(self) -> int:
        """Carries out conclusions that made no progress since the last call; returns how many."""
        units = self._database["units"]
        with self._database.calling():
            running = units.find({"state": UnitState.IN_PROGRESS.value})
            open_ = {unit["_id"]: unit for unit in running if unit["ending"] is not None}
            left = [unit for id_, unit in open_.items() if self._stuck.get(id_) == unit["v"]]
            self._stuck = {id_: unit["v"] for id_, unit in open_.items()}
            self._carry_out(left)
        return len(left)

    def _units(self, conclusions: Sequence[Conclusion]) -> dict[str, Doc]:
        ids = [conclusion.unit for conclusion in conclusions]
        found = self._database["units"].find({"_id": {"$in": ids}})
        return {document["_id"]: document for document in found}

    def _commit(self, documents: Sequence[Doc], endings: dict[str, Doc]) -> set[str]:
        """Commits conclusions and carries them out; returns the ids of the concluded units.

        A conclusion that changes no rows takes only step 4.
        """
        short = [document for document in documents if not endings[document["_id"]]["pages"]]
        long = [document for document in documents if endings[document["_id"]]["pages"]]
        ended = self._end([(document, endings[document["_id"]]) for document in short])
        begun = swap(
            self._database["units"],
            [Swap(unit["_id"], unit["v"], {"ending": endings[unit["_id"]]}) for unit in long],
        )
        self._carry_out(
            [
                {**unit, "ending": endings[unit["_id"]], "v": unit["v"] + 1}
                for unit in long
                if unit["_id"] in begun
            ]
        )
        return ended | begun

    def _carry_out(self, documents: Sequence[Doc]) -> None:
        """Takes the steps after the commit point: shows the rows and ends the units."""
        if not documents:
            return
        versions = {document["_id"]: document["v"] for document in documents}

        def is_open(page: Page) -> bool:
            still = {"_id": page.unit, "v": versions[page.unit]}
            return self._database["units"].find_one(still, {"_id": 1}) is not None

        pages = [Page(**page) for document in documents for page in document["ending"]["pages"]]
        self._results.show(pages, is_open)
        self._end([(document, document["ending"]) for document in documents])

    def _end(self, endings: Sequence[tuple[Doc, Doc]]) -> set[str]:
        """Changes the units' states and journals that; returns the ids of the changed units."""
        swaps = {document["_id"]: _ended(document, ending) for document, ending in endings}
        self._journal.add_pending(
            journal_entry(document, entry)
            for document, _ in endings
            for entry in document["untold"]
        )
        done = swap(self._database["units"], list(swaps.values()))
        self._journal.add(
            journal_entry(
                document, {**(swaps[document["_id"]].entry or {}), "v": document["v"] + 1}
            )
            for document, _ in endings
            if document["_id"] in done
        )
        return done


def _prepared(conclusion: Conclusion) -> list[Result]:
    if conclusion.state not in ATTEMPT_ENDS:
        raise InvalidValue(f"an attempt does not end as {conclusion.state.value}")
    return [Result(write) for write in conclusion.writes]


def _is_owned(conclusion: Conclusion, document: Doc | None) -> bool:
    if document is None:
        return False
    held = document["state"], document["attempt"], document["owner"]
    return held == (UnitState.IN_PROGRESS.value, conclusion.attempt, conclusion.owner)


def _version(document: Doc) -> str:
    attempt = f"{document['_id']}.{document['attempt']}.{secrets.token_hex(4)}"
    return f"{document['process']}#{attempt}"


def _ending(document: Doc, conclusion: Conclusion, at: int, pages: Sequence[Page]) -> Doc:
    return {
        "at": at,
        "state": conclusion.state.value,
        "counts": counts_list(conclusion.counts),
        "reason": mask(conclusion.reason),
        "not_before": micros_or_none(conclusion.not_before),
        "owner": document["owner"],
        "pages": [asdict(page) for page in pages],
    }


def _ended(document: Doc, ending: Doc) -> Swap:
    state = UnitState(ending["state"])
    fields = {
        "state": state.value,
        "failures": document["failures"] + (state is UnitState.INVALID),
        "not_before": ending["not_before"],
        "finished_at": ending["at"] if state.is_finished else None,
        "counts": ending["counts"],
        "reason": ending["reason"],
        "slot": document["_id"],
        "ending": None,
    }
    entry_ = entry(
        ending["at"], document["state"], state, ending["reason"], ending["owner"],
        document["attempt"],
    )  # fmt: skip
    return Swap(document["_id"], document["v"], fields, entry=entry_)
