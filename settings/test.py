"""The environment of tests: a home of its own, so that they never touch a developer's data."""

HOME = "var/test"
