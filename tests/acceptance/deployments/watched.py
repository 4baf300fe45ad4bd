"""The suite, and a program that schedules can run: it prints its argument."""

import sys

import context as suite
from synergy.config.context import freerun_context_entry

STAMP = "Stamp"

process_context = {
    **suite.process_context,
    STAMP: freerun_context_entry(
        process_name=STAMP,
        command=[sys.executable, "-c", "import sys; print('stamped', *sys.argv[1:])", "${word}"],
        arguments={"word": "nothing"},
        present_on_boxes=[".*"],
    ),
}
timetable_context = suite.timetable_context
schedule_context = suite.schedule_context
