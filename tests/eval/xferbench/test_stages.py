"""The stages: known results on simple data, determinism and cache keys."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from ecsuite.config import DivergedError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.data import Target, Windows, stretches
from ecsuite.eval.learning.gpt2 import LanguageModel
from ecsuite.eval.xferbench import stages
from ecsuite.eval.xferbench.presets import FULL, MINI, NANO, Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.stages import cross_entropy, pretrain, stage_key, train, tune_and_test
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.jobs.job import Stopped


class Known:
    """A text whose tokens are known."""

    name, digest = "known", ""

    def documents(self) -> list[str]:
        """Not read."""
        return []


def ignore(label: str, share: float) -> None:
    """Ignore progress."""


def windows_of(stream: np.ndarray) -> Windows:
    return Windows(symbols=stretches(stream, NANO.context + 1, NANO.context))


def pretrained_file(corpus: Corpus | None, preset: Preset, folder: Path) -> Path:
    file = folder / f"{preset.lr}-{corpus is None}.safetensors"
    pretrain(corpus, preset, "strict", 0, "cpu", "fp32", file, ignore)
    return file


def finetuned_score(file: Path, target: Target, preset: Preset, monkeypatch: pytest.MonkeyPatch) -> float:
    rules = replace(PROTOCOLS["strict"], target=lambda text, preset: target)
    monkeypatch.setitem(stages.PROTOCOLS, "strict", rules)  # type: ignore[arg-type]
    found = tune_and_test(file, Known(), preset, "strict", 0, "cpu", "fp32", ignore)
    assert found["test_tokens"] == len(target.test) * NANO.context
    return float(found["cross_entropy"])


def test_one_token_costs_nothing_and_coins_cost_their_entropy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = replace(NANO, lr=3e-3, tune_lr=3e-3)
    file = pretrained_file(None, preset, tmp_path)
    same = windows_of(np.zeros(2001))
    constant = Target(vocab_size=1, tune=same, test=same, repeats=1)
    assert finetuned_score(file, constant, preset, monkeypatch) == 0
    coins = np.random.default_rng(0).integers(2, size=6000)
    target = Target(vocab_size=2, tune=windows_of(coins[:4000]), test=windows_of(coins[4000:]), repeats=1)
    assert finetuned_score(file, target, preset, monkeypatch) == pytest.approx(math.log(2), abs=0.01)


def test_pretraining_on_a_languages_own_kind_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that repeats every token is easier for a model that has learnt to repeat."""
    rng = np.random.default_rng(0)
    doubled = np.repeat(rng.integers(40, size=4000), 2)
    corpus = Corpus(messages=Ragged(doubled.astype(np.int32), np.array([0, len(doubled)])))
    other = np.repeat(rng.integers(40, size=2000), 2)
    target = Target(vocab_size=40, tune=windows_of(other[:2000]), test=windows_of(other[2000:]), repeats=1)
    preset = replace(
        NANO, lr=3e-3, tune_lr=3e-3, pretrain_tokens=8000, pretrain_epochs=8, tune_tokens=2000, tune_epochs=4
    )
    helped, alone = (
        finetuned_score(pretrained_file(source, preset, tmp_path), target, preset, monkeypatch)
        for source in (corpus, None)
    )
    assert helped < alone - 0.1


def test_pretraining_starts_from_the_weights_of_no_pretraining(tmp_path: Path) -> None:
    corpus = zipf_parentheses(3000, np.random.default_rng(0), num_types=50)
    preset = replace(NANO, lr=0.0)
    still, nothing = (load_file(pretrained_file(source, preset, tmp_path)) for source in (corpus, None))
    assert still.keys() == nothing.keys() and "embedding.weight" not in still
    assert all(torch.equal(still[name], nothing[name]) for name in still)


def test_each_stage_has_its_own_learning_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = zipf_parentheses(3000, np.random.default_rng(0), num_types=50)
    still = replace(NANO, lr=0.0, tune_lr=1e-3)
    coins = windows_of(np.random.default_rng(0).integers(2, size=2000))
    target = Target(vocab_size=2, tune=coins, test=coins, repeats=1)
    stills = [
        finetuned_score(pretrained_file(source, still, tmp_path), target, still, monkeypatch)
        for source in (corpus, None)
    ]
    assert stills[0] == stills[1]
    untuned = replace(still, tune_lr=0.0)
    assert (
        finetuned_score(pretrained_file(None, untuned, tmp_path), target, untuned, monkeypatch) != stills[0]
    )


def test_dropout_is_a_function_of_the_seed(tmp_path: Path) -> None:
    corpus = zipf_parentheses(3000, np.random.default_rng(0), num_types=50)
    preset = replace(NANO, dropout=0.1)
    before = torch.get_rng_state()
    first = pretrained_file(corpus, preset, tmp_path).read_bytes()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    assert pretrained_file(corpus, preset, tmp_path).read_bytes() == first
    assert pretrained_file(corpus, NANO, tmp_path).read_bytes() != first


def test_a_loss_that_is_not_finite_stops_before_the_update() -> None:
    model = LanguageModel(5, NANO, torch.Generator().manual_seed(0))
    with torch.no_grad():
        model.norm.weight.fill_(math.nan)
    before = model.embedding.weight.clone()
    with pytest.raises(DivergedError, match="the loss is nan at update 1,"):
        train(model, windows_of(np.arange(200) % 5), 1, 1e-3, NANO, 0.01, torch.Generator(), ignore)
    assert torch.equal(model.embedding.weight, before)


def test_a_resumed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    preset, checkpoint = replace(NANO, dropout=0.2, batch=4), Checkpoint(file=tmp_path / "training")

    def weights(checkpoint: Checkpoint | None = None, stops_after: int = 0) -> Tensor:
        torch.manual_seed(0)
        generator, calls = torch.Generator().manual_seed(0), itertools.count(1)
        model = LanguageModel(5, preset, generator)
        windows = windows_of(np.arange(10 * NANO.context + 1) % 5)
        stop = lambda: next(calls) == stops_after  # noqa: E731
        train(model, windows, 3, 1e-2, preset, 0.01, generator, ignore, checkpoint, stop)
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    for _ in range(2):
        with pytest.raises(Stopped):
            weights(checkpoint, stops_after=4)
    assert torch.equal(weights(checkpoint), weights())


def test_learning_rate_falls_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append(self.param_groups[0]["lr"])
            assert self.param_groups[0]["weight_decay"] == 0.3
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Spy)
    model = LanguageModel(5, NANO, torch.Generator().manual_seed(0))
    windows, preset = windows_of(np.arange(10 * NANO.context + 1) % 5), replace(NANO, batch=1)
    train(model, windows, 1, 1.0, preset, 0.3, torch.Generator(), ignore)
    assert rates == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])


def test_the_mean_is_over_tokens_whatever_the_batch() -> None:
    model = LanguageModel(30, NANO, torch.Generator().manual_seed(0))
    stream = np.random.default_rng(0).integers(30, size=300)
    windows = Windows(symbols=stretches(stream, 17, 8), num_context=8)
    values = [cross_entropy(model, windows, batch) for batch in (1, 7, 1000)]
    assert {num for _, num in values} == {16 + 8 * (len(windows) - 1)}
    assert [value for value, _ in values] == pytest.approx([values[0][0]] * 3, rel=1e-5)


def test_a_cross_entropy_that_is_not_finite_is_an_error() -> None:
    """The weights are finite, and their products are not."""
    model = LanguageModel(30, NANO, torch.Generator().manual_seed(0))
    with torch.no_grad():
        model.norm.weight.fill_(1e38)
    with pytest.raises(DivergedError, match="the cross-entropy of the held-out text is "):
        cross_entropy(model, windows_of(np.arange(200) % 30), 16)


def test_keys_hold_what_changes_results_and_not_what_does_not() -> None:
    key = stage_key(MINI, "strict", 0, "cpu", "fp32")
    assert stage_key(replace(MINI, name="other", about="", reference={}), "strict", 0, "cpu", "fp32") == key
    others = [
        stage_key(replace(MINI, lr=2e-3), "strict", 0, "cpu", "fp32"),
        stage_key(replace(MINI, tune_lr=2e-3), "strict", 0, "cpu", "fp32"),
        stage_key(MINI, "published-2024", 0, "cpu", "fp32"),
        stage_key(MINI, "strict", 1, "cpu", "fp32"),
        stage_key(MINI, "strict", 0, "cuda", "fp32"),
        stage_key(MINI, "strict", 0, "cpu", "bf16"),
        stage_key(FULL, "strict", 0, "cpu", "fp32"),
    ]
    assert key not in others
