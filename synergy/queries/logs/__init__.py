"""Queries of logs: the files of this box, and the lines that workers wrote for a unit."""
