"""The session worker: sessions do not depend on order or repetition of events."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.timeperiod import Qualifier
from synergy.worker import BadMessage
from workers.single_session_worker import PIECES, SESSIONS, SingleSessionWorker

OPENED = 1_431_864_000  # 2015-05-17 12:00:00 UTC
HOUR = "2015051712"
Event = dict[str, Any]


class FakeDocuments:
    """Documents in a dictionary, with `update` only."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str, str], Mapping[str, Any]] = {}
        self.merges: list[str] = []

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Any) -> int:
        changed = 0
        for key, timeperiod in keys:
            place = (collection, timeperiod, key)
            before = self.bodies.get(place)
            after = merge(key, before)
            assert merge(key, before) == after, "a merge must be repeatable"
            assert merge(key, after) == after, "a merge must be idempotent"
            merge(key, before)
            self.merges.append(collection)
            self.bodies[place] = after
            changed += before != after
        return changed

    def of(self, collection: str) -> list[Mapping[str, Any]]:
        return [self.bodies[place] for place in sorted(self.bodies) if place[0] == collection]


def event(key: str, second: int, *, session: str = "s1", pageview: bool = True) -> Event:
    return {
        "site": "example.com",
        "session": session,
        "hour": HOUR,
        "ip": "10.0.0.1",
        "os": "Linux",
        "browser": "Firefox",
        "at": OPENED + second,
        "key": key,
        "pageview": pageview,
    }


def handled(*groups: Sequence[Event]) -> FakeDocuments:
    documents = FakeDocuments()
    worker = SingleSessionWorker(None)  # type: ignore[arg-type]
    for group in groups:
        worker.handle(group, documents)  # type: ignore[arg-type]
    return documents


def test_a_session_has_the_documented_fields() -> None:
    (session,) = handled([event("a", 0), event("b", 90, pageview=False)]).of(SESSIONS)

    assert {name: value for name, value in session.items() if name != "_pieces"} == {
        "domain": "example.com",
        "timeperiod": HOUR,
        "session_id": "s1",
        "user_profile": {
            "ip": "10.0.0.1",
            "os": "Linux",
            "browser": "Firefox",
            "language": "unknown",
            "country": "unknown",
            "screen_resolution": "unknown",
        },
        "browsing_history": {
            "number_of_pageviews": 1,
            "number_of_entries": 2,
            "total_duration": 90,
        },
    }


def test_duration_runs_from_the_earliest_to_the_latest_event() -> None:
    (session,) = handled([event("b", 50), event("a", -5), event("c", 20)]).of(SESSIONS)
    assert session["browsing_history"]["total_duration"] == 55


def test_a_session_belongs_to_its_first_hour_and_has_a_piece_for_each_hour() -> None:
    documents = handled([event("a", 3500)], [event("b", 3700)], [event("c", 7300)])

    assert [body["timeperiod"] for body in documents.of(SESSIONS)] == [HOUR]
    assert [body["timeperiod"] for body in documents.of(PIECES)] == [
        HOUR,
        "2015051713",
        "2015051714",
    ]
    assert documents.of(SESSIONS)[0]["browsing_history"]["number_of_entries"] == 3


def test_an_update_touches_only_the_pieces_that_its_events_belong_to() -> None:
    documents = handled([event(str(n), n * 3600) for n in range(24)])
    documents.merges.clear()
    SingleSessionWorker(None).handle([event("new", 10)], documents)  # type: ignore[arg-type]

    assert documents.merges == [PIECES, SESSIONS]


def test_the_same_event_twice_counts_once() -> None:
    one = [event("a", 0), event("b", 30)]
    assert handled(one, one, [*one, *one]).bodies == handled(one).bodies


def test_a_profile_takes_fields_that_logs_lack_from_other_events() -> None:
    (session,) = handled([{**event("a", 0), "language": "de", "country": "Germany"}]).of(SESSIONS)
    assert session["user_profile"]["language"] == "de"
    assert session["user_profile"]["screen_resolution"] == "unknown"


_events = st.lists(
    st.builds(
        event,
        st.sampled_from("abcdefgh").map(str),
        st.just(0),
        session=st.sampled_from(["s1", "s2"]),
    ).map(lambda e: {**e, "at": OPENED + ord(e["key"]) % 8 * 1500}),
    max_size=30,
)


@given(_events, st.integers(1, 7), st.randoms())
def test_order_and_grouping_of_events_change_nothing(
    events: list[Event], size: int, chance: random.Random
) -> None:
    shuffled = list(events) + chance.choices(events, k=3) if events else []
    chance.shuffle(shuffled)
    groups = [shuffled[n : n + size] for n in range(0, len(shuffled), size)]

    assert handled(*groups).bodies == handled(events).bodies or not events


@given(_events.filter(bool))
def test_sums_count_distinct_events_only(events: list[Event]) -> None:
    for session in handled(events).of(SESSIONS):
        own = {e["key"]: e for e in events if e["session"] == session["session_id"]}.values()
        times = [e["at"] for e in own]
        assert session["browsing_history"] == {
            "number_of_pageviews": sum(e["pageview"] for e in own),
            "number_of_entries": len(own),
            "total_duration": max(times) - min(times),
        }


def test_an_older_piece_does_not_overwrite_a_newer_session() -> None:
    """Where the store has no transactions, a session may be written with an older piece."""
    documents = handled([event("a", 0)])
    old = dict(documents.bodies)
    SingleSessionWorker(None).handle([event("b", 30)], documents)  # type: ignore[arg-type]
    newest = dict(documents.bodies)
    place = (SESSIONS, HOUR, "example.com|s1")
    late = FakeDocuments()
    late.bodies = {**old, place: newest[place]}
    SingleSessionWorker(None).handle([event("a", 0)], late)  # type: ignore[arg-type]

    assert late.bodies[place] == newest[place]


def test_an_event_belongs_to_its_hour_of_the_calendar() -> None:
    documents = handled([event("a", 0)])
    (piece,) = documents.of(PIECES)
    start = Qualifier.HOURLY.start(Qualifier.HOURLY.parse(piece["timeperiod"]))
    assert start.timestamp() <= OPENED < start.timestamp() + 3600


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"at": "now"}, "'at'"),
        ({"at": 1.5}, "'at'"),
        ({"at": True}, "'at'"),
        ({"at": -1}, "'at'"),
        ({"at": 10**15}, "'at'"),
        ({"pageview": 1}, "'pageview'"),
        ({"session": ""}, "'session'"),
        ({"site": None}, "'site'"),
        ({"os": 7}, "'os'"),
        ({"language": 7}, "'language'"),
        ({"hour": "20150517"}, "timeperiod"),
        ({"hour": "2015023112"}, "timeperiod"),
        ({"hour": "2015050000"}, "timeperiod"),
    ],
)
def test_invalid_events_are_refused(change: Event, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        handled([{**event("a", 0), **change}])


@pytest.mark.parametrize("name", event("a", 0))
def test_an_event_needs_all_its_fields(name: str) -> None:
    incomplete = {field: value for field, value in event("a", 0).items() if field != name}
    with pytest.raises(BadMessage, match=f"without '{name}'"):
        handled([incomplete])


def test_a_session_cannot_belong_to_two_hours() -> None:
    with pytest.raises(BadMessage, match="two hours"):
        handled([event("a", 0), {**event("b", 3600), "hour": "2015051713"}])
