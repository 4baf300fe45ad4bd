"""Limits of the product made short, for homes whose tests wait until they are over.

They are short in the processes of a home that is given `test_haste`, and nowhere else: deployments
are imported by the tests' own process as well.
"""

import os
from importlib import import_module

ASKED = "SYNERGY_TEST_HASTE"
RENEW, VALID, WAIT = 1.0, 5.0, 9.0  # half of a lease's seconds, or less


def hurry(module, **limits):
    """Gives these constants of a module other values, if this process was asked to make haste."""
    if ASKED in os.environ:
        vars(import_module(module)).update(limits)


def leases():
    """Who is gone without a word is missed sooner."""
    hurry("synergy.runtime.leadership", RENEW=RENEW, VALID=VALID, WAIT=WAIT)
