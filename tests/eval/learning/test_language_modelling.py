"""Learning to guess: the learning rate, windows of texts, and what changes."""

import pytest
import torch

from ecsuite.eval.learning.encoders import BACKBONES, new_embedding
from ecsuite.eval.learning.language_modelling import learn, schedule, text_windows
from ecsuite.eval.learning.vocabulary import learn_subwords

NUM_SYMBOLS = 12
KINDS = pytest.mark.parametrize("kind", BACKBONES)


@pytest.fixture
def make(tiny):
    def make(kind):
        body = BACKBONES[kind](tiny, torch.Generator().manual_seed(0))
        body.embed(new_embedding(NUM_SYMBOLS, tiny.width, torch.Generator().manual_seed(1)))
        return body

    return make


def trained(
    body, windows, parameters=None, num_epochs=1, lr=0.01, batch=4, report_progress=lambda share: None
):
    learn(
        body,
        windows,
        mask_symbol=NUM_SYMBOLS - 1,
        num_epochs=num_epochs,
        batch=batch,
        lr=lr,
        parameters=body.parameters() if parameters is None else parameters,
        generator=torch.Generator().manual_seed(2),
        report_progress=report_progress,
    )
    return body


def counting(num_windows, length=16):
    """Each symbol is followed by the next."""
    return (torch.arange(length)[None] + torch.arange(num_windows)[:, None]) % (NUM_SYMBOLS - 1)


def weights(body):
    return {name: weight.clone() for name, weight in body.state_dict().items()}


@pytest.mark.parametrize(
    ("num_updates", "warmup", "wanted"),
    [
        (4, 0, [1, 0.75, 0.5, 0.25]),
        (6, 2, [0.5, 1, 1, 0.75, 0.5, 0.25]),
        (1, 0, [1]),
        # More updates of warming up than there are at all.
        (2, 4, [0.25, 0.5]),
    ],
)
def test_the_learning_rate_rises_and_falls(num_updates, warmup, wanted):
    assert [schedule(update, num_updates, warmup) for update in range(num_updates)] == wanted


def test_each_text_gives_as_many_subwords():
    sub_words = learn_subwords(["aaaa bbbb"], 256)  # bytes
    long, short = ["a" * 99] * 3, ["b" * 9]
    windows, repeats = text_windows(sub_words, [long, short], 125, 20)
    # 120 sub-words of each: of 300 with the ends of lines the first 120, and 10 of them 12 times.
    assert windows.shape == (12, 20)
    a, b, end = (sub_words.tokenizer.token_to_id(letter) for letter in ("a", "b", "Ċ"))
    assert windows[:6].flatten().tolist() == [a] * 99 + [end] + [a] * 20
    assert windows[6:].flatten().tolist() == ([b] * 9 + [end]) * 12
    assert repeats == [pytest.approx(120 / 200), pytest.approx(12)]


def test_there_is_one_window_at_least():
    windows, repeats = text_windows(learn_subwords(["a"], 256), [["a" * 4]], 3, 20)
    assert windows.shape == (1, 20) and repeats == [4]


@KINDS
def test_the_loss_falls_on_what_is_easy_to_guess(make, kind):
    body = make(kind)
    windows = torch.tensor([[3, 4] * 8] * 32)

    def loss():
        with torch.no_grad():
            return body.eval().loss(windows, NUM_SYMBOLS - 1, torch.Generator().manual_seed(3)).item()

    before = loss()
    trained(body, windows, num_epochs=5)
    assert loss() < 0.5 * before


@KINDS
def test_what_is_not_tuned_stays_as_it_is(make, kind):
    body = make(kind)
    before, embedding = weights(body), body.embedding.weight
    name = next(name for name, weight in body.named_parameters() if weight is embedding)
    trained(body, counting(8), parameters=body.embedding.parameters())
    after = weights(body)
    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}
    assert changed == {name}


@KINDS
def test_the_same_seed_learns_the_same(make, kind):
    first, second = (weights(trained(make(kind), counting(10))) for _ in range(2))
    assert all(torch.equal(weight, second[name]) for name, weight in first.items())


def test_the_share_that_is_done_is_told(make):
    told = []
    trained(make("decoder"), counting(9), num_epochs=2, report_progress=told.append)
    # Three updates an epoch, the last of one window.
    assert told == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_a_loss_that_is_not_finite_is_an_error(make):
    body = make("decoder")
    with torch.no_grad():
        body.embedding.weight[3] = torch.nan
    with pytest.raises(ArithmeticError, match=r"^the loss is nan at update 1 of 2$"):
        trained(body, counting(8))
