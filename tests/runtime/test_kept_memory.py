"""Freed memory stays with the process while it computes, and goes back afterwards."""

import subprocess
import sys

import pytest

from ecsuite.runtime.memory import _glibc, kept_memory

FAULTS = """
import resource
import numpy as np
from ecsuite.runtime.memory import kept_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def step():
    kept = [np.ones(2**18) for _ in range(4)]  # each of 2 MiB

def of_steps():
    step()
    before = faults()
    for _ in range(20):
        step()
    return faults() - before

with kept_memory():
    with kept_memory():
        pass
    inside = of_steps()
    resident = int(open("/proc/self/statm").read().split()[1])
print(inside, resident - int(open("/proc/self/statm").read().split()[1]))
"""


@pytest.mark.skipif(_glibc() is None, reason="the C library is not glibc")
def test_steps_reuse_the_pages_of_those_before_them() -> None:
    output = subprocess.run([sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True).stdout
    faults, returned = map(int, output.split())
    assert faults < 2048, "20 steps of 8 MiB are 40,960 pages of 4 KiB"
    assert returned > 1024, "pages that are unused after the block"


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecsuite.runtime.memory._glibc", lambda: None)
    with kept_memory(), kept_memory():
        pass
