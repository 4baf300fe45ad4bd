"""The names and checks that definitions of schedules are validated with."""

from __future__ import annotations

from collections.abc import Mapping

from synergy.delivery.headers import check_content_type, check_headers
from synergy.delivery.target import parse_target
from synergy.model.process import Process
from synergy.schedule.check_context import Known


def known(processes: Mapping[str, Process | None]) -> Known:
    """These processes, and the checks of targets, headers and content types.

    A process that is None was declared, but is invalid; that was reported already.
    """
    return Known(processes, parse_target, check_headers, check_content_type)
