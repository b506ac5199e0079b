"""Languages have their scripts, and the matrices are the paper's Tables 7 and 8."""

import numpy as np
import pytest

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.comparison.results import Result
from ecsuite.eval.xferbench.comparison.anchors import PAPER_KINDS, PAPER_SCRIPTS, paper_results
from ecsuite.eval.xferbench.comparison.writing_systems import SCRIPTS, by_kind, by_script, script_of


def source(name, **by_target):
    return Result(name=name, by_target=(by_target,), seeds=(0,), signature="s")


def test_names_of_languages():
    for name in ("fr", "French", "FR", "French text", "wiki-fr", "human_fr"):
        assert script_of(name) == "Latin"
    assert script_of("Mandarin") == "Chinese"
    for name in ("Random", "No pretrain", "Disc, large", "artificial-1", "id_badges", "text", ""):
        assert script_of(name) is None


def test_all_targets_and_the_papers_sources_are_known():
    assert set(XFERBENCH_TARGETS) <= SCRIPTS.keys()
    assert sum(script_of(result.name) is not None for result in paper_results()) == 7


@pytest.mark.parametrize(("matrix", "printed"), [(by_script, PAPER_SCRIPTS), (by_kind, PAPER_KINDS)])
def test_the_papers_tables_come_out_of_its_cross_entropies(matrix, printed):
    # those are printed with two decimals, a tenth of the standard deviation over sources
    found = matrix(paper_results())
    assert found.sources == tuple(printed)
    assert found.targets == tuple(printed[found.sources[0]])
    expected = np.array([list(row.values()) for row in printed.values()])
    np.testing.assert_allclose(found.values, expected, atol=0.13)
    assert np.abs(np.array(found.values) - expected).mean() < 0.06
    assert np.sum(found.num_pairs) == 70


def test_a_matrix_by_hand():
    found = by_script(
        [
            source("fr", da=1.0, kk=1.0, x=9.0),
            source("ru", da=2.0, kk=3.0, x=7.0),
            source("es", da=3.0, kk=2.0, x=8.0),
        ]
    )
    assert (found.sources, found.targets) == (("Cyrillic", "Latin"), ("Cyrillic", "Latin"))
    assert found.values == ((pytest.approx(1), pytest.approx(0)), (pytest.approx(-0.5), pytest.approx(0)))
    assert found.num_pairs == ((1, 1), (2, 2))


def test_sources_that_are_no_human_language_do_not_count():
    human = [source("fr", da=1.0, kk=1.0), source("ru", da=2.0, kk=3.0), source("es", da=3.0, kk=2.0)]
    assert by_script([source("random", da=50.0, kk=7.0), *human]) == by_script(human)


def test_where_a_matrix_says_nothing():
    fr, ru, es = source("fr", da=1.0, kk=1.0), source("ru", da=2.0, kk=3.0), source("es", da=3.0, kk=2.0)
    assert by_script([fr, ru]) is None
    assert by_kind([fr, ru, es]) is None  # all are alphabets
    assert (
        by_script([source(name, da=float(number)) for number, name in enumerate(("fr", "ru", "es"))]) is None
    )
    assert (
        by_script([source(name, x=float(number)) for number, name in enumerate(("fr", "ru", "es"))]) is None
    )
    assert by_script([source(name, da=1.0, kk=1.0) for name in ("fr", "ru", "es")]) is None
