"""Results of whole studies at a tiny size: what is kept is not computed again, and what diverges is left out."""

import pytest

from ecsuite.eval.xferbench.jobs import plan
from ecsuite.eval.xferbench.metric import measure
from ecsuite.jobs.graph import Runner


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the results of the corpus for both texts."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def both(study_of, kept):
    """The result of the corpus for both texts; computed by the first test that asks."""
    return measure(study_of(), Runner(folder=kept))


def missing(study, folder):
    """Labels of the jobs that would be computed."""
    return [job.label for job in Runner(folder=folder).plan(plan(study).values()).missing]


@pytest.mark.slow
def test_texts_do_not_disturb_each_other(study_of, texts, both):
    alone = measure(study_of(texts=texts[1:]), Runner())
    assert alone.by_seed[0] == {"artificial-2": both.by_seed[0]["artificial-2"]}


@pytest.mark.slow
def test_each_seed_may_draw_its_own_corpus(study_of, draw, texts, both):
    drawn = {seed: draw(seed) for seed in (0, 1)}
    result = measure(study_of(drawn, texts[:1], seeds=[0, 1]), Runner())
    assert result.by_seed[0] == {"artificial-1": both.by_seed[0]["artificial-1"]}
    same = plan(study_of(draw(0), texts[:1], seeds=[0, 1]))
    assert plan(study_of(drawn, texts[:1], seeds=[0, 1]))[1,] != same[1,]


@pytest.mark.slow
def test_two_processes_give_what_one_gives(study_of, both):
    assert measure(study_of(), Runner(num_workers=2)) == both
