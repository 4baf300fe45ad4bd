"""Triggers in plain words."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from synergy.schedule.format.describe import describe
from synergy.schedule.trigger import parse

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every 1", "every second"),
        ("every 90", "every 90 seconds"),
        ("every 300", "every 5 minutes"),
        ("every 3600", "every hour"),
        ("every 172800", "every 2 days"),
    ],
)
def test_words_of_intervals_name_no_zone(text: str, words: str) -> None:
    assert describe(parse(text), BERLIN) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at 02:30", "at 02:30 every day"),
        ("at 10:00, 0-09:00, 1-9:00, 2-09:00",
         "at 09:00 on Monday to Wednesday and at 10:00 every day"),
        ("at 5-18:00, 6-18:00", "at 18:00 on Saturday and Sunday"),
        ("at 5-18:00, 4-18:05, 1-9:01",
         "at 09:01 on Tuesday, at 18:00 on Saturday and at 18:05 on Friday"),
        # Unix
        ("cron 30 2 * * 1-5", "at 02:30 on Monday to Friday"),
        ("cron 30 2 * * 5-7", "at 02:30 on Friday to Sunday"),
        ("cron 30 2 * * *", "at 02:30 every day"),
        ("cron 0,30 2,14 * * *", "at 02:00, 02:30, 14:00 and 14:30 every day"),
        ("cron * * * * *", "every minute"),
        ("cron */5 * * * *", "every 5 minutes"),
        ("cron */5 9-17,20 * * 6,7",
         "every 5 minutes from 09:00 to 17:59 and 20:00 to 20:59 on Saturday and Sunday"),
        ("cron */25 * * * *", "at minutes 0, 25 and 50 of every hour"),
        ("cron 0 * * * *", "every hour"),
        ("cron 15 * * * *", "at minute 15 of every hour"),
        ("cron 0 */2 * * *", "every 2 hours"),
        ("cron 0 9-17 * * 1-5", "every hour from 09:00 to 17:00 on Monday to Friday"),
        ("cron 5 9-17 * * *", "at minute 5 from 09:00 to 17:59 every day"),
        ("cron 0 0 13 * 5", "at 00:00 on the 13th of the month or on Friday"),
        ("cron 0 0 13 1-3 5",
         "at 00:00 on the 13th of the month or on Friday in January to March"),
        ("cron 0 0 */2 * 5",
         "at 00:00 on every 2nd day from the 1st to the 31st of the month if that is Friday"),
        ("cron @monthly", "at 00:00 on the 1st of the month"),
        ("cron @yearly", "at 00:00 on the 1st of January"),
        ("cron 0 0 1-5,22,23 * *", "at 00:00 on the 1st to the 5th, the 22nd and the 23rd"
                                   " of the month"),
        ("cron 0 0 * 6 *", "at 00:00 every day in June"),
        ("cron */5 * * 6,7 *", "every 5 minutes in June and July"),
        # Quartz: 1 is Sunday
        ("cron 0 30 2 ? * 2-6", "at 02:30 on Monday to Friday"),
        ("cron 15 30 2 * * ?", "at 02:30:15 every day"),
        ("cron 0 0/15 * * * ?", "every 15 minutes"),
        ("cron 0/10 * * * * ?", "every 10 seconds"),
        ("cron 5 * * * * ?", "at second 5 of every minute"),
        ("cron * 30 2 * * ?", "every second of minute 30 from 02:00 to 02:59"),
        ("cron 0 0 12 L * ?", "at 12:00 on the last day of the month"),
        ("cron 0 0 12 L-3 * ?", "at 12:00 on the 3rd day before the last of the month"),
        ("cron 0 0 12 LW * ?", "at 12:00 on the last workday of the month"),
        ("cron 0 0 12 15W * ?", "at 12:00 on the workday nearest the 15th of the month"),
        ("cron 0 0 12 L-2W * ?",
         "at 12:00 on the workday nearest the 2nd day before the last of the month"),
        ("cron 0 0 12 ? * FRIL", "at 12:00 on the last Friday of the month"),
        ("cron 0 0 12 ? 3,11 6#3", "at 12:00 on the third Friday of March and November"),
        ("cron 0 0 12 ? 3 2,6L", "at 12:00 on Monday and the last Friday of the month in March"),
        ("cron 0 0 0 29 2 ? 2028", "at 00:00 on the 29th of February in 2028"),
        ("cron 0 0 0 ? * MON 2026-2028,2031",
         "at 00:00 on Monday in 2026 to 2028 and 2031"),
    ],
)  # fmt: skip
def test_words_of_times_of_day_name_the_zone(text: str, words: str) -> None:
    assert describe(parse(text), BERLIN) == f"{words}, Europe/Berlin"
