"""Sentence vectors of a backbone with known states, and retrieval with them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from xtreme_data import FIRST, LAST, NUM_SUB_WORDS, UNKNOWN, find_examples, word_level

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme import transfer as module
from ecsuite.eval.xtreme.presets import XtremeTuning
from ecsuite.eval.xtreme.scoring.task import Bitext
from ecsuite.eval.xtreme.transfer import embed, run_retrieval

SENTENCES = ("a b c", "d", "a", "b b", "c d a b", "c")


class Spelling(nn.Module):
    """The state of a position is its sub-word, one-hot; noise in training mode."""

    context = 6
    embedding = nn.Embedding(1, 1)
    is_bidirectional = True

    def retrieval_states(self, ids, mask):
        return nn.functional.dropout(torch.eye(NUM_SUB_WORDS)[ids], 0.9, self.training)


def vectors(*sentences, pooling="mean", batch=2, context=99, special=True):
    letters = word_level("abcd")
    sub_words = letters if special else replace(letters, first=(), last=())
    tuning = XtremeTuning(lr=0, epochs=0, batch=batch, context=context)
    return embed(Spelling(), sub_words, sentences, tuning, pooling)


def counts(*ids):
    return np.bincount(ids, minlength=NUM_SUB_WORDS) / len(ids)


@pytest.mark.parametrize(
    ("sentences", "options", "wanted"),
    [
        # The mean excludes padding.
        (("a b", "c", "a a b c"), {}, [(FIRST, 0, 1, LAST), (FIRST, 2, LAST), (FIRST, 0, 0, 1, 2, LAST)]),
        (("a b", "c"), {"pooling": "first"}, [(FIRST,), (FIRST,)]),
        (("a b", "c"), {"pooling": "last"}, [(LAST,), (LAST,)]),
        (("a b", "c", ""), {"pooling": "last", "special": False}, [(1,), (2,), (UNKNOWN,)]),
        # Long sentences are cut to the context of the backbone, or to a shorter one; an empty one is unknown.
        (("a a a a b b b", ""), {}, [(FIRST, 0, 0, 0, 0, LAST), (FIRST, UNKNOWN, LAST)]),
        (("a a a a b b b",), {"context": 4}, [(FIRST, 0, 0, LAST)]),
    ],
)
def test_vectors_of_sentences(sentences, options, wanted):
    found = vectors(*sentences, **options)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array([counts(*ids) for ids in wanted]))


@pytest.mark.parametrize("batch", [1, 4])
def test_batches_and_order_change_nothing(batch):
    whole = vectors(*SENTENCES, batch=6)
    assert vectors(*SENTENCES, batch=batch) == pytest.approx(whole)
    assert vectors(*SENTENCES[::-1], batch=batch)[::-1] == pytest.approx(whole)


def bitext(sources, targets, gold):
    return Bitext(
        source_ids=tuple(f"s{row}" for row in range(len(sources))),
        sources=tuple(sources),
        target_ids=tuple(f"t{row}" for row in range(len(targets))),
        targets=tuple(targets),
        gold=gold,
    )


def retrieve(task, test, dev=None):
    """Runs retrieval on bitexts with the spelling of words."""

    def example_set(bitext):
        return SimpleNamespace(task=task, language="de", read=lambda: ("test", bitext))

    threshold = None if dev is None else example_set(dev)
    tuning = XtremeTuning(lr=0, epochs=0, batch=3, context=99)
    return run_retrieval(Spelling(), lambda _: word_level("abcd"), tuning, example_set(test), threshold)


def test_tatoeba_uses_the_nearest_neighbour():
    """A translation has the same letters in another order."""
    gold = frozenset({("s0", "t2"), ("s1", "t0"), ("s2", "t1")})
    found = retrieve("tatoeba", bitext(["a b", "b c c", "d d a"], ["c b c", "d a d", "b a"], gold))
    assert found == {"split": "test", "metrics": {"accuracy": 100}, "predictions": [2, 0, 1]}


def test_bucc_uses_the_best_threshold_of_dev(monkeypatch):
    """Orthogonal sources, and targets at these cosines to them."""
    cosines = [0.9, 0.8, 0.7, 0.3, 0.2]
    number = len(cosines)
    sides = np.eye(2 * number, dtype=np.float32)[:number] + 0.01, np.zeros((number, 2 * number), np.float32)
    sides[1][:, :number] = np.diag(cosines)
    sides[1][:, number:] = np.diag(np.sqrt(1 - np.square(cosines)))
    sides[1][...] += np.float32(0.01)
    monkeypatch.setattr(
        module, "embed", lambda backbone, sub_words, sentences, *_: sides[sentences[0][0] == "y"]
    )

    def cosine_bitext(num_right):
        gold = frozenset((f"s{row}", f"t{row}") for row in range(num_right))
        return bitext([f"x{row}" for row in range(number)], [f"y{row}" for row in range(number)], gold)

    three, one = cosine_bitext(3), cosine_bitext(1)
    assert retrieve("bucc2018", three, three)["metrics"]["f1"] == 100
    # The strict threshold finds one of three pairs, the loose one three of which one is right.
    assert retrieve("bucc2018", three, one)["metrics"]["recall"] == pytest.approx(100 / 3)
    assert retrieve("bucc2018", one, three)["metrics"]["precision"] == pytest.approx(100 / 3)


@pytest.fixture
def run(tiny, tiny_preset, write_data):
    """Compares sentences with an untrained backbone; returns what was found and the prepared languages."""

    def run(task, kind="decoder", data=None, device="cpu"):
        sub_words = train_subwords(["enla deal rula " * 9], 280)
        backbone = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
        backbone.set_embedding(
            initial_embedding(sub_words.size, tiny.width, torch.Generator().manual_seed(1))
        )
        prepared_languages, data = [], data or write_data(task)

        def load_vocabulary(language):
            prepared_languages.append(language)
            backbone.to(device)
            return sub_words

        test, threshold = (
            find_examples(data, task, "ru", part, is_zero_shot=True) if has else None
            for part, has in (("test", True), ("dev", task == "bucc2018"))
        )
        found = run_retrieval(backbone, load_vocabulary, tiny_preset.tuning["retrieval"], test, threshold)
        return found, prepared_languages

    return run


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("task", "kind", "pooling", "sides"),
    [
        ("tatoeba", "decoder", "mean", ["en", "ru"]),
        ("tatoeba", "encoder", "mean", ["en", "ru"]),
        ("bucc2018", "encoder", "first", ["ru", "en", "ru", "en"]),
        # The first state of a decoder does not depend on the sentence.
        ("bucc2018", "decoder", "last", ["ru", "en", "ru", "en"]),
    ],
)
def test_how_sentences_are_compared(run, monkeypatch, task, kind, pooling, sides):
    used = []

    def recorded(*arguments):
        used.append(arguments[-1])
        return embed(*arguments)

    monkeypatch.setattr(module, "embed", recorded)
    found, prepared_languages = run(task, kind)
    assert prepared_languages == sides and used == [pooling] * len(sides)
    assert found["split"] == "test" and all(0 <= score <= 100 for score in found["metrics"].values())


@pytest.mark.parametrize("task", ["tatoeba", "bucc2018"])
def test_sentences_are_compared_on_the_device_of_the_backbone(run, monkeypatch, tiny, task):
    """Preparing a vocabulary moves the backbone, here to the device `meta`."""
    devices = []

    def embed(backbone, sub_words, sentences, *_):
        devices.append(backbone.embedding.weight.device.type)
        return torch.eye(len(sentences), tiny.width).numpy()

    monkeypatch.setattr(module, "embed", embed)
    run(task, device="meta")
    assert set(devices) == {"meta"}


def test_a_threshold_tuned_on_the_test_split_is_noted(run, write_data):
    found, _ = run("bucc2018", data=write_data("bucc2018", parts={"ru": ("dev",)}))
    assert found["split"] == "dev, its threshold from itself"
