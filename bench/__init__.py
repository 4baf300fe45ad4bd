"""Measures this machine: `launch.py bench`, one module for each measurement.

A bench runs real processes: they are started as the supervisor would start them, in a temporary
home of their own, and the numbers come from the rows that they write.
"""
