"""Which session a line belongs to, and what stays the same when a log is read again."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from tests.access_log import access_log
from workers.access_log.lines import LogEntry
from workers.access_log.ncsa import parse
from workers.access_log.sessions import SESSION_GAP_SECONDS as GAP
from workers.access_log.sessions import Recent, Sessionizer, session_id
from workers.access_log.user_agents import families

NOON = 1_431_864_000  # 2015-05-17 12:00:00 UTC
Event = dict[str, Any]


def visit(*seconds: int, agent: str = "", content: str = "") -> list[Event]:
    """The events of one visitor's lines at these seconds after noon, in file order."""
    sessionizer = Sessionizer("example.com")
    return [
        sessionizer.event(
            LogEntry("10.0.0.1", agent, NOON + second, True), (content or str(second)).encode()
        )
        for second in seconds
    ]


def sessions(events: list[Event]) -> list[str]:
    return [event["session"] for event in events]


def test_a_pause_of_exactly_thirty_minutes_does_not_end_a_session() -> None:
    first, second = sessions(visit(0, GAP))
    assert first == second


def test_a_pause_longer_than_thirty_minutes_ends_a_session() -> None:
    first, second = sessions(visit(0, GAP + 1))
    assert first != second


def test_the_pause_counts_from_the_previous_line_not_from_the_first() -> None:
    assert len(set(sessions(visit(0, GAP, 2 * GAP, 3 * GAP)))) == 1


def test_an_earlier_stamped_line_belongs_to_the_current_session() -> None:
    assert len(set(sessions(visit(0, -5 * GAP)))) == 1


def test_the_pause_counts_from_the_previous_line_even_if_that_is_stamped_earlier() -> None:
    assert len(set(sessions(visit(100, 0, GAP + 1)))) == 2


def test_host_and_agent_identify_the_visitor() -> None:
    sessionizer = Sessionizer("example.com")
    visitors = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
    events = [sessionizer.event(LogEntry(h, a, NOON, True), b"") for h, a in visitors]

    assert len(set(sessions(events))) == 3
    assert events[0]["session"] == events[3]["session"]


def test_a_session_belongs_to_the_hour_of_the_line_that_opened_it() -> None:
    assert [event["hour"] for event in visit(3599, 3601, -10)] == ["2015051712"] * 3


def test_the_id_is_a_function_of_site_visitor_and_first_instant() -> None:
    (event,) = visit(7)
    assert event["session"] == session_id("example.com", "10.0.0.1", "", NOON + 7)
    ids = {session_id(s, h, "", t) for s in "ab" for h in "cd" for t in (1, 2)}
    assert len(ids) == 8


def test_equal_lines_of_one_file_have_different_keys() -> None:
    assert len({event["key"] for event in visit(1, 1, 1, content="the same")}) == 3


def test_a_longer_file_begins_with_the_same_events() -> None:
    assert visit(0, 0, 5, 4000, 90)[:3] == visit(0, 0, 5)


def test_equal_lines_of_the_same_visit_in_two_logs_have_equal_keys() -> None:
    one, other = visit(0, 10, 20), visit(0, 20, 30)
    assert len({event["key"] for event in one + other}) == 4


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-4 * GAP, 4 * GAP)), max_size=60))
def test_sessions_agree_with_the_rule_applied_to_each_visitor(lines: list[tuple[int, int]]) -> None:
    """The expected sessions follow from the rule, applied to each visitor separately."""
    sessionizer = Sessionizer("example.com")
    events = [
        sessionizer.event(LogEntry(str(host), "", NOON + second, True), b"")
        for host, second in lines
    ]
    expected: list[tuple[int, int]] = []
    for position, (host, second) in enumerate(lines):
        earlier = [n for n in range(position) if lines[n][0] == host]
        is_new = not earlier or second - lines[earlier[-1]][1] > GAP
        expected.append((host, second) if is_new else expected[earlier[-1]])

    assert sessions(events) == [
        session_id("example.com", str(host), "", NOON + second) for host, second in expected
    ]


@given(st.lists(st.integers(0, 50)), st.integers(1, 10))
def test_recent_keeps_the_newest_keys_and_stays_bounded(keys: list[int], capacity: int) -> None:
    recent: Recent[int, int] = Recent(capacity)
    for position, key in enumerate(keys):
        recent[key] = position
        assert len(recent) <= 2 * capacity
    newest = list(dict.fromkeys(reversed(keys)))[:capacity]
    for key in newest:
        assert recent.get(key) == max(n for n, other in enumerate(keys) if other == key)


def test_memory_is_bounded_for_any_number_of_visitors() -> None:
    sessionizer = Sessionizer("example.com", visitors=100, lines=100)
    for number in range(1000):
        sessionizer.event(LogEntry(str(number), "", NOON + number, True), str(number).encode())

    assert len(sessionizer._visits) <= 200
    assert len(sessionizer._lines) <= 200


def test_operating_system_and_browser_are_read_from_the_agent() -> None:
    chrome = (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/32.0.1700.77 Safari/537.36"
    )
    assert families(chrome) == ("Mac OS X", "Chrome")
    assert families("") == ("unknown", "unknown")
    assert families("no such thing") == ("unknown", "unknown")


def test_the_sessions_of_a_whole_log_are_the_planned_visits() -> None:
    log, sessionizer = access_log(), Sessionizer("semicomplete.com")
    rejected = []
    planned: dict[str, set[int | None]] = defaultdict(set)
    found: dict[str, list[Event]] = defaultdict(list)
    for number, line in enumerate(log.lines, start=1):
        try:
            event = sessionizer.event(parse(line.content), line.content)
        except InvalidValue:
            rejected.append(number)
            continue
        assert (event["at"], event["pageview"]) == (line.at.timestamp(), line.is_pageview)
        planned[event["session"]].add(line.visit)
        found[event["session"]].append(event)

    assert rejected == log.rejected
    assert all(len(visits) == 1 for visits in planned.values())
    assert sessionizer.sessions == len(found) == len(log.visits())
    assert [
        (
            events[0]["hour"],
            sum(event["pageview"] for event in events),
            max(event["at"] for event in events) - min(event["at"] for event in events),
        )
        for events in found.values()
    ] == [(f"{v.times[0]:%Y%m%d%H}", v.pageviews, v.seconds) for v in log.visits()]
    assert sorted({event["hour"] for events in found.values() for event in events}) == log.hours
