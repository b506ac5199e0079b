"""The jobs: known results on simple data, keys, tokens that are shared, and figures of their version."""

import hashlib
import itertools
import math
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from ecsuite.corpus import Corpus
from ecsuite.eval.models import gpt2
from ecsuite.eval.models.data import Windows, stretches
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Machine
from ecsuite.eval.xferbench.jobs import cross_entropy, plan, pretrain, train, tune_and_test
from ecsuite.eval.xferbench.metric import measure
from ecsuite.eval.xferbench.presets import FULL, NANO, XferBenchPretraining, XferBenchTuning
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context, Result, Stopped

MACHINE = Machine(device="cpu", precision="fp32", num_threads=1)


@pytest.fixture
def pretrained(tmp_path):
    """Pretrains as a job does; the options are fields of the preset."""
    numbers = itertools.count()

    def run(corpus, should_stop=lambda: False, scratch=None, **options):
        found = pretrain(
            corpus=corpus,
            sizes=replace(NANO, **options).part(XferBenchPretraining),
            protocol="strict",
            seed=0,
            machine=MACHINE,
            context=Context(scratch=scratch or tmp_path / "scratch", should_stop=should_stop),
        )
        file = tmp_path / f"{next(numbers)}.safetensors"
        file.write_bytes(found.arrays)
        return Result(value=found.value, arrays=file)

    return run


@pytest.fixture
def score(tmp_path):
    """Fine-tunes and tests as a job does, on symbols that are known; the options are fields of the preset."""

    def run(pretrained, tune, test, vocab_size, **options):
        windows = {
            name: stretches(stream, NANO.context + 1, NANO.context) for name, stream in (("tune", tune), ("test", test))
        }
        file = tmp_path / "tokens.safetensors"
        file.write_bytes(save({name: each.contiguous() for name, each in windows.items()}))
        settings = {name: {"num_context": 0, "ignored": None} for name in windows}
        tokens = Result(value={"vocab_size": vocab_size, "repeats": 1.0, "windows": settings}, arrays=file)
        sizes, context = replace(NANO, **options).part(XferBenchTuning), Context(scratch=tmp_path / "scratch")
        given = {"text": "known", "sizes": sizes, "weight_decay": 0.01, "seed": 0, "machine": MACHINE}
        found = tune_and_test(pretrained=pretrained, tokens=tokens, **given, context=context)
        assert found["test_tokens"] == len(windows["test"]) * NANO.context
        return found["cross_entropy"]

    return run


def test_one_token_costs_nothing_and_coins_cost_their_entropy(pretrained, score):
    initial = pretrained(None)
    same = np.zeros(1001)
    assert score(initial, same, same, 1, tune_lr=3e-3) == 0
    coins = np.random.default_rng(0).integers(2, size=4500)
    found = score(initial, coins[:3000], coins[3000:], 2, tune_lr=3e-3)
    assert found == pytest.approx(math.log(2), abs=0.01)


@pytest.mark.slow
def test_pretraining_on_a_languages_own_kind_helps(pretrained, score):
    """A target that repeats every token is easier for a model that has learnt to repeat."""
    rng = np.random.default_rng(0)
    doubled = np.repeat(rng.integers(40, size=4000), 2)
    corpus = Corpus([doubled.tolist()])
    other = np.repeat(rng.integers(40, size=2000), 2)
    initial = [pretrained(each, lr=3e-3, pretrain_tokens=8000, pretrain_epochs=8) for each in (corpus, None)]
    how = {"tune_lr": 3e-3, "tune_epochs": 4}
    helped, alone = (score(each, other[:2000], other[2000:], 40, **how) for each in initial)
    assert helped < alone - 0.1


@pytest.mark.slow
def test_dropout_is_a_function_of_the_seed_and_a_stopped_pretraining_goes_on(corpus, pretrained, tmp_path):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first = pretrained(corpus, dropout=0.1).arrays.read_bytes()
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads
    torch.rand(3)
    assert pretrained(corpus, dropout=0.1).arrays.read_bytes() == first
    assert pretrained(corpus).arrays.read_bytes() != first
    calls = itertools.count(1)
    scratch = tmp_path / "stopped"
    with pytest.raises(Stopped):
        pretrained(corpus, lambda: next(calls) == 9, scratch, dropout=0.1)
    assert (scratch / "training.safetensors").is_file()
    resumed = pretrained(corpus, lambda: next(calls) < 9, scratch, dropout=0.1)
    assert next(calls) == 9 + 16 - 9
    assert resumed.arrays.read_bytes() == pretrained(corpus, dropout=0.1).arrays.read_bytes()


def test_models_of_the_papers_size_have_a_fixed_number_of_threads(study_of, texts):
    jobs = plan(study_of(preset=FULL)).values()
    assert {job.inputs["machine"].num_threads for job in jobs} == {8}
    assert {job.resources.num_threads for job in jobs} == {8}
    assert {job.inputs["machine"].num_threads for job in plan(study_of()).values()} == {1}


FIGURES = {
    "strict": ("8cb73988a076884c", 167.05115, 5.3405506),
    "published-2024": ("ae79c8cddb87c0af", 167.58678, 5.3554055),
    "head-2024-12": ("8af26c947c3bdc60", 167.58678, 5.3531604),
}
"""By protocol: a hash of the tokens of a text, the sum of the squared weights after pretraining, the cross-entropy."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("protocol", FIGURES)
def test_tiny_jobs_have_the_figures_of_their_version(study_of, texts, tmp_path, protocol):
    """Other figures need another version, here and in `jobs.py`."""
    study = study_of(texts=texts[:1], preset=replace(NANO, dropout=0.1), protocol=protocol)
    pretraining, tuning = plan(study).values()
    results = Runner(folder=tmp_path).run([pretraining, tuning])
    tokens = (tmp_path / "results" / f"{tuning.inputs['tokens'].name}.safetensors").read_bytes()
    symbols = load(tokens)
    data = b"".join(symbols[name].numpy().tobytes() for name in ("tune", "test"))
    weights = load((tmp_path / "results" / f"{pretraining.name}.safetensors").read_bytes())
    sum_of_squares = sum(float((weight.double() ** 2).sum()) for weight in weights.values())
    assert {job.key["version"] for job in (pretraining, tuning, tuning.inputs["tokens"])} == {4}
    digest, squares, nats = FIGURES[protocol]
    found = (hashlib.sha256(data).hexdigest()[:16], sum_of_squares, results[tuning].value["cross_entropy"])
    assert found[0] == digest
    assert found[1:] == (pytest.approx(squares, rel=1e-5), pytest.approx(nats, rel=1e-4))


def windows_of(stream):
    return Windows(symbols=stretches(stream, NANO.context + 1, NANO.context))


def model_of(vocab_size):
    return LanguageModel(vocab_size, NANO, torch.Generator().manual_seed(0))


def test_the_learning_rate_falls_to_zero_and_the_mean_is_over_tokens_whatever_the_batch(monkeypatch):
    rates = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append((self.param_groups[0]["lr"], self.param_groups[0]["weight_decay"]))
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "AdamW", Spy)
    windows = windows_of(np.arange(10 * NANO.context + 1) % 5)
    options = {"num_epochs": 1, "batch": 1, "lr": 1.0, "weight_decay": 0.3}
    train(model_of(5), windows, **options, generator=torch.Generator())
    assert rates == [(pytest.approx(1 - step / 10), 0.3) for step in range(10)]
    model, stream = model_of(30), np.random.default_rng(0).integers(30, size=300)
    windows = Windows(symbols=stretches(stream, 17, 8), num_context=8)
    values = [cross_entropy(model, windows, batch) for batch in (1, 7, 1000)]
    assert {num for _, num in values} == {16 + 8 * (len(windows) - 1)}
    assert [value for value, _ in values] == pytest.approx([values[0][0]] * 3, rel=1e-5)


@pytest.fixture
def compiling(monkeypatch):
    """Models as narrow as ours are compiled, as if this processor were a GPU; returns what a compilation does."""
    monkeypatch.setattr(gpt2, "COMPILED_WIDTH", 1)
    monkeypatch.setattr(torch.random, "fork_rng", lambda **_: nullcontext())
    calls = []

    def compiled(fails):
        def call(function, *arguments):
            calls.append(fails)
            if fails:
                raise RuntimeError("no compiler\nis here")
            return function(*arguments)

        monkeypatch.setattr(torch, "compile", lambda function, dynamic: partial(call, function))
        return calls

    return compiled


@pytest.mark.parametrize("fails", [False, True])
def test_a_model_that_cannot_be_compiled_is_trained_as_it_is(compiling, fails):
    calls, model = compiling(fails), model_of(5)
    windows = windows_of(np.arange(5 * NANO.context + 1) % 5)
    losses = [lambda: model.loss(*windows.take(torch.arange(2)))] * 2
    before = model.loss(*windows.take(torch.arange(2))).item()
    reason = gpt2.compile_if_wide(model, 8, torch.device("cuda"), losses)
    assert reason == ("RuntimeError: no compiler is here" if fails else None)
    assert len(calls) == (1 if fails else 2)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model.loss(*windows.take(torch.arange(2))).item() == pytest.approx(before)
    assert len(calls) == (1 if fails else 3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with the results of the corpus for both texts."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def both(study_of, kept):
    """The result of the corpus for both texts; computed by the first test that asks."""
    return measure(study_of(), Runner(folder=kept))


@pytest.mark.slow
def test_texts_seeds_and_processes_do_not_disturb_each_other(study_of, texts, both, draw):
    alone = measure(study_of(texts=texts[1:]), Runner())
    assert alone.by_seed[0] == {"artificial-2": both.by_seed[0]["artificial-2"]}
    drawn = {seed: draw(seed) for seed in (0, 1)}
    result = measure(study_of(drawn, texts[:1], seeds=[0, 1]), Runner())
    assert result.by_seed[0] == {"artificial-1": both.by_seed[0]["artificial-1"]}
    same = plan(study_of(draw(0), texts[:1], seeds=[0, 1]))
    assert plan(study_of(drawn, texts[:1], seeds=[0, 1]))[1,] != same[1,]
    assert measure(study_of(), Runner(num_workers=2)) == both
