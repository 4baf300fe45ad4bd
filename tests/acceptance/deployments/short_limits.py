"""Shortens time limits of the product, for homes whose tests wait until they expire.

Only processes of a home with `test_short_limits` have the short limits: the process of the tests
imports deployments as well.
"""

import os
from importlib import import_module

ENABLED = "SYNERGY_TEST_SHORT_LIMITS"
RENEW, VALID, WAIT = 1.0, 5.0, 9.0  # seconds: half of the product's values, or less


def shorten(module, **limits):
    """Sets constants of a module, if `SYNERGY_TEST_SHORT_LIMITS` is set in this process."""
    if ENABLED in os.environ:
        vars(import_module(module)).update(limits)


def shorten_leases():
    """Lets the lease of a killed process expire sooner."""
    shorten("synergy.runtime.leadership", RENEW=RENEW, VALID=VALID, WAIT=WAIT)
