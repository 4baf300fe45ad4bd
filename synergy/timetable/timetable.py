"""All levels, and the relations between them.

A level's parent and child are its neighbours in its tree. Its *counterparts* are the levels
of the same qualifier in the trees that its tree depends on, its *dependants* those in the
trees that depend on its tree. A tree without that qualifier gives no dependency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime

from synergy.errors import InvalidValue, NotFound
from synergy.model.job import JobSpan
from synergy.model.process import Deployment, ManagedProcess
from synergy.timetable.level import Level


@dataclass(slots=True, eq=False)
class Place:
    """A level with its relations to others."""

    level: Level
    tree: str
    parent: Place | None = None
    child: Place | None = None
    counterparts: list[Place] = field(default_factory=list)
    dependants: list[Place] = field(default_factory=list)

    @property
    def process(self) -> ManagedProcess:
        return self.level.process

    def parent_ordinal(self, ordinal: int) -> int:
        """The ordinal of the parent of a period; there must be a parent."""
        assert self.parent is not None
        own, above = self.process.qualifier, self.parent.process.qualifier
        return self.parent.level.checkpoint(own.up(ordinal, above))

    def children(self, ordinal: int) -> tuple[int, int]:
        """The half-open range of child ordinals that the job of a period covers."""
        assert self.child is not None
        own, below = self.process.qualifier, self.child.process.qualifier
        first, end = self.level.covered(ordinal) or (ordinal, ordinal + 1)
        return own.down(first, below)[0], own.down(end, below)[0]


class Timetable:
    """The timetable of a deployment, from its first hour to the open periods of `now`."""

    def __init__(self, deployment: Deployment, start: str, now: datetime) -> None:
        """`start` is the hourly timeperiod of the first hour."""
        self.start = start
        self.places: dict[str, Place] = {}
        managed = deployment.managed()
        trees = deployment.trees.values()
        for tree in trees:
            above: Place | None = None
            for name in tree.processes:
                above = self._add(managed[name], tree.name, above, now)
        by_tree = {
            tree.name: {self.places[p].process.qualifier: self.places[p] for p in tree.processes}
            for tree in trees
        }
        for tree in trees:
            for other in tree.dependent_on:
                for qualifier, place in by_tree[tree.name].items():
                    counterpart = by_tree[other].get(qualifier)
                    if counterpart is not None:
                        place.counterparts.append(counterpart)
                        counterpart.dependants.append(place)

    def _add(self, process: ManagedProcess, tree: str, above: Place | None, now: datetime) -> Place:
        qualifier = process.qualifier
        level = Level(process, qualifier.cast(self.start), qualifier.at(now) + 1)
        place = self.places[process.name] = Place(level, tree, parent=above)
        if above is not None:
            above.child = place
        return place

    def load(self, spans: Iterable[JobSpan]) -> None:
        """Sets stored jobs; those of processes that are no longer declared are ignored."""
        for span in spans:
            place = self.places.get(span.process)
            if place is not None:
                place.level.load(span)
        for place in self.places.values():
            place.level.loaded()

    def replaced(self, levels: Mapping[str, Level]) -> Timetable:
        """A timetable with these levels instead of its own; it shares all others."""
        new = copy(self)
        new.places = {
            name: Place(levels.get(name, place.level), place.tree)
            for name, place in self.places.items()
        }

        def twin(place: Place) -> Place:
            return new.places[place.process.name]

        for place in self.places.values():
            own = twin(place)
            own.parent = None if place.parent is None else twin(place.parent)
            own.child = None if place.child is None else twin(place.child)
            own.counterparts = [twin(other) for other in place.counterparts]
            own.dependants = [twin(other) for other in place.dependants]
        return new

    def grow(self, now: datetime) -> None:
        """Adds the periods that have begun."""
        for place in self.places.values():
            place.level.grow(place.process.qualifier.at(now) + 1)

    def extend(self, start: str) -> None:
        """Moves the first hour to an earlier one."""
        self.start = min(self.start, start)
        for place in self.places.values():
            place.level.extend(place.process.qualifier.cast(self.start))

    def span(self, process: str, first: str, last: str) -> tuple[Place, range]:
        """The jobs `first` to `last` (inclusive).

        Raises NotFound for jobs outside the timetable, InvalidValue for invalid timeperiods, or if
        `last` lies before `first`.
        """
        place = self.place(process)
        begin, end = place.level.ordinal(first), place.level.ordinal(last)
        if end < begin:
            raise InvalidValue(f"{first} lies after {last}")
        return place, range(begin, end + 1)

    def place(self, process: str) -> Place:
        """The place of a managed process; raises NotFound."""
        try:
            return self.places[process]
        except KeyError:
            known = ", ".join(self.places)
            raise NotFound("managed process", process, f"there are: {known}") from None
