"""The browser of the tests of MX, before a system that really runs."""

from tests.mx.browser.conftest import chromium, look

__all__ = ["chromium", "look"]
