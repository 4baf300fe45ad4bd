"""Classes that contexts of tests name."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Fine:
    """Has what a class path needs."""

    def __init__(self, workplace: object) -> None:
        self.workplace = workplace

    def start(self) -> None:
        """Does nothing."""


class Unfinished(ABC):
    """Leaves something undefined."""

    @abstractmethod
    def work(self) -> None: ...

    def start(self) -> None:
        self.work()


def function() -> None:
    """No class."""
