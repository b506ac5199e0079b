"""Language modelling: windows of texts, and trained parameters."""

import pytest
import torch

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding, text_windows, train_language_model
from ecsuite.eval.models.vocabulary import train_subwords

NUM_SYMBOLS = 12
KINDS = pytest.mark.parametrize("kind", BACKBONES)


@pytest.fixture
def make(tiny):
    def make(kind):
        backbone = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
        backbone.set_embedding(initial_embedding(NUM_SYMBOLS, tiny.width, torch.Generator().manual_seed(1)))
        return backbone

    return make


def trained(backbone, windows, parameters=None, num_epochs=1):
    train_language_model(
        backbone,
        windows,
        mask_symbol=NUM_SYMBOLS - 1,
        num_epochs=num_epochs,
        batch=4,
        lr=0.01,
        parameters=backbone.parameters() if parameters is None else parameters,
        generator=torch.Generator().manual_seed(2),
    )


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
    trained(backbone, torch.arange(128).view(8, 16) % NUM_SYMBOLS, parameters=backbone.embedding.parameters())
    after = weights(backbone)
    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    assert changed == {name}
