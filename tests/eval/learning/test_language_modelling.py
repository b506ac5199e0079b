"""Language modelling: windows of texts, and trained parameters."""

import itertools
from dataclasses import replace

import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.encoders import BACKBONES, initial_embedding
from ecsuite.eval.learning.language_modelling import text_windows, train_language_model
from ecsuite.eval.learning.training import Followed
from ecsuite.eval.learning.vocabulary import train_subwords
from ecsuite.jobs.job import Stopped

NUM_SYMBOLS = 12
KINDS = pytest.mark.parametrize("kind", BACKBONES)


@pytest.fixture
def make(tiny):
    def make(kind):
        backbone = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
        backbone.set_embedding(initial_embedding(NUM_SYMBOLS, tiny.width, torch.Generator().manual_seed(1)))
        return backbone

    return make


def trained(
    backbone,
    windows,
    parameters=None,
    num_epochs=1,
    lr=0.01,
    batch=4,
    **options,
):
    train_language_model(
        backbone,
        windows,
        mask_symbol=NUM_SYMBOLS - 1,
        num_epochs=num_epochs,
        batch=batch,
        lr=lr,
        parameters=backbone.parameters() if parameters is None else parameters,
        generator=torch.Generator().manual_seed(2),
        **options,
    )
    return backbone


def counting(num_windows, length=16):
    """Each symbol is followed by the next."""
    return (torch.arange(length)[None] + torch.arange(num_windows)[:, None]) % (NUM_SYMBOLS - 1)


def weights(backbone):
    return {name: weight.clone() for name, weight in backbone.state_dict().items()}


def test_each_text_gives_the_same_number_of_subwords():
    sub_words = train_subwords(["aaaa bbbb"], 256)  # bytes
    long, short = ["a" * 99] * 3, ["b" * 9]
    windows, repeats = text_windows(sub_words, [long, short], 125, 20)
    # 120 sub-words each: the first 120 of 300 (with line ends), and 10 sub-words 12 times.
    assert windows.shape == (12, 20)
    a, b, end = (sub_words.tokenizer.token_to_id(letter) for letter in ("a", "b", "Ċ"))
    assert windows[:6].flatten().tolist() == [a] * 99 + [end] + [a] * 20
    assert windows[6:].flatten().tolist() == ([b] * 9 + [end]) * 12
    assert repeats == [pytest.approx(120 / 200), pytest.approx(12)]


def test_at_least_one_window():
    windows, repeats = text_windows(train_subwords(["a"], 256), [["a" * 4]], 3, 20)
    assert windows.shape == (1, 20) and repeats == [4]


@KINDS
def test_the_loss_falls_on_predictable_symbols(make, kind):
    backbone = make(kind)
    windows = torch.tensor([[3, 4] * 8] * 32)

    def loss():
        with torch.no_grad():
            return backbone.eval().loss(windows, NUM_SYMBOLS - 1, torch.Generator().manual_seed(3)).item()

    before = loss()
    trained(backbone, windows, num_epochs=5)
    assert loss() < 0.5 * before


@KINDS
def test_other_parameters_are_frozen(make, kind):
    backbone = make(kind)
    before, embedding = weights(backbone), backbone.embedding.weight
    name = next(name for name, weight in backbone.named_parameters() if weight is embedding)
    trained(backbone, counting(8), parameters=backbone.embedding.parameters())
    after = weights(backbone)
    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    assert changed == {name}


@KINDS
def test_the_same_seed_gives_the_same_weights(make, kind):
    first, second = (weights(trained(make(kind), counting(10))) for _ in range(2))
    assert all(torch.equal(weight, second[name]) for name, weight in first.items())


@KINDS
def test_a_resumed_training_ends_with_the_same_weights(tiny, kind, tmp_path):
    """Masks are drawn from the generator of the order, between the epochs."""

    def run(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        calls = itertools.count(1)
        backbone = BACKBONES[kind](replace(tiny, dropout=0.2), torch.Generator().manual_seed(0))
        backbone.set_embedding(initial_embedding(NUM_SYMBOLS, tiny.width, torch.Generator().manual_seed(1)))
        trained(
            backbone,
            counting(10),
            num_epochs=3,
            followed=Followed(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after),
        )
        return weights(backbone)

    checkpoint = Checkpoint(file=tmp_path / "checkpoint")
    for _ in range(2):
        with pytest.raises(Stopped):
            run(checkpoint, stops_after=4)
    plain = run()
    assert all(torch.equal(weight, plain[name]) for name, weight in run(checkpoint).items())


def test_progress_is_reported(make):
    shares = []
    trained(make("decoder"), counting(9), num_epochs=2, followed=Followed(report_progress=shares.append))
    # Three updates an epoch, the last of one window.
    assert shares == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_a_loss_that_is_not_finite_is_an_error(make):
    backbone = make("decoder")
    with torch.no_grad():
        backbone.embedding.weight[3] = torch.nan
    with pytest.raises(DivergedError, match=r"^the loss is nan at update 1, after 0% of the training$"):
        trained(backbone, counting(8))
