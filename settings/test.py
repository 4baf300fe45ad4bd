"""Tests: a separate home, which keeps a developer's data safe."""

HOME = "var/test"
