"""Statistics: sums are exact and do not depend on the order of sessions."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.alert_daily_worker import a_week_before, alerts, change_percent
from workers.statistics import COUNTERS, NUMBERS, add_up, add_up_by, count_sessions


def session(domain: str, pageviews: int, duration: int, *profile: str) -> dict[str, Any]:
    return {
        "domain": domain,
        "user_profile": {"ip": "10.0.0.1", **dict(zip(COUNTERS, profile, strict=True))},
        "browsing_history": {
            "number_of_pageviews": pageviews,
            "number_of_entries": pageviews + 1,
            "total_duration": duration,
        },
    }


_values = st.sampled_from(["a", "b.c", "$d", ""])
_sessions = st.lists(
    st.builds(
        session,
        st.sampled_from(["one.example", "two.example"]),
        st.integers(0, 50),
        st.integers(0, 5000),
        *[_values] * len(COUNTERS),
    ),
    max_size=20,
)


def test_the_fields_of_a_stat() -> None:
    stats = count_sessions(
        [
            session("x", 2, 30, "Linux", "Firefox", "de", "Germany", "1x1"),
            session("x", 3, 12, "Linux", "Chrome", "en", "unknown", "2x2"),
        ]
    )

    assert stats == {
        "x": {
            "number_of_visits": 2,
            "number_of_pageviews": 5,
            "total_duration": 42,
            "os": {"Linux": 2},
            "browser": {"Chrome": 1, "Firefox": 1},
            "language": {"de": 1, "en": 1},
            "country": {"Germany": 1, "unknown": 1},
            "screen_resolution": {"1x1": 1, "2x2": 1},
        }
    }


@given(_sessions)
def test_counting_is_exact(sessions: list[dict[str, Any]]) -> None:
    for domain, stat in count_sessions(sessions).items():
        own = [s for s in sessions if s["domain"] == domain]
        assert stat["number_of_visits"] == len(own)
        assert stat["number_of_pageviews"] == sum(
            s["browsing_history"]["number_of_pageviews"] for s in own
        )
        assert stat["total_duration"] == sum(s["browsing_history"]["total_duration"] for s in own)
        for name in COUNTERS:
            for value, count in stat[name].items():
                assert count == sum(s["user_profile"][name] == value for s in own)
            assert sum(stat[name].values()) == len(own)


@given(_sessions, st.randoms())
def test_statistics_are_identical_for_every_order_of_sessions(
    sessions: list[dict[str, Any]], chance: random.Random
) -> None:
    shuffled = list(sessions)
    chance.shuffle(shuffled)
    assert repr(count_sessions(shuffled)) == repr(count_sessions(sessions))


@given(st.lists(_sessions, max_size=6), st.randoms())
def test_the_sum_of_parts_is_the_count_of_the_whole(
    hours: list[list[dict[str, Any]]], chance: random.Random
) -> None:
    rows = [
        {"domain": domain, "stat": stat}
        for hour in hours
        for domain, stat in count_sessions(hour).items()
    ]
    chance.shuffle(rows)
    whole = count_sessions(s for hour in hours for s in hour)
    assert repr(add_up_by(lambda row: str(row["domain"]), rows)) == repr(whole)


@given(_sessions, _sessions, _sessions)
def test_adding_up_is_associative(
    one: list[dict[str, Any]], two: list[dict[str, Any]], three: list[dict[str, Any]]
) -> None:
    a, b, c = (add_up(count_sessions(group).values()) for group in (one, two, three))
    assert add_up([add_up([a, b]), c]) == add_up([a, add_up([b, c])]) == add_up([c, b, a])


def test_the_sum_of_nothing_is_zero() -> None:
    assert add_up([]) == {**dict.fromkeys(NUMBERS, 0), **{name: {} for name in COUNTERS}}


def stat(visits: int, pageviews: int) -> dict[str, Any]:
    return {"number_of_visits": visits, "number_of_pageviews": pageviews, "total_duration": 1}


def test_a_change_of_exactly_a_fifth_is_no_alert() -> None:
    assert alerts({"x": stat(120, 80)}, {"x": stat(100, 100)}) == []


def test_a_change_of_more_than_a_fifth_of_visits_or_pageviews_is_an_alert() -> None:
    before = dict.fromkeys("abcd", stat(100, 100))
    today = {"a": stat(121, 100), "b": stat(79, 100), "c": stat(100, 121), "d": stat(100, 79)}
    assert [row["domain"] for row in alerts(today, before)] == list("abcd")


def test_an_alert_names_both_days_and_the_change() -> None:
    assert alerts({"x": stat(150, 90)}, {"x": stat(100, 120)}) == [
        {
            "domain": "x",
            "stat": {"number_of_visits": 150, "number_of_pageviews": 90},
            "week_before": {"number_of_visits": 100, "number_of_pageviews": 120},
            "change_percent": {"number_of_visits": 50.0, "number_of_pageviews": -25.0},
        }
    ]


def test_without_a_week_before_there_is_no_alert() -> None:
    assert alerts({"x": stat(1000, 1000)}, {}) == []


def test_a_site_without_visits_is_an_alert() -> None:
    (row,) = alerts({}, {"x": stat(5, 9)})
    assert row["stat"] == {"number_of_visits": 0, "number_of_pageviews": 0}
    assert row["change_percent"] == {"number_of_visits": -100.0, "number_of_pageviews": -100.0}


def test_a_change_from_nothing_has_no_percentage() -> None:
    assert change_percent(3, 0) is None
    assert change_percent(0, 0) == 0.0
    assert len(alerts({"x": stat(5, 1)}, {"x": stat(5, 0)})) == 1


def test_the_day_a_week_before_may_be_in_another_month_or_year() -> None:
    assert a_week_before("2016030300") == "2016022500"
    assert a_week_before("2016010300") == "2015122700"
