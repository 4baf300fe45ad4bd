"""What somebody may do."""

from __future__ import annotations

from enum import Enum

LOCAL = "local"  # who acts, in the journal, where nobody has to say who he is


class Role(Enum):
    """What somebody may do: tell of events, look, run the timetable, or everything.

    EVENTS is that of tokens which only tell that something happened: it may not look.
    """

    EVENTS = "events"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Whether this role lets somebody do what `needed` is needed for."""
        return needed in _GRANTS[self]

    def within(self, limit: Role) -> Role | None:
        """The most that both this role and `limit` let somebody do; None for nothing."""
        if self.may(limit):
            return limit
        return self if limit.may(self) else None


_GRANTS = {
    Role.EVENTS: {Role.EVENTS},
    Role.VIEWER: {Role.VIEWER},
    Role.OPERATOR: {Role.EVENTS, Role.VIEWER, Role.OPERATOR},
    Role.ADMIN: set(Role),
}
ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)  # of people; tokens may also be of EVENTS
