"""Malformed cron lines are refused, each with its reason."""

from __future__ import annotations

import pytest

from synergy.errors import InvalidValue
from synergy.schedule.trigger import parse

REFUSED = [
    # shape
    ("", "not 0"),
    ("* * * *", "cron has five fields (Unix), or six or seven (Quartz), not 4"),
    ("0 0 0 1 1 ? 2027 8", "not 8"),
    ("@reboot", "'@reboot' is none of @hourly, @daily"),
    ("@daily 5", "not 2"),
    # parts of the other dialect
    ("0 0 ? * 1", "'?' in the day of month is Quartz syntax, which needs six or seven fields"),
    ("0 0 * * ?", "'?' in the day of week is Quartz"),
    ("0 0 L * *", "'L' in the day of month is Quartz"),
    ("0 0 L-3 * *", "'L-3' in the day of month is Quartz"),
    ("0 0 15W * *", "'15W' in the day of month is Quartz"),
    ("0 0 LW * *", "'LW' in the day of month is Quartz"),
    ("0 0 * * 5L", "'5L' in the day of week is Quartz"),
    ("0 0 * * FRI#2", "'FRI#2' in the day of week is Quartz"),
    ("5/10 * * * *", "'5/10' in the minute: a step is at least 1, after * or a range"),
    ("0 0/0 0 * * ?", "'0/0' in the minute: a step is at least 1, after *, a number or a range"),
    ("0 0 0 * * *", "exactly one of day of month and day of week must be '?'; here none is"),
    ("0 0 0 1 * MON", "here none is"),
    ("0 0 0 ? * ?", "here both are"),
    ("0 0 0 ? * 0", "the day of week must be 1 to 7 (1 is SUN), not '0'"),
    # numbers and names
    ("60 * * * *", "the minute must be 0 to 59, not '60'"),
    ("* 24 * * *", "the hour must be 0 to 23, not '24'"),
    ("* * 0 * *", "the day of month must be 1 to 31, not '0'"),
    ("* * 32 * *", "the day of month must be 1 to 31, not '32'"),
    ("* * * 13 *", "the month must be 1 to 12, not '13'"),
    ("* * * * 8", "the day of week must be 0 to 7, not '8'"),
    ("* * * foo *", "the month must be 1 to 12, not 'foo'"),
    ("mon * * * *", "the minute must be 0 to 59, not 'mon'"),
    ("60 * * * * ?", "the second must be 0 to 59, not '60'"),
    ("0 0 0 1 1 ? 1969", "the year must be 1970 to 2099, not '1969'"),
    ("0 0 0 1 1 ? 2100", "the year must be 1970 to 2099, not '2100'"),
    # ranges, steps, lists
    ("30-10 * * * *", "'30-10' in the minute runs backwards"),
    ("* * * * fri-sun", "'fri-sun' in the day of week runs backwards"),
    ("0 0 0 1 1 ? 2030-2027", "'2030-2027' in the year runs backwards"),
    ("*/0 * * * *", "'*/0' in the minute: a step is at least 1"),
    ("0 0/61 * * * ?", "the step of '0/61' is longer than the minute: 1 to 60"),
    ("0 0 0/25 * * ?", "the step of '0/25' is longer than the hour: 1 to 24"),
    ("1,,2 * * * *", "'' is not understood in the minute"),
    ("1-2-3 * * * *", "'1-2-3' is not understood in the minute"),
    ("*-5 * * * *", "'*-5' is not understood in the minute"),
    ("/5 * * * *", "'/5' is not understood in the minute"),
    ("-1 * * * *", "'-1' is not understood in the minute"),
    ("١ * * * *", "'١' is not understood in the minute"),
    ("0 0 0 ?,1 * MON", "'?' in the day of month stands alone"),
    # days that depend on the month
    ("0 0 0 ? * 6#6", "#6: a weekday comes at most five times a month, #1 to #5"),
    ("0 0 0 ? * 6#0", "#0: a weekday comes at most five times a month"),
    ("0 0 0 ? * 8#1", "the day of week must be 1 to 7 (1 is SUN), not '8'"),
    ("0 0 0 ? * 0L", "the day of week must be 1 to 7 (1 is SUN), not '0'"),
    ("0 0 0 0W * ?", "the day of month must be 1 to 31, not '0'"),
    ("0 0 0 32W * ?", "the day of month must be 1 to 31, not '32'"),
    ("0 0 0 W * ?", "the day of month must be 1 to 31, not 'w'"),
    ("0 0 0 L-31 * ?", "L-31: L-n reaches back 1 to 30 days from the last"),
    ("0 0 0 L-0 * ?", "L-0: L-n reaches back 1 to 30 days"),
    ("0 0 0 1-5W * ?", "'1-5W' is not understood in the day of month"),
    ("0 0 0 6L * ?", "'6L' is for the day of week, not for the day of month"),
    ("0 0 0 ? * 15W", "'15W' is for the day of month, not for the day of week"),
    ("0 0 L * * ?", "'L' is for the day fields, not for the hour"),
    ("0 ? 0 * * ?", "'?' is for the day fields, not for the minute"),
    ("0 0 0 ? * LW", "'LW' is for the day of month, not for the day of week"),
    # days that never exist
    ("30 2 31 2 *", "month 2 has no day 31"),
    ("0 0 30 2 *", "month 2 has no day 30"),
    ("0 0 31 4,6,9,11 *", "month 4,6,9,11 has no day 31"),
    ("0 0 31 2 */2", "month 2 has no day 31 that is a weekday */2"),
    ("0 0 0 31 2 ?", "month 2 has no day 31"),
    ("0 0 0 30W 2 ?", "month 2 has no day 30W"),
    ("0 0 0 L-29 2 ?", "month 2 has no day L-29"),
    ("0 0 0 29 2 ? 2026,2027,2029", "month 2 has no day 29 in 2026,2027,2029"),
    ("0 0 0 ? 2 1#5 2027-2031", "month 2 has no weekday 1#5 in 2027-2031"),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED)
def test_malformed_cron_lines_are_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse(f"cron {line}")
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "line",
    ["0 0 29 2 *", "0 0 0 L-28 2 ?", "0 0 0 ? 2 1#5", "0 0 31 2 1", "0 0 0 29 2 ? 2028"],
)
def test_rare_days_are_not_refused(line: str) -> None:
    assert parse(f"cron {line}")
