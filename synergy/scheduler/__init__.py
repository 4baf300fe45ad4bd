"""The scheduler service: it decides about the jobs of the timetable and runs the collector."""
