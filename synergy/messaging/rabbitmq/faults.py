"""Translation of errors of pika and the broker into texts with advice for operators."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from socket import gaierror

from pika import exceptions
from pika.adapters.utils import connection_workflow as workflow

from synergy.errors import MessagingUnavailable
from synergy.messaging.amqp import Address

CLOSED_BY_US = 200
ACCESS_REFUSED = 403
NOT_FOUND = 404
PRECONDITION_FAILED = 406


class Fault(MessagingUnavailable):
    """The broker cannot be used at present.

    With `is_mistake`, only an operator can correct the cause. `code` is the broker's reply code.
    """

    def __init__(self, what: str, *, is_mistake: bool = False, code: int = 0) -> None:
        super().__init__(what)
        self.is_mistake = is_mistake
        self.code = code


def unopened(error: BaseException, address: Address) -> Fault:
    """The fault of a connection that could not be opened."""
    at = f"RabbitMQ at {address.place}"
    causes = list(_causes(error))
    for cause in causes:
        if mistake := _mistake(cause, address):
            return Fault(f"{at} {mistake}", is_mistake=True)
    for cause in causes:
        if temporary := _temporary(cause, address):
            return Fault(f"{at} {temporary}")
    return Fault(f"{at} cannot be reached: {_text(causes[-1])}")


def _mistake(error: BaseException, address: Address) -> str:
    """The text of a problem that an operator has to correct; empty for other errors."""
    match error:
        case exceptions.ProbableAuthenticationError() | exceptions.AuthenticationError():
            return f"refuses user {address.user} or its password: correct SYNERGY_BUS"
        case (
            exceptions.ProbableAccessDeniedError()
            | exceptions.ConnectionClosedByBroker(reply_code=530)
        ):
            return (
                f"does not let user {address.user} into this vhost: the vhost may not exist "
                "(rabbitmqctl list_vhosts), or the user may have no permissions in it "
                f"(rabbitmqctl list_user_permissions {address.user})"
            )
        case ssl.SSLCertVerificationError(verify_message=why):
            return (
                f"shows a certificate that is not trusted: {why}; cacertfile in SYNERGY_BUS "
                "names the authority to trust, and the certificate must name this host"
            )
        case ssl.SSLError(reason=why):
            return (
                f"does not agree about TLS ({why}): is it a port for amqps://, and "
                "does it require a client certificate (certfile)?"
            )
    return ""


def _temporary(error: BaseException, address: Address) -> str:
    """The text of a problem that may be temporary; empty for other errors."""
    match error:
        case exceptions.IncompatibleProtocolError():
            if address.tls is None:
                return "closes the connection: is that a port for amqp://, and is it RabbitMQ?"
            return (
                "closes the connection: is that a port for amqps://, is it RabbitMQ, and "
                "does it require a client certificate (certfile)?"
            )
        case (
            workflow.AMQPConnectorStackTimeout()
            | exceptions.ConnectionOpenAborted()  # only timeouts raise it
            | TimeoutError()
        ):
            return "does not answer: is it running, and is no firewall in between?"
        case gaierror():
            return "cannot be found: there is no address for that name"
        case ConnectionRefusedError():
            return "refuses connections: is it running, and is that its port?"
    return ""


def lost(error: BaseException, address: Address) -> Fault:
    """The fault of a connection or channel that was closed."""
    code = getattr(error, "reply_code", 0)
    what = f"RabbitMQ at {address.place}: {_text(error)}"
    if code == ACCESS_REFUSED:
        what += f"; see rabbitmqctl list_user_permissions {address.user}"
    return Fault(what, is_mistake=code in (ACCESS_REFUSED, PRECONDITION_FAILED), code=code)


def _text(error: BaseException) -> str:
    text = getattr(error, "reply_text", "") or str(error)
    return text or type(error).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The errors within an error, innermost last: pika wraps them in several ways."""
    yield error
    wrapped = [*getattr(error, "exceptions", ()), getattr(error, "exception", None), *error.args]
    for inner in wrapped:
        if isinstance(inner, BaseException) and inner is not error:
            yield from _causes(inner)
