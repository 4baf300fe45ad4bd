"""The failure of a single sign-on."""

from __future__ import annotations

from http import HTTPStatus


class SignOnFailed(Exception):
    """A user cannot log in through the provider.

    The message is for the user; `reason` is for the log, and holds no secret. `name` is that of the
    user, if it is known.
    """

    def __init__(
        self,
        message: str,
        reason: str,
        status: HTTPStatus = HTTPStatus.UNAUTHORIZED,
        name: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status
        self.name = name


def invalid(reason: str) -> SignOnFailed:
    """The failure for an answer of the provider that cannot be trusted."""
    return SignOnFailed("The answer of the login provider is not valid; see the MX log.", reason)


def unavailable(reason: str) -> SignOnFailed:
    """The failure for a provider that does not answer as it should."""
    return SignOnFailed(
        "The login provider does not answer: try again later, or log in with a password.",
        reason,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )
