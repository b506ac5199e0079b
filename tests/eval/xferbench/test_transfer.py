"""The whole line at a tiny size: deterministic, known where it can be known, and ranking what it should."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.score import Options
from ecsuite.eval.xferbench import transfer as module
from ecsuite.eval.xferbench.data import windows
from ecsuite.eval.xferbench.model import LanguageModel
from ecsuite.eval.xferbench.presets import NANO, PRESETS
from ecsuite.eval.xferbench.targets import Target, Text, embedded_texts
from ecsuite.eval.xferbench.transfer import pretrain, train, transfer, tune_and_test, xferbench
from ecsuite.grammars.baselines import zipf_parentheses

CPU = torch.device("cpu")


def ignore(num_tokens: int) -> None:
    """No progress."""


@pytest.fixture
def corpus() -> Corpus:
    """A small corpus with structure."""
    return zipf_parentheses(3000, np.random.default_rng(0), num_types=50)


@pytest.fixture
def nano(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `mini` be as small as NANO."""
    monkeypatch.setitem(PRESETS, "mini", replace(NANO, name="mini"))


@pytest.mark.usefixtures("nano")
def test_score_is_deterministic_and_says_what_it_is(corpus: Corpus) -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    precision = torch.get_float32_matmul_precision()
    calls: list[tuple[str, float, float]] = []
    (score,) = xferbench(corpus, Options(progress=lambda *call: calls.append(call)))
    assert xferbench(corpus, Options()) == [score]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_float32_matmul_precision() == precision
    assert score.signature == "xferbench|preset:mini|targets:embedded|seed:0|precision:fp32|v:1"
    assert score.value == pytest.approx(np.mean(list(score.details["by_target"].values())))
    assert score.details["repeats"] == 1.3333
    assert "not comparable" in score.details["note"]
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
    assert calls[-1][1] == calls[-1][2]
    assert xferbench(corpus, Options(seed=1))[0].value != score.value


@pytest.mark.usefixtures("nano")
def test_a_folder_enters_the_signature(corpus: Corpus, tmp_path: Path) -> None:
    text = embedded_texts(NANO)[0]
    (tmp_path / "xx.txt").write_text("\n".join(text.lines), encoding="utf-8")
    (score,) = xferbench(corpus, Options(targets=tmp_path))
    assert "|targets:xx#" in score.signature
    assert set(score.details["by_target"]) == {"xx"}


@pytest.mark.usefixtures("nano")
def test_an_empty_corpus_has_no_score() -> None:
    (score,) = xferbench(Corpus(messages=Ragged.from_rows([[], []])), Options())
    assert score.value is None
    assert score.reason == "the corpus has no symbols to learn from"


def test_unknown_preset(corpus: Corpus) -> None:
    with pytest.raises(ValueError, match="unknown preset 'minni'; did you mean 'mini'"):
        xferbench(corpus, Options(preset="minni"))


def test_a_text_of_one_token_costs_nothing_and_random_tokens_cost_their_entropy() -> None:
    preset = replace(NANO, lr=3e-3)
    base = pretrain(None, preset, 0, CPU, ignore)
    constant = Target(name="same", vocab_size=1, tune=np.zeros(2001, int), test=np.zeros(501, int))
    assert tune_and_test(base, constant, preset, 0, ignore) == 0
    coins = np.random.default_rng(0).integers(2, size=6000)
    target = Target(name="coins", vocab_size=2, tune=coins[:4000], test=coins[4000:])
    assert tune_and_test(base, target, preset, 0, ignore) == pytest.approx(math.log(2), abs=0.01)


def test_targets_do_not_disturb_each_other(corpus: Corpus) -> None:
    one, two = embedded_texts(NANO)
    both = transfer(corpus, [one, two], NANO, 0, device="cpu").by_target
    assert transfer(corpus, [two], NANO, 0, device="cpu").by_target[two.name] == both[two.name]


def test_pretraining_starts_from_the_weights_of_no_pretraining(corpus: Corpus) -> None:
    born = pretrain(None, NANO, 0, CPU, ignore)
    still = pretrain(corpus, replace(NANO, lr=0.0), 0, CPU, ignore)
    for name, weight in born.named_parameters():
        if name != "embedding.weight":
            assert torch.equal(weight, still.get_parameter(name)), name


def test_a_loss_that_is_not_finite_stops_before_the_update() -> None:
    model = LanguageModel(5, NANO, torch.Generator().manual_seed(0))
    with torch.no_grad():
        model.norm.weight.fill_(math.nan)
    before = model.embedding.weight.clone()
    data = windows(np.arange(200) % 5, NANO.context)
    with pytest.raises(ArithmeticError, match="the loss is nan at step 1 of"):
        train(model, data, 1, NANO, torch.Generator(), ignore)
    assert torch.equal(model.embedding.weight, before)


def test_learning_rate_falls_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    monkeypatch.setattr(module.torch.optim, "AdamW", Spy)
    model = LanguageModel(5, NANO, torch.Generator().manual_seed(0))
    preset = replace(NANO, batch=1, lr=1.0)
    train(
        model,
        windows(np.arange(10 * NANO.context + 1) % 5, NANO.context),
        1,
        preset,
        torch.Generator(),
        ignore,
    )
    assert rates == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])


def test_pretraining_on_a_languages_own_kind_helps() -> None:
    """A target that repeats every token is easier for a model that has learnt to repeat."""
    rng = np.random.default_rng(0)
    doubled = np.repeat(rng.integers(40, size=4000), 2)
    corpus = Corpus(messages=Ragged(doubled.astype(np.int32), np.array([0, len(doubled)])))
    other = np.repeat(rng.integers(40, size=2000), 2)
    target = Target(name="doubled", vocab_size=40, tune=other[:2000], test=other[2000:])
    preset = replace(NANO, lr=3e-3, pretrain_tokens=8000, pretrain_epochs=8, tune_epochs=4)
    helped, alone = (
        tune_and_test(pretrain(source, preset, 0, CPU, ignore), target, preset, 0, ignore)
        for source in (corpus, None)
    )
    assert helped < alone - 0.1


def test_names_of_targets_are_kept() -> None:
    texts = [Text(name="b", lines=embedded_texts(NANO)[0].lines)]
    assert list(transfer(None, texts, NANO, 0, device="cpu").by_target) == ["b"]
