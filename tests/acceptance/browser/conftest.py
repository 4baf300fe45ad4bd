"""The browser of the tests of MX, before a system that really runs."""

from tests.mx.browser.conftest import chromium, font, fonts, look

__all__ = ["chromium", "font", "fonts", "look"]
