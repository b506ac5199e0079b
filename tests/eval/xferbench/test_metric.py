"""The metric: deterministic, with a complete signature, and undefined with a reason."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.reports.scorecard import score_corpus
from ecsuite.eval.xferbench.metric import score_source, xferbench
from ecsuite.eval.xferbench.presets import DANISH, FULL, MINI, NANO, PRESETS
from ecsuite.eval.xferbench.texts import ArtificialText, choose_texts
from ecsuite.jobs.graph import Runner


@pytest.fixture
def nano(monkeypatch):
    """Make `mini` as small as NANO."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini"))


@pytest.fixture(scope="module")
def scored(draw):
    """The score of the corpus by seed, computed by the first test that asks."""
    return functools.cache(lambda seed=0: xferbench(draw(), Options(seed=seed))[0])


@pytest.mark.usefixtures("nano")
def test_score_is_deterministic_and_says_what_it_is(corpus, scored):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    settings = (torch.get_float32_matmul_precision(), torch.get_num_threads())
    calls = []
    (score,) = xferbench(corpus, Options(runner=Runner(progress=lambda *call: calls.append(call))))
    assert scored() == score
    assert torch.equal(torch.get_rng_state(), state)
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == settings
    assert (
        score.signature == "xferbench|preset:mini|protocol:strict|targets:embedded|seeds:0|precision:fp32|v:3"
    )
    assert score.value == pytest.approx(np.mean(list(score.details["by_target"].values())))
    assert score.details["repeats"] == 1.3337
    assert "not comparable" in score.details["note"]
    assert "warning" not in score.details and "failed" not in score.details
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.usefixtures("nano")
def test_several_seeds(corpus, scored):
    (both,) = xferbench(corpus, Options(num_seeds=2, seed=3))
    alone = [scored(seed) for seed in (3, 4)]
    assert "|seeds:3-4|" in both.signature
    assert [run["seed"] for run in both.details["by_seed"]] == [3, 4]
    assert [run["value"] for run in both.details["by_seed"]] == [score.value for score in alone]
    assert both.value == pytest.approx(np.mean([score.value for score in alone]))
    assert alone[0].value != alone[1].value


@pytest.mark.usefixtures("nano")
@pytest.mark.parametrize("protocol", ["published-2024", "head-2024-12"])
def test_other_protocols_say_so(corpus, scored, protocol):
    (score,) = xferbench(corpus, Options(protocol=protocol))
    assert f"|protocol:{protocol}|" in score.signature and score.details["warning"]
    assert score.value != scored().value


@pytest.mark.usefixtures("nano")
def test_a_folder_enters_the_signature(corpus, tmp_path):
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 20_000).documents()), encoding="utf-8")
    (score,) = xferbench(corpus, Options(targets=tmp_path))
    assert "|targets:xx#" in score.signature
    assert set(score.details["by_target"]) == {"xx"} and "text_repeats" not in score.details
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 4_000).documents()), encoding="utf-8")
    (short,) = xferbench(corpus, Options(targets=tmp_path))
    assert short.details["text_repeats"]["xx"] > 1


@pytest.mark.usefixtures("nano")
def test_an_empty_corpus_has_no_score():
    (score,) = xferbench(Corpus(messages=Ragged.from_rows([[], []])), Options())
    assert score.value is None
    assert score.reason == "the corpus has no symbols to learn from"


def test_where_all_seeds_diverge_the_other_metrics_are_shown(corpus, monkeypatch):
    """One metric that could not be computed ended the command."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini", lr=1e30))
    scores = score_corpus(corpus, ["elcc", "xferbench"], Options()).scores
    *others, score = scores
    assert all(each.value is not None for each in others) and score.value is None
    assert score.reason.startswith("pretraining, seed 0: the loss is nan at update ")
    assert "|seeds:0|" in score.signature and score.details["preset"] == "mini"


def test_unknown_names(corpus):
    with pytest.raises(ValueError, match="unknown preset 'minni'; did you mean 'mini'"):
        xferbench(corpus, Options(preset="minni"))
    with pytest.raises(ValueError, match="unknown protocol 'strit'; did you mean 'strict'"):
        xferbench(corpus, Options(protocol="strit"))


def test_only_presets_of_the_papers_size_are_not_reduced():
    assert [preset.is_reduced for preset in (MINI, NANO, DANISH, FULL)] == [True, True, False, False]


def test_no_pretraining_is_a_source():
    score = score_source(None, Options(preset="nano", device="cpu"))
    assert score.value is not None and score.details["repeats"] == 0


def test_presets_without_embedded_targets_say_what_they_need(corpus):
    with pytest.raises(ValueError, match="preset danish needs texts of da"):
        xferbench(corpus, Options(preset="danish"))
    assert [text.name for text in choose_texts(None, MINI)] == [f"artificial-{n}" for n in range(1, 3)]
