"""The metric: deterministic, with a complete signature, and undefined with a reason."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.conclusions import passes_of
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.eval.xferbench.metric import jobs_of, measure, report, score_source, xferbench
from ecsuite.eval.xferbench.presets import MINI, NANO, PRESETS, XferBenchOptions
from ecsuite.eval.xferbench.texts import ArtificialText, TextFile, choose_texts
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import everything
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


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


@pytest.mark.usefixtures("nano")
def test_several_seeds(corpus, kept):
    (alone,), (both,) = (
        xferbench(corpus, runner=kept),
        find_metric("xferbench,num_seeds=2")(corpus, runner=kept),
    )
    assert both.name == alone.name == "xferbench" and "|seeds:0-1|" in both.signature
    first, second = both.details["by_seed"]
    assert (first["seed"], second["seed"], first["value"]) == (0, 1, alone.value)
    assert both.value == pytest.approx((first["value"] + second["value"]) / 2)
    assert first["value"] != second["value"]


@pytest.mark.parametrize("protocol", ["published-2024", "head-2024-12"])
def test_other_protocols_say_so(study_of, protocol):
    score = report(study_of(protocol=protocol), None, "not computed")
    assert f"|protocol:{protocol}|" in score.signature and score.details["warning"]


@pytest.mark.slow
def test_no_pretraining_on_a_short_text(tmp_path):
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 4_000).documents()), encoding="utf-8")
    score = score_source(None, Options(device="cpu"), XferBenchOptions(preset="nano", targets=str(tmp_path)))
    assert "|targets:xx#" in score.signature and score.details["repeats"] == 0
    assert set(score.details["by_target"]) == {"xx"}
    assert score.details["text_repeats"]["xx"] > 1


@pytest.mark.parametrize(
    ("sizes", "passes"),
    [
        ([1_000], "4"),
        ([3_000], "1.33"),
        ([4_000], "1"),
        ([20_000], "1"),
        ([None], "1"),
        ([20_000, 1_000], "4"),
        ([7], "571.43"),
    ],
)
def test_the_signature_has_the_passes_over_the_shortest_corpus(study_of, sizes, passes):
    """Scores of 200,000 and of a million symbols of noise had equal signatures, and differed by their size alone."""
    corpora = {
        seed: None if size is None else Corpus(messages=Ragged.from_rows([[0] * size]))
        for seed, size in enumerate(sizes)
    }
    line = report(study_of(corpora, seeds=range(len(sizes))), None, "not computed").signature
    assert f"|passes:{passes}|" in line and passes_of(line) == float(passes)


def test_an_empty_corpus_has_no_score():
    (score,) = xferbench(Corpus(messages=Ragged.from_rows([[], []])), Options())
    assert (score.value, score.reason) == (None, "the corpus has no symbols to learn from")


def test_where_all_seeds_diverge_the_other_metrics_are_shown(corpus, monkeypatch):
    """One metric that could not be computed ended the command."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini", lr=1e30))
    *others, score = score_corpus(corpus, ["elcc", "xferbench"], Options()).scores
    assert all(each.value is not None for each in others) and score.value is None
    assert score.reason.startswith("pretraining, seed 0: the loss is nan at update ")
    assert "|seeds:0|" in score.signature and score.details["preset"] == "mini"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "minni"}, "unknown preset 'minni'; did you mean 'mini'"),
        ({"protocol": "strit"}, "unknown protocol 'strit'; did you mean 'strict'"),
        ({"preset": "danish"}, "preset danish needs texts of da"),
    ],
)
def test_what_is_refused(corpus, options, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        xferbench(corpus, Options(), XferBenchOptions(**options))


def test_mini_has_two_artificial_targets():
    assert [text.name for text in choose_texts(None, MINI)] == ["artificial-1", "artificial-2"]


@pytest.mark.usefixtures("nano")
def test_each_speaker_is_scored_and_what_is_planned_is_computed(corpus, tmp_path):
    names = ["a"] * 5 + ["b"] * (len(corpus.messages) - 5)
    both = replace(corpus, columns={"speaker": np.array(names)})
    runner = Runner(folder=tmp_path)
    planned = jobs_of(both, Options())
    card = score_corpus(both, ["xferbench"], runner=runner)
    [score] = card.scores
    each = [xferbench(both.where("speaker", name), runner=runner)[0] for name in "ab"]
    assert score.value == pytest.approx(np.mean([one.value for one in each]))
    found = card.to_json()
    assert found["by_target"] == {
        target: pytest.approx(np.mean([one.details["by_target"][target] for one in each]))
        for target in each[0].details["by_target"]
    }
    kept_files = {file.stem for file in (tmp_path / "results").glob("*.json")}
    assert kept_files == {job.name for job in everything(planned)}


def test_a_short_text_is_told_before_the_training(corpus, texts, tmp_path, study_of):
    (tmp_path / "da.txt").write_text("far too short\n")
    study = study_of(texts=(*texts, TextFile("da", tmp_path / "da.txt")))
    with pytest.raises(ConfigError, match=r"^da: text too short"):
        measure(study, Runner(folder=tmp_path / "kept"))
    kept_files = (tmp_path / "kept" / "results").glob("*.json")
    assert {file.name.partition("-")[0] for file in kept_files} == {"tokenise"}


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


def test_nothing_is_planned_for_a_corpus_without_symbols():
    assert jobs_of(Corpus(messages=Ragged.from_rows([[], []])), Options()) == []
