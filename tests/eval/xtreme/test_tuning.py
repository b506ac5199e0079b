"""Fine-tuning: a head learns labels from states, for rows of any length."""

import itertools
from dataclasses import replace

import pytest
import torch

from ecsuite.config import DivergedError
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.encoders import BACKBONES, initial_embedding
from ecsuite.eval.learning.training import Followed
from ecsuite.eval.xtreme import tuning as module
from ecsuite.eval.xtreme.heads import LabelHead, SpanHead
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.tuning import finetune, logits_of
from ecsuite.jobs.job import Stopped

NUM_SYMBOLS = 9
RULES = Tuning(lr=0.05, epochs=30, batch=4, context=48)
KINDS = pytest.mark.parametrize("kind", BACKBONES)


@pytest.fixture
def make(tiny):
    """Builds a backbone and a head."""

    def make(kind="decoder", dropout=0.0):
        backbone = BACKBONES[kind](replace(tiny, dropout=dropout), torch.Generator().manual_seed(0))
        backbone.set_embedding(
            torch.nn.functional.normalize(initial_embedding(NUM_SYMBOLS, tiny.width, generator()))
        )
        return backbone, LabelHead(backbone.width, 2, generator())

    return make


def generator():
    return torch.Generator().manual_seed(5)


def rows(lengths=(3, 7, 5, 4, 6, 3, 8, 5), targets=None):
    """Rows whose labels are the parity of symbols."""
    draw = torch.Generator().manual_seed(1)
    ids = [torch.randint(1, NUM_SYMBOLS, (length,), generator=draw).tolist() for length in lengths]
    if targets is None:
        targets = [[IGNORED, *(symbol % 2 for symbol in row[1:])] for row in ids]
    return Rows(ids=ids, targets=targets, padding=0)


def trained(
    backbone,
    head,
    given,
    rules=RULES,
    *,
    trains_backbone,
    parameters=None,
    **options,
):
    trained = [*head.parameters(), *(backbone.parameters() if trains_backbone else ())]
    finetune(
        backbone,
        head,
        given,
        rules,
        parameters or trained,
        trains_backbone=trains_backbone,
        generator=generator(),
        **options,
    )


def num_right(backbone, head, given):
    predicted = [logits.argmax(-1) for logits in logits_of(backbone, head, given)]
    return sum(
        int((row == torch.tensor(target)).sum()) for row, target in zip(predicted, given.targets, strict=True)
    )


@KINDS
def test_a_head_learns_from_frozen_states(make, kind):
    backbone, head = make(kind)
    given, before = rows(), {name: weight.clone() for name, weight in backbone.state_dict().items()}
    wanted = given.num_tokens - len(given)
    trained(backbone, head, given, trains_backbone=False)
    assert num_right(backbone, head, given) == wanted
    assert all(torch.equal(weight, before[name]) for name, weight in backbone.state_dict().items())
    assert all(weight.grad is None for weight in backbone.parameters())


@KINDS
def test_the_backbone_is_trained_with_the_head(make, kind):
    backbone, head = make(kind)
    before = {name: weight.clone() for name, weight in backbone.state_dict().items()}
    trained(backbone, head, rows(), replace(RULES, lr=0.01), trains_backbone=True)
    assert num_right(backbone, head, rows()) == rows().num_tokens - len(rows())
    assert not any(torch.equal(weight, before[name]) for name, weight in backbone.named_parameters())


def test_other_parameters_are_unchanged(make):
    backbone, head = make()
    before = backbone.embedding.weight.clone()
    kept = [*head.parameters(), *backbone.without_embedding().values()]
    trained(backbone, head, rows(), trains_backbone=True, parameters=kept)
    assert torch.equal(backbone.embedding.weight, before)


def test_the_same_seed_gives_the_same_weights(make):
    first, second = make(), make()
    for backbone, head in (first, second):
        trained(backbone, head, rows(), trains_backbone=True)
    assert torch.equal(first[1].linear.weight, second[1].linear.weight)
    assert torch.equal(first[0].embedding.weight, second[0].embedding.weight)


@pytest.mark.parametrize("trains_backbone", [True, False])
def test_a_resumed_training_ends_with_the_same_weights(make, tmp_path, trains_backbone):
    def run(checkpoint=None, stops_after=None):
        torch.manual_seed(0)
        (backbone, head), calls = make(dropout=0.2), itertools.count(1)
        trained(
            backbone,
            head,
            rows(),
            replace(RULES, epochs=4, batch=3),
            trains_backbone=trains_backbone,
            followed=Followed(checkpoint=checkpoint, should_stop=lambda: next(calls) == stops_after),
        )
        return torch.cat([each.detach().flatten() for each in (*backbone.parameters(), *head.parameters())])

    checkpoint = Checkpoint(file=tmp_path / "checkpoint")
    for _ in range(2):
        with pytest.raises(Stopped):
            run(checkpoint, stops_after=5)
    assert torch.equal(run(checkpoint), run())


def test_spans_are_learnt(make):
    """An answer begins at symbol 1 and ends at symbol 2."""
    backbone, _ = make("encoder")
    head = SpanHead(backbone.width, generator())
    ids = [[3, 1, 4, 2], [1, 2, 3, 5, 4], [4, 4, 3, 1, 2], [1, 5, 5, 2, 3, 3]]
    given = Rows(ids=ids, targets=[(row.index(1), row.index(2)) for row in ids], padding=0)
    trained(backbone, head, given, replace(RULES, epochs=100), trains_backbone=False)
    found = [tuple(logits.argmax(0).tolist()) for logits in logits_of(backbone, head, given)]
    assert found == given.targets


def test_logits_do_not_depend_on_the_batch(make, monkeypatch):
    monkeypatch.setattr(module, "TEST_BATCH", 3)
    backbone, head = make("encoder")
    given = rows()
    together = logits_of(backbone, head, given)
    assert [logits.shape for logits in together] == [(len(row), 2) for row in given.ids]
    for row, logits in zip(given.ids, together, strict=True):
        (alone,) = logits_of(backbone, head, Rows(ids=[row], targets=[row], padding=0))
        assert torch.allclose(logits, alone, atol=1e-5)
    assert not backbone.training and not together[0].requires_grad


def test_states_of_one_batch_are_kept_at_a_time(make, monkeypatch):
    """Test sets have thousands of rows, and states are far larger than logits."""
    monkeypatch.setattr(module, "TEST_BATCH", 3)
    backbone, head = make()
    num_waiting, most = 0, 0
    states, forward = backbone.states, head.forward

    def counted_states(ids, mask):
        nonlocal num_waiting, most
        num_waiting += len(ids)
        most = max(most, num_waiting)
        return states(ids, mask)

    def counted_forward(given):
        nonlocal num_waiting
        num_waiting -= 1
        return forward(given)

    monkeypatch.setattr(backbone, "states", counted_states)
    monkeypatch.setattr(head, "forward", counted_forward)
    assert len(logits_of(backbone, head, rows())) == len(rows())
    assert (num_waiting, most) == (0, 3)


def test_progress_is_reported(make):
    shares = []
    backbone, head = make()
    trained(
        backbone,
        head,
        rows(),
        replace(RULES, epochs=2, batch=3),
        trains_backbone=False,
        followed=Followed(report_progress=shares.append),
    )
    assert shares == pytest.approx([share / 6 for share in range(1, 7)])


def test_zero_epochs_change_nothing(make):
    backbone, head = make()
    before = head.linear.weight.clone()
    trained(backbone, head, rows(), replace(RULES, epochs=0), trains_backbone=True)
    assert torch.equal(head.linear.weight, before)


def test_a_warm_up_longer_than_the_training(make):
    backbone, head = make()
    before = head.linear.weight.clone()
    trained(backbone, head, rows(), replace(RULES, epochs=1, batch=8, warmup=500), trains_backbone=False)
    moved = (head.linear.weight - before).abs().max().item()
    assert 0 < moved < 2 * RULES.lr / 500


def test_a_loss_that_is_not_finite_is_an_error(make):
    backbone, head = make()
    with torch.no_grad():
        head.linear.bias.fill_(torch.inf)
    with pytest.raises(DivergedError, match=r"^the loss is nan at update 1, after 0% of the training$"):
        trained(backbone, head, rows(), trains_backbone=False)
