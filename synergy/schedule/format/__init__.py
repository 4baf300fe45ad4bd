"""Conversion of schedules between documents, definitions and plain words."""
