"""Shortens time limits of the product, for homes whose tests wait until they expire.

The limits are short only in the processes of a home that sets `test_short_limits`. The process of
the tests imports these deployments as well, and keeps the usual limits.
"""

import os
from importlib import import_module

ENABLED = "SYNERGY_TEST_SHORT_LIMITS"
RENEW, VALID, WAIT = 1.0, 5.0, 9.0  # seconds: half of the product's values, or less


def shorten(module, **limits):
    """Sets constants of a module, if `SYNERGY_TEST_SHORT_LIMITS` is set in this process.

    Raises AttributeError for a constant that the module does not have.
    """
    if ENABLED in os.environ:
        names = vars(import_module(module))
        if unknown := limits.keys() - names.keys():
            raise AttributeError(f"{module} has no {', '.join(sorted(unknown))}")
        names.update(limits)


def shorten_leases():
    """Lets the lease of a killed process expire sooner."""
    shorten(
        "synergy.runtime.leadership", RENEW_SECONDS=RENEW, VALID_SECONDS=VALID, WAIT_SECONDS=WAIT
    )
