"""Aggregates events to sessions; each event names its session and the hour in which that began.

The collection `session_piece` has a row for each hour of a session: the keys of its events, their
sums, and, if events say when the session was opened, what a later log needs to continue it.
`single_session` has a row for each session; its private field `_pieces` holds the sums of each
hour, so that an update reads only the hours that it changes.

A known event adds nothing, and the order of events has no effect. A piece only grows, so of two
sums of a piece the one with more entries is newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synergy.timeperiod import Qualifier
from synergy.worker import BadMessage, Documents, EventConsumer, InvalidValue

PIECES = "session_piece"
SESSIONS = "single_session"
UNKNOWN = "unknown"

_REQUIRED = ("site", "session", "hour", "ip", "os", "browser", "key")
_OPTIONAL = ("language", "country", "screen_resolution")  # not part of an access log
_IDENTITY = ("site", "session", "ip", "opened")  # of a session that a later log may continue
_END_OF_TIME = 253_370_764_800  # the year 9999, in epoch seconds

Event = Mapping[str, Any]
Body = Mapping[str, Any]
Sums = list[int]
"""[entries, page views, first epoch second, last epoch second]"""


class SingleSessionWorker(EventConsumer):
    """Stores the sessions of all sites; several instances may share the queue."""

    def handle(self, events: Sequence[Event], documents: Documents) -> None:
        """Adds the new events; known ones change nothing."""
        pieces: dict[str, _Piece] = {}
        for event in events:
            hour = checked(event)
            key = f"{event['site']}|{event['session']}|{hour}"
            piece = pieces.get(key)
            if piece is None:
                piece = pieces[key] = _Piece(event, hour)
            piece.events[event["key"]] = event
        documents.update(
            PIECES,
            [(key, piece.hour) for key, piece in pieces.items()],
            lambda key, present: pieces[key].merge(present),
        )
        sessions = _by_session(pieces)
        documents.update(
            SESSIONS,
            [(key, found[0].opener["hour"]) for key, found in sessions.items()],
            lambda key, present: session(sessions[key], present),
        )


class _Piece:
    """The events of one session and hour within a batch."""

    __slots__ = ("events", "hour", "opener", "sums")

    def __init__(self, opener: Event, hour: str) -> None:
        self.opener = opener
        self.hour = hour
        self.events: dict[str, Event] = {}
        self.sums: Sums = []

    def merge(self, present: Body | None) -> Body:
        """The row with these events added; keeps its sums for the session."""
        known: set[str] = set(present["keys"]) if present else set()
        new = [event for key, event in self.events.items() if key not in known]
        self.sums = _added(list(present["sums"]) if present else [], new)
        if present and not new:
            return present
        known.update(self.events)
        row = {"timeperiod": self.hour, "sums": self.sums, "keys": sorted(known)}
        if "opened" in self.opener:
            row.update({name: self.opener[name] for name in _IDENTITY})
        return row


def _added(sums: Sums, events: Sequence[Event]) -> Sums:
    if not events:
        return sums
    times = [event["at"] for event in events]
    own = [len(events), sum(event["pageview"] for event in events), min(times), max(times)]
    return _joined(sums, own) if sums else own


def _joined(left: Sums, right: Sums) -> Sums:
    return [
        left[0] + right[0],
        left[1] + right[1],
        min(left[2], right[2]),
        max(left[3], right[3]),
    ]


def _by_session(pieces: Mapping[str, _Piece]) -> dict[str, list[_Piece]]:
    sessions: dict[str, list[_Piece]] = {}
    for key, piece in pieces.items():
        found = sessions.setdefault(key.rpartition("|")[0], [])
        found.append(piece)
        if piece.opener["hour"] != found[0].opener["hour"]:
            raise BadMessage(f"session {piece.opener['session']!r} belongs to two hours")
    return sessions


def session(pieces: Sequence[_Piece], present: Body | None) -> Body:
    """The row of a session, with the sums of these pieces."""
    opener = pieces[0].opener
    sums: dict[str, Sums] = dict(present["_pieces"]) if present else {}
    for piece in pieces:
        sums[piece.hour] = max(sums.get(piece.hour, []), piece.sums)
    entries, pageviews, first, last = _total(sums)
    return {
        "domain": opener["site"],
        "timeperiod": opener["hour"],
        "session_id": opener["session"],
        "user_profile": _profile(opener, present),
        "browsing_history": {
            "number_of_pageviews": pageviews,
            "number_of_entries": entries,
            "total_duration": last - first,
        },
        "_pieces": dict(sorted(sums.items())),
    }


def _total(sums: Mapping[str, Sums]) -> Sums:
    total: Sums = []
    for piece in sums.values():
        total = _joined(total, piece) if total else piece
    return total


def _profile(opener: Event, present: Body | None) -> Body:
    """The visitor's profile; if events differ in it, the one that sorts first."""
    own = {
        "ip": opener["ip"],
        "os": opener["os"],
        "browser": opener["browser"],
        **{name: opener.get(name, UNKNOWN) for name in _OPTIONAL},
    }
    known = present["user_profile"] if present else own
    return min(own, known, key=lambda profile: sorted(profile.items()))


def checked(event: Event) -> str:
    """The hour in which the event happened; raises BadMessage for an invalid event."""
    try:
        for name, at in (("at", event["at"]), ("opened", event.get("opened", 0))):
            if type(at) is not int or not 0 <= at < _END_OF_TIME:
                raise BadMessage(f"{name!r} is {at!r}, expected epoch seconds")
        if type(event["pageview"]) is not bool:
            raise BadMessage(f"'pageview' is {event['pageview']!r}, expected true or false")
        for name in _REQUIRED:
            if type(event[name]) is not str or not event[name]:
                raise BadMessage(f"{name!r} is {event[name]!r}, expected text")
        for name in _OPTIONAL:
            if type(event.get(name, UNKNOWN)) is not str:
                raise BadMessage(f"{name!r} is {event[name]!r}, expected text")
        Qualifier.HOURLY.parse(event["hour"])
    except KeyError as missing:
        raise BadMessage(f"an event without {missing}") from None
    except InvalidValue as error:
        raise BadMessage(str(error)) from None
    return Qualifier.HOURLY.timeperiod(event["at"] // 3600)
