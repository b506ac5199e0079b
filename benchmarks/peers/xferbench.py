"""XferBench's program (Boldt and Mortensen 2024): tests on text for tuning, and an end of text that is not trained.

The rules of its two versions are the protocols `published-2024` and `head-2024-12`, whose data are compared with those
of `strict`, at the sizes of the preset `mini`, on one of the embedded languages and with one pretrained model.
"""

from collections.abc import Iterator
from dataclasses import replace
from statistics import mean, stdev

import torch

from ecsuite.benchmarks.peers.rows import Programs, Row
from ecsuite.eval.models.data import Target, Windows
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.xferbench.jobs import cross_entropy, train
from ecsuite.eval.xferbench.presets import PRESETS, PROTOCOLS, TextSizes
from ecsuite.eval.xferbench.texts import choose_texts

PRESET = PRESETS["mini"]
NUM_SEEDS = 3


def rows(programs: Programs) -> Iterator[Row]:
    """Share of test windows in the data for tuning; cross-entropy with and without them, and without the end symbol."""
    text = choose_texts(None, PRESET)[0]
    targets = {name: rules.target(text, PRESET.part(TextSizes)) for name, rules in PROTOCOLS.items()}
    leaky, clean = targets["head-2024-12"], targets["published-2024"]
    for name, target in targets.items():
        yield _row(
            "test documents are in the data for tuning",
            f"{text.name}, {name}: share of test tokens in runs of 8 that were tuned on",
            _shared(target), _shared(targets["strict"]),
        )  # fmt: skip
    scores = {"leaky": [], "clean": [], "ends ignored": []}  # type: ignore[var-annotated]
    end = PRESET.vocab_size - 1
    for seed in range(1, NUM_SEEDS + 1):
        for name, tune in (("leaky", leaky.tune), ("clean", _without(clean.tune, leaky.test))):
            model = _tuned(tune, clean.vocab_size, seed)
            scores[name].append(cross_entropy(model, leaky.test, PRESET.batch)[0])
        without_ends = replace(leaky.test, ignored=end)
        scores["ends ignored"].append(cross_entropy(model, without_ends, PRESET.batch)[0])
    measured = f"{text.name}, no pretraining, {NUM_SEEDS} seeds: nats per token"
    yield _row(
        "test documents are in the data for tuning",
        measured,
        _spread(scores["leaky"]),
        _spread(scores["clean"]),
    )
    yield _row(
        "an end of text that is never trained is scored",
        measured,
        _spread(scores["clean"]),
        _spread(scores["ends ignored"]),
    )


def _tuned(windows: Windows, vocab_size: int, seed: int) -> LanguageModel:
    """New model, fine-tuned on windows with the preset's number of tokens."""
    generator = torch.Generator().manual_seed(seed)
    model = LanguageModel(vocab_size, PRESET, generator)
    train(
        model, windows, num_epochs=PRESET.tune_epochs, batch=PRESET.batch, lr=PRESET.tune_lr, weight_decay=0.0,
        generator=generator,
    )  # fmt: skip
    return model


def _runs(windows: Windows, length: int = 8) -> set[tuple[int, ...]]:
    stream = [row[:-1].tolist() for row in windows.symbols]
    return {tuple(row[place : place + length]) for row in stream for place in range(len(row) - length + 1)}


def _shared(target: Target, length: int = 8) -> float:
    """The share of test tokens that are in a run of 8 which is also in the data for tuning."""
    known, inside, total = _runs(target.tune, length), 0, 0
    for row in target.test.symbols[:, :-1].tolist():
        is_in = [False] * len(row)
        for place in range(len(row) - length + 1):
            if tuple(row[place : place + length]) in known:
                is_in[place : place + length] = [True] * length
        inside, total = inside + sum(is_in), total + len(row)
    return inside / total


def _without(tune: Windows, test: Windows) -> Windows:
    """The windows that share no run of 8 tokens with the test."""
    known = _runs(test)
    kept = [not (_runs(replace(tune, symbols=row[None])) & known) for row in tune.symbols]
    return replace(tune, symbols=tune.symbols[torch.tensor(kept)])


def _spread(values: list[float]) -> str:
    return f"{mean(values):.3f} (sd {stdev(values):.3f})"


def _row(defect: str, measured: str, theirs: float | str, right: float | str) -> Row:
    return Row(
        program="XferBench", defect=defect, measured=measured, theirs=theirs, right=right, is_run=False
    )
