"""Settings of every environment; `settings/<SYNERGY_ENV>.py` and `SYNERGY_<NAME>` override them.

`synergy check` lists mistakes. Relative paths start at the project's folder.
"""

START_TIMEPERIOD = "${yesterday}T00"  # the first hour of the timetable, UTC
