"""Roles of users and tokens."""

from __future__ import annotations

from enum import Enum

LOCAL = "local"  # the actor in the journal for access without login


class Role(Enum):
    """What a user or token may do: publish events, read, operate, or everything.

    EVENTS is for tokens that only publish events; it may not read.
    """

    EVENTS = "events"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may(self, needed: Role) -> bool:
        """Whether this role includes the rights of `needed`."""
        return needed in _GRANTS[self]

    def within(self, limit: Role) -> Role | None:
        """The rights that this role and `limit` have in common; None for none."""
        if self.may(limit):
            return limit
        return self if limit.may(self) else None


_GRANTS = {
    Role.EVENTS: {Role.EVENTS},
    Role.VIEWER: {Role.VIEWER},
    Role.OPERATOR: {Role.EVENTS, Role.VIEWER, Role.OPERATOR},
    Role.ADMIN: set(Role),
}
ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)  # of users; tokens may also have EVENTS
