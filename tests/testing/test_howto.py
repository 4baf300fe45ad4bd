"""The examples of docs/howto/test-a-worker.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "test-a-worker.md"
NAMES: dict[str, Any] = {"__name__": "howto"}
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
for block in BLOCKS:
    exec(compile(block, str(PAGE), "exec"), NAMES)
TESTS = {name: test for name, test in NAMES.items() if name.startswith("test_")}


def test_the_page_has_tests() -> None:
    assert len(TESTS) == 4


@pytest.mark.parametrize("name", TESTS)
def test_example(name: str) -> None:
    TESTS[name]()
