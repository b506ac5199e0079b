"""Languages have their scripts, and the matrices are the paper's Tables 7 and 8."""

import numpy as np
import pytest

from compared_sources import paper_results, source
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.comparison import CONTENT
from ecsuite.eval.xferbench.normalising import SCRIPTS, by_script, by_type, script_of


def of(name, *values):
    return source(name, values, targets=("da", "kk"))


@pytest.mark.parametrize(("matrix", "table"), [(by_script, "table7"), (by_type, "table8")])
def test_the_papers_tables_come_out_of_its_cross_entropies(matrix, table):
    # those are printed with two decimals, a tenth of the standard deviation over sources
    found = matrix(paper_results())
    printed = dict(CONTENT["oscar"][table])
    assert found.targets == tuple(printed.pop("columns"))
    assert found.sources == tuple(printed)
    expected = np.array(list(printed.values()))
    np.testing.assert_allclose(found.values, expected, atol=0.13)
    assert np.abs(np.array(found.values) - expected).mean() < 0.06
    assert np.sum(found.num_pairs) == 70


def test_a_matrix_by_hand():
    rows = {"fr": [1.0, 1.0, 9.0], "ru": [2.0, 3.0, 7.0], "es": [3.0, 2.0, 8.0]}
    found = by_script([source(name, row, targets=("da", "kk", "x")) for name, row in rows.items()])
    assert (found.sources, found.targets) == (("Cyrillic", "Latin"), ("Cyrillic", "Latin"))
    assert found.values == ((pytest.approx(1), pytest.approx(0)), (pytest.approx(-0.5), pytest.approx(0)))
    assert found.num_pairs == ((1, 1), (2, 2))
    assert set(XFERBENCH_TARGETS) <= SCRIPTS.keys()
    assert sum(script_of(result.name) is not None for result in paper_results()) == 7
    fr, ru, es = of("fr", 1.0, 1.0), of("ru", 2.0, 3.0), of("es", 3.0, 2.0)
    assert by_script([fr, ru]) is None
    assert by_type([fr, ru, es]) is None  # all are alphabets
    for target in ("da", "x"):
        one_target = [source(name, [at], targets=(target,)) for at, name in enumerate(("fr", "ru", "es"))]
        assert by_script(one_target) is None
    assert by_script([of(name, 1.0, 1.0) for name in ("fr", "ru", "es")]) is None
