import pytest
from record import PARTS, changed, compute, read

SLOW = {
    "metrics": {"game", "features", "grammar", "cbm_pairs"},
    "games": {
        "autoencoder", "digits", "disc_large", "image_factors", "mu_cub", "mu_shapeworld", "mu_shapeworld_ref",
        "mu_shapeworld_setref", "recon_large", "self_supervised", "shape_gs", "shape_gs_l4", "shape_qt",
        "shape_qt_l4", "thing_gs_l4", "thing_qt", "thing_qt_l4", "yao",
    },
    "learning": {
        "icy sender lstm", "icy sender husendz:dgsend", "icy receiver hier:gru", "xferbench nano", "baseline human",
        "baseline no_pretrain mini", "baseline paren_synth", "translation full", "translation frozen", "xtreme adapt",
        "xtreme direct",
    },
}  # fmt: skip
"""Compared by `pytest -m slow`; of each part some cases are always compared."""

ALL = [(part, case) for part, cases in PARTS.items() for case in cases]


def parameter(part, case):
    marks = [pytest.mark.slow] if case in SLOW.get(part, ()) else []
    return pytest.param(part, case, id=f"{part}: {case}", marks=marks)


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize(("part", "case"), [parameter(*each) for each in ALL])
def test_figures(part, case):
    for package in PARTS[part][case].needs:
        name, _, least = package.partition(">=")
        pytest.importorskip(name, minversion=least or None)
    lines = changed(part, case, read(part)[case], compute(part, case))
    assert not lines, "\n".join(lines)


def test_slow_cases_are_cases():
    assert all(cases < PARTS[part].keys() for part, cases in SLOW.items())


@pytest.mark.parametrize("part", PARTS)
def test_every_recorded_case_is_computed(part):
    assert list(read(part)) == list(PARTS[part])
