"""The whole experiment at a tiny size: deterministic, cached, resumable, with a complete signature."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.config import ConfigError, DamagedError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.translation import experiment as module
from ecsuite.eval.translation.experiment import translate_experiment
from ecsuite.eval.translation.presets import FULL, MINI, NANO, PRESETS, SETTINGS
from ecsuite.eval.translation.result import TranslationResult
from ecsuite.grammars.baselines import zipf_parentheses

WORDS = {"red": "rouge", "blue": "bleu", "cat": "chat", "dog": "chien", "sees": "voit", "hears": "entend"}
NUM_TEST = 8
"""Of the preset nano."""


@pytest.fixture
def corpus() -> Corpus:
    return zipf_parentheses(1000, np.random.default_rng(0), num_types=20)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [rng.choice(list(WORDS), 5) for _ in range(80)]
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "".join(f"{' '.join(line)}\t{' '.join(WORDS[word] for word in line)}\n" for line in lines)
    )
    return path


def test_the_presets_have_the_papers_settings():
    assert all(tuple(preset.settings) == SETTINGS for preset in PRESETS.values())
    full, frozen, reduced = (FULL.settings[name] for name in SETTINGS)
    assert frozen == replace(full, is_frozen=True)
    assert (full.lr, full.tokens, full.epochs, full.is_frozen) == (2e-4, 50_000_000, 3, False)
    assert (reduced.lr, reduced.tokens, reduced.is_frozen) == (2e-5, 10_000_000, False)
    assert (FULL.pretrain_tokens, FULL.pretrain_epochs, FULL.beams) == (100_000_000, 5, (1, 3, 5))
    assert [preset.is_reduced for preset in (FULL, MINI)] == [False, True]


def test_the_whole_line(corpus, pairs):
    torch.manual_seed(1)
    state, precision = torch.get_rng_state(), torch.get_float32_matmul_precision()
    calls: list[tuple[str, float, float]] = []
    first = translate_experiment(corpus, pairs, preset="nano", progress=lambda *call: calls.append(call))
    assert translate_experiment(corpus, pairs, preset="nano") == first
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_float32_matmul_precision() == precision
    assert list(first.beams) == [1, 3, 5]
    assert first.chrf == pytest.approx(np.mean([score.chrf for score in first.beams.values()]))
    assert first.repeats == pytest.approx(2000 / len(corpus.messages.values))
    assert (first.num_test, first.num_trainable) == (NUM_TEST, first.num_parameters)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
    assert calls[-1][1] == calls[-1][2]
    assert first.signature.startswith("translate|preset:nano|setting:full|pairs:pairs.tsv#")
    assert "|seed:0|beams:1+3+5|precision:fp32|chrf:nrefs=1,case=mixed,eff=yes,nc=6" in first.signature
    assert first.signature.endswith("|v:1")
    assert "not comparable with published" in first.summary()
    data = json.loads(json.dumps(first.as_dict(), allow_nan=False))
    assert data["chrf"] == first.chrf
    assert data["sacrebleu"]["bleu"].startswith("nrefs:1|")
    assert TranslationResult.from_dict(data) == first


def test_the_corpus_the_seed_and_the_setting_matter(corpus, pairs):
    losses = {
        translate_experiment(said, pairs, preset="nano", seed=seed, setting=setting).cross_entropy
        for said, seed, setting in [
            (corpus, 0, "full"),
            (None, 0, "full"),
            (None, 1, "full"),
            (None, 0, "frozen"),
            (None, 0, "reduced"),
        ]
    }
    assert len(losses) == 5


def test_without_a_corpus_and_frozen(pairs):
    result = translate_experiment(None, pairs, preset="nano", setting="frozen")
    assert (result.is_pretrained, result.repeats) == (False, None)
    assert result.num_trainable == 300 * 32
    assert "without pretraining" in result.summary()


def test_a_corpus_with_more_symbols_than_the_preset_has(pairs):
    corpus = Corpus(messages=Ragged.from_rows([list(range(0, 5000, 5))]))
    assert translate_experiment(corpus, pairs, preset="nano").is_pretrained


def test_finished_stages_are_kept(corpus, pairs, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    plain = translate_experiment(corpus, pairs, preset="nano")

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "translate", fail)
        translate_experiment(corpus, pairs, preset="nano", out=folder)
    assert sorted(path.name.partition("-")[0] for path in folder.iterdir()) == ["pretrained", "tuned"]
    monkeypatch.setattr(module, "train_encoder_decoder", fail)
    calls: list[tuple[str, float, float]] = []
    went_on = translate_experiment(
        corpus, pairs, preset="nano", out=folder, progress=lambda *call: calls.append(call)
    )
    assert went_on == plain
    assert calls[-1][1] == calls[-1][2]
    (said,) = folder.glob("beam3-*.txt")
    assert len(said.read_text().splitlines()) == NUM_TEST
    monkeypatch.setattr(module, "translate", fail)
    assert translate_experiment(corpus, pairs, preset="nano", out=folder) == plain
    with pytest.raises(KeyboardInterrupt):  # another seed is another result
        translate_experiment(corpus, pairs, preset="nano", out=folder, seed=1)


def test_pretraining_is_shared_between_settings(corpus, pairs, tmp_path):
    for setting in ("full", "frozen"):
        translate_experiment(corpus, pairs, preset="nano", setting=setting, out=tmp_path / "out")
    (kept,) = (tmp_path / "out").glob("pretrained-*")
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(
        DamagedError, match=r"pretrained-.*cannot be read .*; delete it, and it is computed again"
    ):
        translate_experiment(corpus, pairs, preset="nano", setting="reduced", out=tmp_path / "out")


def test_a_run_that_goes_on_after_pretraining_gives_the_same_result(corpus, pairs, tmp_path, monkeypatch):
    """Pretraining with dropout draws random numbers, and loading its weights does not."""
    monkeypatch.setitem(PRESETS, "nano", replace(NANO, dropout=0.2))
    folder = tmp_path / "out"
    plain = {
        setting: translate_experiment(corpus, pairs, preset="nano", setting=setting).cross_entropy
        for setting in ("full", "frozen")
    }
    for setting in ("full", "frozen", "full"):
        result = translate_experiment(corpus, pairs, preset="nano", setting=setting, out=folder)
        assert result.cross_entropy == plain[setting]
        for file in folder.iterdir():
            if not file.name.startswith("pretrained-"):
                file.unlink()


def test_errors_of_the_user(corpus, pairs):
    with pytest.raises(ConfigError, match="unknown preset 'tiny'"):
        translate_experiment(corpus, pairs, preset="tiny")
    with pytest.raises(ConfigError, match="unknown setting 'ful'; did you mean 'full'"):
        translate_experiment(corpus, pairs, setting="ful")
    empty = Corpus(messages=Ragged.from_rows([[], []]))
    with pytest.raises(ConfigError, match="no symbols to learn from"):
        translate_experiment(empty, pairs)
    pairs.write_text("".join(f"{'word ' * 40}{index}\tmot {index}\n" for index in range(30)))
    with pytest.raises(ConfigError, match="expected pairs of at most 32 tokens, found only longer ones"):
        translate_experiment(corpus, pairs, preset="nano")
