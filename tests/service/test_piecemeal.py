"""The same courses of events without transactions: actors stop between any two writes.

Three schedulers share the trees. Every actor, schedulers and operators included, may be put
aside in the midst of a batch while others go on, for longer than any lease lasts; may end
there; and may find the store or the bus unavailable, with its write made or not. What holds
after every step in `test_interleavings` may then be untrue for a moment, but an attempt is
still claimed once and a generation finished once, and in the end the rows equal a
recomputation and everything is accounted for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.insight import actions
from synergy.model.process import Deployment
from tests.service.piecemeal import Actor, PiecemealStore, UnreliableBus
from tests.service.test_interleavings import Play
from tests.service.world import World

CALM = 1.0  # a roll that is never below any probability


class PiecemealPlay(Play):
    """One random course of events, write by write."""

    steps = 900

    def __init__(self, seed: int, mutate: Callable[[World], None] = lambda _: None) -> None:
        self.is_calm = False
        self.actors: dict[object, Actor] = {}
        self.put_aside, self.fails, self.ends = 0.0, 0.0, 0.0
        self.generations = 2
        super().__init__(seed, mutate)
        self.put_aside = self.random.choice([0.05, 0.3, 0.6])
        self.fails = self.random.choice([0.0, 0.003, 0.01])
        self.ends = self.random.choice([0.0, 0.01, 0.03])
        self.schedulers.append(self.world.a_scheduler("scheduler-3"))
        self.generations += 1

    def _world(self, deployment: Deployment, now: datetime) -> World:
        store = PiecemealStore(self._pause)
        return World(deployment, now=now, store=store, bus=self._bus)

    def _bus(self, store: PiecemealStore) -> UnreliableBus:
        return UnreliableBus(store, lambda: self._roll() < 0.1)

    def _roll(self) -> float:
        return CALM if self.is_calm else self.random.random()

    def _pause(self, is_write: bool) -> None:
        actor = Actor.present()
        if actor is None:
            return
        if self._roll() < (self.put_aside if is_write else self.put_aside / 10):
            actor.pause()
        if self._roll() < self.fails:
            raise StorageUnavailable("the store is away")

    def _step(self) -> None:
        roll = self.random.random()
        if roll < 0.30:
            self._go_on(self.random.choice(self.workers))
        elif roll < 0.72:
            self._go_on(self.random.choice(self.schedulers))
        elif roll < 0.82:
            self.world.clock.advance(self.random.choice([0.1, 0.1, 0.5, 0.5, 1, 1, 2, 4, 12, 30]))
        elif roll < 0.88:
            self._data()
        elif roll < 0.96:
            self._go_on("operator")
        else:
            self._mishandle_messages()

    def _go_on(self, who: object) -> None:
        """Resumes somebody, or lets him begin; seldom, he ends where he stands."""
        actor = self.actors.get(who)
        if actor is None or actor.is_done:
            actor = self.actors[who] = Actor(self._act(who))
        elif self.random.random() < self.ends:
            self._end(who)
            return
        actor.resume()

    def _act(self, who: object) -> Callable[[], object]:
        def act() -> None:
            try:
                if who == "operator":
                    self._operator()
                else:
                    (who.run_once if who in self.schedulers else who.step)()
            except StorageUnavailable:
                if who in self.schedulers:
                    who._forget()
                elif who != "operator":
                    who.die()
            except MessagingUnavailable:
                pass

        return act

    def _end(self, who: object) -> None:
        self.actors.pop(who).kill()
        if who in self.schedulers:
            self.generations += 1
            new = self.world.a_scheduler(f"scheduler-{self.generations}")
            self.schedulers[self.schedulers.index(who)] = new
        elif who != "operator":
            who.die()

    def _check_tree(self, timetable) -> None:
        """Only at rest."""
        if self.is_calm and not self.actors:
            super()._check_tree(timetable)

    def _come_to_rest(self) -> None:
        for who in list(self.actors):
            if self.random.random() < 0.3:
                self._end(who)
        self.is_calm = True
        for actor in self.actors.values():
            while not actor.is_done:
                actor.resume()
        super_check, self._check_tree = self._check_tree, lambda _timetable: None
        super()._come_to_rest()
        self.actors.clear()
        self._check_tree = super_check


def test_an_operator_who_cancels_newer_units_too_is_noticed(monkeypatch):
    """Between his move and his cancels a scheduler may have requested another unit."""
    real = actions._cancels

    def cancels(store, moves, actor):
        return real(store, [replace(move, generation=1000) for move in moves], actor)

    monkeypatch.setattr(actions, "_cancels", cancels)
    for seed in (233, *range(30, 90)):
        try:
            PiecemealPlay(seed).run()
        except AssertionError:
            return
    pytest.fail("nobody noticed that the guard was gone")


@pytest.mark.parametrize("seed", range(25))
def test_no_course_of_events_breaks_a_promise_without_transactions(seed):
    PiecemealPlay(seed).run()
