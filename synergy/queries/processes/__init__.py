"""Queries of processes and of the boxes that run them."""
