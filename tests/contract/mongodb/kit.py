"""What the tests of the MongoDB engine share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from synergy.errors import SynergyError
from synergy.storage.mongodb import MongoStore


@contextmanager
def opened(url: str, **options: Any) -> Iterator[MongoStore]:
    store = MongoStore.open(url, **options)
    try:
        yield store
    finally:
        store.close()


def failure(url: str) -> SynergyError:
    """Returns the error with which opening this store fails."""
    with pytest.raises(SynergyError) as caught, opened(url):
        pytest.fail("the store was opened")
    return caught.value
