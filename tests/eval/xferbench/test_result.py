"""Results of whole studies at a tiny size: what is kept is not computed again, and what diverges is left out."""

import shutil
from dataclasses import replace

import pytest

from ecsuite.eval.xferbench.jobs import plan
from ecsuite.eval.xferbench.metric import collect, measure, report
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Result
from ecsuite.runtime.errors import ConfigError, DivergedError


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


def test_what_is_kept_needs_no_weights_and_a_new_text_needs_them_once(study_of, texts, both, tmp_path, kept):
    """Lost weights were trained again although nothing read them, and after that at every call."""
    folder = shutil.copytree(kept, tmp_path / "copy")
    for arrays in (folder / "results").glob("*.safetensors"):
        arrays.unlink()
    assert missing(study_of(), folder) == []
    assert measure(study_of(), Runner(folder=folder)) == both
    more = study_of(texts=[*texts, ArtificialText(3, 30_000)])
    expected = {"pretraining, seed 0", "tokens of artificial-3", "artificial-3, seed 0"}
    assert set(missing(more, folder)) == expected
    result = measure(more, Runner(folder=folder))
    assert {**result.by_seed[0]} == {**both.by_seed[0], "artificial-3": result.by_seed[0]["artificial-3"]}
    assert missing(more, folder) == []
    (weights,) = (folder / "results").glob("pretrain-*.safetensors")
    (original,) = (kept / "results").glob("pretrain-*.safetensors")
    assert weights.read_bytes() == original.read_bytes()


def test_tokens_are_made_once_for_all_seeds_and_sources(study_of, both, kept):
    what = ("artificial-1", "artificial-2", "pretraining")
    expected = [f"{each}, seed {seed}" for each in what for seed in (5, 6)]
    assert sorted(missing(study_of(None, seeds=[5, 6]), kept)) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("failed", [(1,), (1, "artificial-2")])
def test_a_seed_that_fails_is_left_out(study_of, both, kept, failed):
    study = study_of(seeds=[0, 1])
    jobs = plan(study)
    results = Runner(folder=kept).run(list(jobs.values()))
    results[jobs[failed]] = Result(value=None, failure="the loss is nan at update 1")
    found = collect(study, results)
    assert found.by_seed == both.by_seed
    assert found.failures == {1: f"{jobs[failed].label}: the loss is nan at update 1"}
    score = report(study, found)
    assert score.value == both.means[0] and "|seeds:0|" in score.signature
    assert score.details["failed"] == {"1": found.failures[1]}
    assert score.details["warning"] == f"left out: {found.failures[1]}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"lr": 1e30}, "pretraining, seed 0: the loss is nan at update "),
        ({"tune_tokens": 200, "tune_lr": 1e38, "batch": 64}, "artificial-1, seed 0: the "),
    ],
)
def test_without_a_seed_there_is_no_result(study_of, texts, changes, reason):
    study = study_of(texts=texts[:1], preset=replace(NANO, **changes))
    with pytest.raises(DivergedError, match=rf"^{reason}"):
        measure(study, Runner())


@pytest.mark.parametrize("seed", [2**32, 10**20, -1])
def test_a_seed_that_is_not_usable_is_refused(study_of, seed):
    with pytest.raises(ConfigError, match=rf"^XferBench: expected a seed from 0 to 4294967295, got {seed}$"):
        study_of(seeds=[0, seed])


def test_the_largest_seed_is_usable(study_of, texts):
    study = study_of(None, texts[:1], replace(NANO, tune_tokens=200), [2**32 - 1])
    assert measure(study, Runner()).means[0] > 0
