"""The device of the command line, which is read before torch is imported, since torch looks for devices only then."""

import os
import sys
from itertools import pairwise

from pretended_cuda import native

VARIABLE = "ECSUITE_TEST_DEVICE"
"""Tells the processes of pytest-xdist, which have other arguments."""


def _given(arguments):
    for argument, following in pairwise([*arguments, ""]):
        if argument == "--device" or argument.startswith("--device="):
            return following if argument == "--device" else argument.removeprefix("--device=")
    return os.environ.get(VARIABLE, "cpu")


DEVICE = os.environ[VARIABLE] = _given(sys.argv[1:])
MISSING = native.missing() if DEVICE == "pretended" else None
"""Why there is no pretended device, if one was asked for."""
if DEVICE == "pretended" and MISSING is None:
    native.load()
