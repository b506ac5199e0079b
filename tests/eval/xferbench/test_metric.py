"""The metric: deterministic, with a complete signature, and undefined with a reason."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.conclusions import passes_of
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.eval.xferbench.metric import jobs_of, report, score_source, xferbench
from ecsuite.eval.xferbench.presets import NANO, PRESETS, XferBenchOptions
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def nano(monkeypatch):
    """Make `mini` as small as NANO."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A runner with a folder in which a second call finds what the first computed."""
    return Runner(folder=tmp_path_factory.mktemp("kept"))


@pytest.mark.slow
@pytest.mark.usefixtures("nano")
def test_score_is_deterministic_and_says_what_it_is(corpus, kept):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    settings = (torch.get_float32_matmul_precision(), torch.get_num_threads())
    calls = []
    (score,) = xferbench(corpus, runner=Runner(progress=lambda *call: calls.append(call)))
    assert xferbench(corpus, runner=kept) == [score]
    assert torch.equal(torch.get_rng_state(), state)
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == settings
    parts = "preset:mini|protocol:strict|targets:embedded|passes:1.33|seeds:0|precision:fp32"
    assert score.signature == f"xferbench|{parts}|v:4"
    assert score.value == pytest.approx(np.mean(list(score.details["by_target"].values())))
    assert score.details["repeats"] == 1.3337
    assert "not comparable" in score.details["note"]
    assert score.details["limits"].startswith("mini ranks classes of corpora; for games: mini-3m")
    assert not {"warning", "failed", "text_repeats"} & score.details.keys()
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.slow
def test_no_pretraining_on_a_short_text(tmp_path):
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 4_000).documents()), encoding="utf-8")
    score = score_source(None, Options(device="cpu"), XferBenchOptions(preset="nano", targets=str(tmp_path)))
    assert "|targets:xx#" in score.signature and score.details["repeats"] == 0
    assert set(score.details["by_target"]) == {"xx"}
    assert score.details["text_repeats"]["xx"] > 1


@pytest.mark.parametrize(
    ("symbols", "options", "message"),
    [
        (np.arange(400), {"preset": replace(NANO, pretrain_vocabulary="whole", vocab_size=300)}, "the corpus has 400"),
        (np.arange(10), {"protocol": "published-2024"}, "this protocol drops up to"),
        (np.arange(400) + 1e6, {"protocol": "head-2024-12"}, "this protocol expects symbol ids from 0"),
    ],
)  # fmt: skip
def test_a_corpus_that_does_not_fit_is_told_before_the_work(study_of, symbols, options, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        study_of(Corpus([[int(symbol)] for symbol in symbols]), **options)


@pytest.mark.parametrize(
    ("sizes", "passes"),
    [([1_000], "4"), ([3_000], "1.33"), ([20_000], "1"), ([None], "1"), ([20_000, 1_000], "4"), ([7], "571.43")],
)
def test_the_signature_has_the_passes_over_the_shortest_corpus(study_of, sizes, passes):
    corpora = {seed: None if size is None else Corpus([[0] * size]) for seed, size in enumerate(sizes)}
    line = report(study_of(corpora, seeds=range(len(sizes))), None, "not computed").signature
    assert f"|passes:{passes}|" in line and passes_of(line) == float(passes)


def test_where_all_seeds_diverge_the_other_metrics_are_shown(corpus, monkeypatch):
    assert jobs_of(Corpus([[], []]), Options()) == []
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini", lr=1e30))
    *others, score = score_corpus(corpus, ["elcc", "xferbench"], Options()).scores
    assert all(each.value is not None for each in others) and score.value is None
    assert score.reason.startswith("pretraining, seed 0: the loss is nan at update ")
    assert "|seeds:0|" in score.signature and score.details["preset"] == "mini"
