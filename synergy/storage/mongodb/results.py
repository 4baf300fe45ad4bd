"""Results of units: staged as hidden rows, and shown when their unit is concluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from synergy.model.unit_of_work import SinkWrite
from synergy.storage.collection_rows import body
from synergy.storage.mongodb.changes import ENDLESS, Changes, Place, Written
from synergy.storage.mongodb.collection_rows import (
    NO_PAGE,
    RANGES_AT_ONCE,
    insert,
    page_id,
    page_of,
    row_of,
    shown,
    table,
    within,
)
from synergy.storage.mongodb.compare_and_set import Swap, insert_new, swap
from synergy.storage.mongodb.database import Database, Doc
from synergy.storage.protocol import unique_documents


class Result:
    """A sink write whose documents are checked and encoded."""

    def __init__(self, write: SinkWrite) -> None:
        self.collection = write.collection
        self.start = write.start
        self.end = write.end or ENDLESS
        self.bodies = {
            row: body(document.body, document.key)
            for row, document in unique_documents(write).items()
        }

    def covers(self, place: Place) -> bool:
        """Whether the result replaces the rows of a place."""
        return place[0] == self.collection and self.start <= place[1] < self.end

    def places(self) -> set[Place]:
        """The places for which the result has rows."""
        return {(self.collection, timeperiod) for timeperiod, _ in self.bodies}

    def range(self) -> Doc:
        """A query for the timeperiods whose rows the result replaces."""
        return {"timeperiod": {"$gte": self.start, "$lt": self.end}}


@dataclass(frozen=True, slots=True)
class Page:
    """The change of a place by a result: `version` is the version of the rows to show.

    `v` is the `v` of the stored page at staging, 0 if there was none. `count` is the number of rows
    that differ, `rows` the number of rows after the change, and `removes` the versions that
    become obsolete. The unit's ending holds its pages.
    """

    unit: str
    collection: str
    timeperiod: str
    version: str
    v: int
    count: int
    rows: int
    removes: list[str]

    @property
    def id(self) -> str:
        """The id of its document."""
        return page_id(self.collection, self.timeperiod)

    def shown(self) -> Doc:
        """The fields of its document that show the result."""
        return {"versions": [self.version], "rows": self.rows}


class Results:
    """Stages, shows and discards the rows that units made."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    def stage(self, results: Mapping[str, tuple[str, Sequence[Result]]]) -> dict[str, list[Page]]:
        """Writes hidden rows of each place that the results change; returns pages to show, by unit.

        `results` maps a unit to the version of its rows, which no other write uses, and to its
        results. A version begins with the process and `#`.
        """
        wanted = [result for _, some in results.values() for result in some]
        present = self._present(wanted)
        ranges = [{"collection": result.collection, **result.range()} for result in wanted]
        pages = {page["_id"]: page for page in within(self._database["pages"], ranges)}
        staged: dict[str, list[Page]] = {}
        rows: dict[str, list[Doc]] = {}
        for unit, (version, some) in results.items():
            staged[unit] = []
            for result in some:
                for place in sorted(
                    {place for place in present if result.covers(place)} | result.places()
                ):
                    changed, new = _compared(
                        unit, version, place, result, present.get(place, []),
                        pages.get(page_id(*place), NO_PAGE),
                    )  # fmt: skip
                    if changed is not None:
                        staged[unit].append(changed)
                        rows.setdefault(result.collection, []).extend(new)
        for collection, some_rows in rows.items():
            insert(self._database, collection, some_rows)
        return staged

    def show(self, pages: Sequence[Page], is_open: Callable[[Page], bool]) -> None:
        """Shows staged rows, and announces the changes.

        If another write has changed a page since the result was staged, `is_open` returns whether
        the unit's conclusion is still unfinished.
        """
        if not pages:
            return
        for page in self._show_unchanged(pages):
            self._show_changed(page, is_open)
        self._changes.announce(
            [Written((page.collection, page.timeperiod), page.count) for page in pages]
        )
        self._remove([(page, page.removes) for page in pages if page.removes])

    def discard(self, pages: Sequence[Page]) -> None:
        """Deletes staged rows that are not to be shown."""
        self._remove([(page, [page.version]) for page in pages])

    def _show_unchanged(self, pages: Sequence[Page]) -> list[Page]:
        """Shows the versions of the pages that are as at staging; returns the other pages."""
        collection = self._database["pages"]
        done = swap(
            collection,
            [Swap(page.id, page.v, page.shown()) for page in pages if page.v],
        )
        done |= insert_new(
            collection,
            [
                page_of(page.collection, page.timeperiod, page.version, page.rows)
                for page in pages
                if not page.v
            ],
        )
        return [page for page in pages if page.id not in done]

    def _show_changed(self, page: Page, is_open: Callable[[Page], bool]) -> None:
        """Shows the page's version, unless it is shown already or the unit is concluded.

        The page is read before the unit, so that the swap fails if a later unit changes the page.
        """
        collection = self._database["pages"]
        while (found := collection.find_one({"_id": page.id})) is not None:
            if page.version in found["versions"] or not is_open(page):
                return
            if swap(collection, [Swap(page.id, found["v"], page.shown())]):
                return

    def _present(self, results: Sequence[Result]) -> dict[Place, list[Doc]]:
        """Stored rows, of all versions, that the results may replace."""
        present: dict[Place, list[Doc]] = {}
        for collection in {result.collection for result in results}:
            ranges = [result.range() for result in results if result.collection == collection]
            for row in within(table(self._database, collection), ranges):
                present.setdefault((collection, row["timeperiod"]), []).append(row)
        return present

    def _remove(self, versions: Sequence[tuple[Page, list[str]]]) -> None:
        for collection in {page.collection for page, _ in versions}:
            wanted = [
                {"timeperiod": page.timeperiod, "version": {"$in": some}}
                for page, some in versions
                if page.collection == collection
            ]
            for start in range(0, len(wanted), RANGES_AT_ONCE):
                part = {"$or": wanted[start : start + RANGES_AT_ONCE]}
                table(self._database, collection).delete_many(part)


def _compared(
    unit: str, version: str, place: Place, result: Result, present: Sequence[Doc], page: Doc
) -> tuple[Page | None, list[Doc]]:
    """The page that the result changes and its new rows; None and no rows if nothing changes."""
    collection, timeperiod = place
    there = shown(present, {timeperiod: page})
    old = {key: row["body"] for (_, key), row in there.items()}
    new = {key: text for (at, key), text in result.bodies.items() if at == timeperiod}
    count = sum(old.get(key) != text.decode() for key, text in new.items())
    count += len(old.keys() - new.keys())
    if not count:
        return None, []
    of_process = f"{version.partition('#')[0]}#"
    abandoned = {row["version"] for row in present if row["version"].startswith(of_process)}
    removes = sorted(abandoned | set(page["versions"]))
    changed = Page(unit, collection, timeperiod, version, page["v"], count, len(new), removes)
    return changed, [row_of((timeperiod, key), version, text) for key, text in new.items()]
