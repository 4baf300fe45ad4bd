"""A developer's machine: with demo data."""

DEMO_STREAM = "on"
