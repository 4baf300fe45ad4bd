"""A developer's machine."""

DEMO_STREAM = "on"
