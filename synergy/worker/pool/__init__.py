"""The pool of a box, which carries out the units of processes without workers of their own."""

from synergy.worker.pool.pool import Pool

__all__ = ["Pool"]
