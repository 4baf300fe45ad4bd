"""Classes that contexts of tests name."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Fine:
    """A usable worker class."""

    def __init__(self, workplace: object) -> None:
        self.workplace = workplace

    def start(self) -> None:
        """Does nothing."""


class Unfinished(ABC):
    """A class with an abstract method."""

    @abstractmethod
    def work(self) -> None: ...

    def start(self) -> None:
        self.work()


def function() -> None:
    """Is not a class."""
