"""The whole benchmark at a tiny size: deterministic, resumable, with a complete signature."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.config import ConfigError, DivergedError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.xferbench import transfer as module
from ecsuite.eval.xferbench.presets import DANISH, FULL, MINI, NANO, PRESETS
from ecsuite.eval.xferbench.texts import ArtificialText, choose_texts
from ecsuite.eval.xferbench.transfer import Transfer, digest, score_source, transfer, xferbench
from ecsuite.grammars.baselines import zipf_parentheses

TEXTS = (ArtificialText(1, 30_000), ArtificialText(2, 30_000))


@functools.cache
def drawn_corpus(seed: int = 0) -> Corpus:
    """A small corpus with structure."""
    return zipf_parentheses(3000, np.random.default_rng(seed), num_types=50)


@functools.cache
def scored(seed: int = 0) -> Score:
    """The score of the corpus with a preset as small as NANO, computed by the first test that asks."""
    (score,) = xferbench(drawn_corpus(), Options(seed=seed))
    return score


@functools.cache
def transferred(seed: int = 0) -> Transfer:
    """The corpus of a seed, both targets and that seed, in this process, computed by the first test that asks."""
    return transfer(drawn_corpus(seed), TEXTS, NANO, [seed], device="cpu")


@pytest.fixture
def corpus() -> Corpus:
    """A small corpus with structure."""
    return drawn_corpus()


@pytest.fixture
def texts() -> list[ArtificialText]:
    """Two targets."""
    return list(TEXTS)


@pytest.fixture
def nano(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `mini` as small as NANO."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini"))


@pytest.mark.usefixtures("nano")
def test_score_is_deterministic_and_says_what_it_is(corpus: Corpus) -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    told = (torch.get_float32_matmul_precision(), torch.get_num_threads())
    calls: list[tuple[str, float, float]] = []
    (score,) = xferbench(corpus, Options(progress=lambda *call: calls.append(call)))
    assert scored() == score
    assert torch.equal(torch.get_rng_state(), state)
    assert (torch.get_float32_matmul_precision(), torch.get_num_threads()) == told
    assert (
        score.signature == "xferbench|preset:mini|protocol:strict|targets:embedded|seeds:0|precision:fp32|v:3"
    )
    assert score.value == pytest.approx(np.mean(list(score.details["by_target"].values())))
    assert score.details["repeats"] == 1.3337
    assert "not comparable" in score.details["note"] and "warning" not in score.details
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.usefixtures("nano")
def test_several_seeds(corpus: Corpus) -> None:
    (both,) = xferbench(corpus, Options(num_seeds=2, seed=3))
    alone = [scored(seed) for seed in (3, 4)]
    assert "|seeds:3-4|" in both.signature
    assert [run["seed"] for run in both.details["by_seed"]] == [3, 4]
    assert [run["value"] for run in both.details["by_seed"]] == [score.value for score in alone]
    assert both.value == pytest.approx(np.mean([score.value for score in alone]))
    assert alone[0].value != alone[1].value


@pytest.mark.usefixtures("nano")
@pytest.mark.parametrize("protocol", ["published-2024", "head-2024-12"])
def test_other_protocols_say_so(corpus: Corpus, protocol: str) -> None:
    (score,) = xferbench(corpus, Options(protocol=protocol))
    assert f"|protocol:{protocol}|" in score.signature and score.details["warning"]
    assert score.value != scored().value


@pytest.mark.usefixtures("nano")
def test_a_folder_enters_the_signature(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 20_000).documents()), encoding="utf-8")
    (score,) = xferbench(corpus, Options(targets=tmp_path))
    assert "|targets:xx#" in score.signature
    assert set(score.details["by_target"]) == {"xx"} and "text_repeats" not in score.details
    (tmp_path / "xx.txt").write_text("\n".join(ArtificialText(1, 4_000).documents()), encoding="utf-8")
    (short,) = xferbench(corpus, Options(targets=tmp_path))
    assert short.details["text_repeats"]["xx"] > 1


@pytest.mark.usefixtures("nano")
def test_an_empty_corpus_has_no_score() -> None:
    (score,) = xferbench(Corpus(messages=Ragged.from_rows([[], []])), Options())
    assert score.value is None
    assert score.reason == "the corpus has no symbols to learn from"


def test_unknown_names(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="unknown preset 'minni'; did you mean 'mini'"):
        xferbench(corpus, Options(preset="minni"))
    with pytest.raises(ValueError, match="unknown protocol 'strit'; did you mean 'strict'"):
        xferbench(corpus, Options(protocol="strit"))


def test_only_presets_of_the_papers_size_are_not_reduced() -> None:
    assert [preset.is_reduced for preset in (MINI, NANO, DANISH, FULL)] == [True, True, False, False]


def test_no_pretraining_is_a_source(texts: list[ArtificialText]) -> None:
    result = transfer(None, texts, NANO, [0], device="cpu")
    assert result.repeats == 0 and list(result.by_target[0]) == ["artificial-1", "artificial-2"]
    score = score_source(None, Options(preset="nano", device="cpu"))
    assert score.value is not None and score.details["repeats"] == 0


def test_targets_do_not_disturb_each_other(corpus: Corpus, texts: list[ArtificialText]) -> None:
    (both,) = transferred().by_target
    (alone,) = transfer(corpus, texts[1:], NANO, [0], device="cpu").by_target
    assert alone[texts[1].name] == both[texts[1].name]


def test_each_seed_may_draw_its_own_corpus(texts: list[ArtificialText]) -> None:
    drawn = {seed: drawn_corpus(seed) for seed in (0, 1)}
    both = transfer(drawn, texts, NANO, [0, 1], device="cpu").means
    assert both == [transferred(seed).means[0] for seed in (0, 1)]
    assert both[1] != transfer(drawn[0], texts, NANO, [1], device="cpu").means[0]


@pytest.mark.slow
def test_two_processes_give_what_one_gives(corpus: Corpus, texts: list[ArtificialText]) -> None:
    assert transferred() == transfer(corpus, texts, NANO, [0], device="cpu", num_workers=2)


def test_only_what_is_missing_runs(
    corpus: Corpus, texts: list[ArtificialText], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at the second target and run again; then with a missing and with a damaged weights file."""
    ran: list[str] = []
    pretrain, tune_and_test = module.pretrain, module.tune_and_test

    def watched_pretrain(**inputs):
        ran.append("pretraining")
        return pretrain(**inputs)

    def watched_tuning(**inputs):
        ran.append(inputs["text"].name)
        if ran == ["pretraining", "artificial-1", "artificial-2"]:
            raise KeyboardInterrupt
        return tune_and_test(**inputs)

    monkeypatch.setattr(module, "pretrain", watched_pretrain)
    monkeypatch.setattr(module, "tune_and_test", watched_tuning)
    with pytest.raises(KeyboardInterrupt):
        transfer(corpus, texts, NANO, [0], device="cpu", folder=tmp_path)
    ran.clear()
    whole = transfer(corpus, texts, NANO, [0], device="cpu", folder=tmp_path)
    assert ran == ["artificial-2"]
    assert transfer(corpus, texts, NANO, [0], device="cpu", folder=tmp_path) == whole and len(ran) == 1
    assert transferred() == whole

    (body,) = tmp_path.glob("bodies/*.safetensors")
    written = body.read_bytes()
    for damage in (body.unlink, lambda: body.write_bytes(written[:-1])):
        damage()
        ran.clear()
        more = [*texts, ArtificialText(3, 30_000)]
        assert list(transfer(corpus, more, NANO, [0], device="cpu", folder=tmp_path).by_target[0])[2:] == [
            "artificial-3"
        ]
        assert ran[0] == "pretraining" and body.read_bytes() == written


def test_corpora_have_digests_of_what_they_say() -> None:
    rows = [[1, 2], [3]]
    one = digest(Corpus(messages=Ragged.from_rows(rows)))
    assert digest(Corpus(messages=Ragged.from_rows(rows), metadata={"a": 1})) == one
    assert digest(Corpus(messages=Ragged.from_rows([[1], [2, 3]]))) != one
    assert digest(None) == "nothing"


def test_presets_without_embedded_targets_say_what_they_need(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="preset danish needs texts of da"):
        xferbench(corpus, Options(preset="danish"))
    assert [text.name for text in choose_texts(None, MINI)] == [f"artificial-{n}" for n in range(1, 3)]


@pytest.mark.parametrize("seed", [2**32, 10**20, -1])
def test_a_seed_that_is_not_usable_is_refused_before_the_work(
    corpus: Corpus, texts: list[ArtificialText], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(module, "JobRunner", None)
    with pytest.raises(ConfigError, match=rf"^XferBench: expected a seed from 0 to 4294967295, got {seed}$"):
        transfer(corpus, texts, NANO, [0, seed], device="cpu")


def test_the_largest_seed_is_usable(texts: list[ArtificialText]) -> None:
    found = transfer(None, texts[:1], replace(NANO, tune_tokens=200), [2**32 - 1], device="cpu")
    assert found.means[0] > 0


def test_weights_that_are_not_finite_after_the_last_update(
    corpus: Corpus, texts: list[ArtificialText]
) -> None:
    preset = replace(NANO, tune_tokens=200, tune_lr=1e38, batch=64)
    with pytest.raises(
        DivergedError, match=r"not finite after the last update|cross-entropy of the held-out"
    ):
        transfer(corpus, texts[:1], preset, [0], device="cpu")
