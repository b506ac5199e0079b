"""Sentence vectors of a backbone with known states, and retrieval with them."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn

from ecsuite.config import ConfigError
from ecsuite.eval.learning.encoders import BACKBONES, initial_embedding
from ecsuite.eval.learning.vocabulary import SubWords, train_subwords
from ecsuite.eval.xtreme import retrieval as module
from ecsuite.eval.xtreme.retrieval import EmbeddedBitext, embed, retrieve, run_retrieval
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.scoring import score_predictions
from ecsuite.eval.xtreme.splits import find_examples

CPU = torch.device("cpu")
FIRST, LAST, PADDING, UNKNOWN = 4, 5, 6, 7
SIZE = 8


class Spelling(nn.Module):
    """The state of a position is its sub-word, one-hot; noise in training mode."""

    context = 6

    def states(self, ids, mask):
        return nn.functional.dropout(torch.eye(SIZE)[ids], 0.9, self.training)


@pytest.fixture
def letters():
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "c": 2, "d": 3}, unk_token="d"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return SubWords(
        tokenizer=tokenizer,
        size=SIZE,
        first=(FIRST,),
        between=(LAST,),
        last=(LAST,),
        padding=PADDING,
        mask=UNKNOWN,
        unknown=UNKNOWN,
    )


def counts(*ids):
    return (np.bincount(ids, minlength=SIZE) / len(ids)).tolist()


def test_the_mean_excludes_padding(letters):
    vectors = embed(Spelling(), letters, ["a b", "c", "a a b c"], 3, CPU)
    assert vectors.dtype == np.float32
    wanted = [[FIRST, 0, 1, LAST], [FIRST, 2, LAST], [FIRST, 0, 0, 1, 2, LAST]]
    assert vectors == pytest.approx(np.array([counts(*ids) for ids in wanted]))


@pytest.mark.parametrize(("pooling", "symbol"), [("first", FIRST), ("last", LAST)])
def test_pooling_of_one_position(letters, pooling, symbol):
    vectors = embed(Spelling(), letters, ["a b", "c"], 2, CPU, pooling=pooling)
    assert vectors.tolist() == [counts(symbol)] * 2


def test_the_last_state_without_special_symbols(letters):
    bare = SubWords(
        tokenizer=letters.tokenizer,
        size=SIZE,
        first=(),
        between=(),
        last=(),
        padding=PADDING,
        mask=UNKNOWN,
        unknown=UNKNOWN,
    )
    vectors = embed(Spelling(), bare, ["a b", "c", ""], 3, CPU, pooling="last")
    assert vectors.tolist() == [counts(1), counts(2), counts(UNKNOWN)]


def test_long_sentences_are_cut_and_empty_ones_are_unknown(letters):
    vectors = embed(Spelling(), letters, ["a a a a b b b", ""], 1, CPU)
    assert vectors.tolist()[0] == pytest.approx(counts(FIRST, 0, 0, 0, 0, LAST))
    assert vectors.tolist()[1] == pytest.approx(counts(FIRST, UNKNOWN, LAST))
    (shorter,) = embed(Spelling(), letters, ["a a a a b b b"], 1, CPU, context=4).tolist()
    assert shorter == pytest.approx(counts(FIRST, 0, 0, LAST))
    (no_longer,) = embed(Spelling(), letters, ["a a a a b b b"], 1, CPU, context=99).tolist()
    assert no_longer == vectors.tolist()[0]


def test_batches_and_order_change_nothing(letters):
    sentences = ["a b c", "d", "a", "b b", "c d a b", "c"]
    whole = embed(Spelling(), letters, sentences, 6, CPU)
    for batch in (1, 4):
        assert embed(Spelling(), letters, sentences, batch, CPU) == pytest.approx(whole)
    assert embed(Spelling(), letters, sentences[::-1], 2, CPU)[::-1] == pytest.approx(whole)


def test_states_of_another_layer(letters):
    vectors = embed(Spelling(), letters, ["a"], 1, CPU, states=lambda ids, mask: ids[..., None])
    assert vectors.tolist() == [[(FIRST + 0 + LAST) / 3]]


def test_an_unknown_pooling_is_refused(letters):
    with pytest.raises(ConfigError, match="unknown pooling 'maen'; did you mean 'mean'"):
        embed(Spelling(), letters, ["a"], 1, CPU, pooling="maen")


def bitext(sources, targets, gold):
    return Bitext(
        source_ids=tuple(f"s{row}" for row in range(len(sources))),
        sources=tuple(sources),
        target_ids=tuple(f"t{row}" for row in range(len(targets))),
        targets=tuple(targets),
        gold=gold,
    )


def test_tatoeba_uses_the_nearest_neighbour(letters):
    """A translation has the same letters in another order."""
    gold = frozenset({("s0", "t2"), ("s1", "t0"), ("s2", "t1")})
    examples = bitext(["a b", "b c c", "d d a"], ["c b c", "d a d", "b a"], gold)
    sources, targets = (
        embed(Spelling(), letters, side, 2, CPU) for side in (examples.sources, examples.targets)
    )
    found = retrieve("tatoeba", EmbeddedBitext(bitext=examples, sources=sources, targets=targets))
    assert found == [2, 0, 1]
    assert score_predictions("tatoeba", "fi", found, examples) == {"accuracy": 100}


def embedded(cosines, gold):
    """Orthogonal sources, and targets at the given cosines to them."""
    number = len(cosines)
    sources = np.eye(2 * number, dtype=np.float32)[:number] + 0.01
    targets = np.zeros_like(sources)
    targets[:, :number] = np.diag(cosines)
    targets[:, number:] = np.diag(np.sqrt(1 - np.square(cosines)))
    examples = bitext([f"x{row}" for row in range(number)], [f"y{row}" for row in range(number)], gold)
    return EmbeddedBitext(bitext=examples, sources=sources, targets=targets + np.float32(0.01))


def test_bucc_uses_the_best_threshold_of_dev():
    cosines = [0.9, 0.8, 0.7, 0.3, 0.2]
    right = frozenset((f"s{row}", f"t{row}") for row in range(3))
    dev, test = embedded(cosines, right), embedded(cosines[::-1], None)
    assert retrieve("bucc2018", test, dev) == {("s4", "t4"), ("s3", "t3"), ("s2", "t2")}
    strict = embedded(cosines, frozenset({("s0", "t0")}))
    assert retrieve("bucc2018", test, strict) == {("s4", "t4")}
    assert score_predictions("bucc2018", "de", retrieve("bucc2018", dev, dev), dev.bitext)["f1"] == 100


def test_bucc_needs_a_dev_set_with_translations():
    test = embedded([0.9, 0.1], None)
    for dev in (None, test):
        with pytest.raises(ValueError, match="BUCC: expected a dev set with translations"):
            retrieve("bucc2018", test, dev)


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

    def recorded(*arguments, **options):
        used.append(options["pooling"])
        return embed(*arguments, **options)

    monkeypatch.setattr(module, "embed", recorded)
    found, prepared_languages = run(task, kind)
    assert prepared_languages == sides and used == [pooling] * len(sides)
    assert found["split"] == "test" and all(0 <= score <= 100 for score in found["metrics"].values())


@pytest.mark.parametrize("task", ["tatoeba", "bucc2018"])
def test_sentences_are_compared_on_the_device_of_the_backbone(run, monkeypatch, tiny, task):
    """Preparing a vocabulary moves the backbone, here to the device `meta`."""
    devices = []

    def embed(backbone, sub_words, sentences, batch, device, **options):
        devices.append(device.type)
        return torch.eye(len(sentences), tiny.width).numpy()

    monkeypatch.setattr(module, "embed", embed)
    run(task, device="meta")
    assert set(devices) == {"meta"}


def test_a_threshold_tuned_on_the_test_split_is_noted(run, write_data):
    found, _ = run("bucc2018", data=write_data("bucc2018", parts={"ru": ("dev",)}))
    assert found["split"] == "dev, its threshold from itself"
