"""The figures of today are those recorded, within the bounds that `*_figures.py` state."""

import pytest
from record import PARTS, changed, compute, read

ALL = [(part, case) for part, cases in PARTS.items() for case in cases]


def parameter(part, case):
    marks = [pytest.mark.slow] if PARTS[part][case].is_slow else []
    return pytest.param(part, case, id=f"{part}: {case}", marks=marks)


@pytest.mark.parametrize(("part", "case"), [parameter(*each) for each in ALL])
def test_figures(part, case):
    """If a change is meant: raise the metric's version, if it is one; `python tests/golden/record.py PART`."""
    for package in PARTS[part][case].needs:
        pytest.importorskip(package)
    lines = changed(part, case, read(part)[case], compute(part, case))
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("part", PARTS)
def test_every_recorded_case_is_computed(part):
    assert list(read(part)) == list(PARTS[part])
