"""The check of all rows also reads what only this engine stores."""

from __future__ import annotations

from contextlib import closing

from synergy.storage.mongodb import MongoStore
from synergy.storage.row_checks import check_all
from tests.contract.documents import put
from tests.malformed_rows import spoil


def test_a_page_without_a_number_of_documents_is_malformed(mongodb_url: str) -> None:
    with closing(MongoStore.open(mongodb_url)) as store:
        put(store, ("2015051700", "k"), n=1)
        spoil(store, "pages", "rows")
        _, (row,) = check_all(store.rows, lambda _: None)
    assert (row.kind, "field rows" in row.problem) == ("pages", True)
