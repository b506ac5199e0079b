"""Tasks: losses, measures, candidates, views and gradients of games against manual computations."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity, cross_entropy

from ecsuite.agents.message import Message
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.plays.population import make_population
from ecsuite.games.tasks.tasks import Concept, Discrimination, InBatch, Reconstruction, Truth
from ecsuite.games.tasks.views import shifted
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def task_of(kind, state_size=6, num_values=None, num_distractors=2, **options):
    world = SimpleNamespace(num_values=num_values, num_distractors=num_distractors)
    return kind(kind.Options(**options), world=world, state_size=state_size)


def truth(labels, values=None):
    return Truth(labels=torch.as_tensor(labels), values=values)


SCORES = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)


def test_discrimination_by_hand():
    output = task_of(Discrimination)(SCORES, truth([[1, 0, 0], [0, 1, 0]]))
    first = -2 + math.log(sum(math.exp(score) for score in (2, -1, 0.5)))
    second = -1 + math.log(sum(math.exp(score) for score in (3, 1, -0.1)))
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == [1, 0]


def test_concept_by_hand():
    task = task_of(Concept, num_targets=2, num_distractors=1)
    output = task(SCORES, truth([[True, False, False], [True, True, False]]))
    p = [1 / (1 + math.exp(-score)) for score in (2, -1, 0.5, 3, 1, -0.1)]
    first = -(math.log(p[0]) + math.log(1 - p[1]) + math.log(1 - p[2])) / 3
    second = -(math.log(p[3]) + math.log(p[4]) + math.log(1 - p[5])) / 3
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == pytest.approx([2 / 3, 1])
    assert output.measures["set_accuracy"][0].tolist() == [0, 1]


def test_reconstruction_by_hand():
    """Predicted are (0, 1) and (2, 0); then a value that the first of two attributes does not have."""
    states = torch.tensor([[[5.0, 0, 0, 0, 5, 0], [0, 0, 5, 5, 0, 0]]])
    right, wrong = math.log(math.exp(5) + 2) - 5, math.log(math.exp(5) + 2)
    lacking = (math.log(math.e + 1) - 1 + math.log(2 + math.exp(2)) - 2) / 2
    for num_values, seen, values, losses, shares in (
        ((3, 3), states, [[0, 1], [2, 2]], [right, (right + wrong) / 2], [1, 0.5]),
        ((2, 3), torch.tensor([[[1.0, 0, 9, 0, 0, 2]]]), [[0, 2]], [lacking], [1]),
    ):
        task = task_of(Reconstruction, num_values=num_values)
        with torch.no_grad():
            task.decode.weight.copy_(torch.eye(6))
            task.decode.bias.zero_()
        output = task(seen, truth(torch.ones(len(values), 1) > 0, torch.tensor(values)))
        assert output.loss[0].tolist() == pytest.approx(losses, rel=1e-5)
        assert output.measures["attribute_accuracy"][0].tolist() == shares
        assert output.measures["accuracy"][0].tolist() == [int(share) for share in shares]


def test_choices_are_what_the_loss_is_of():
    """The most likely ones are those that count as right; of a temperature, the loss is the divided scores'."""
    scores = torch.tensor([[[9.0, 9.0, 9.0]], [[2.0, -1.0, 0.5]]])
    likely = task_of(Concept, num_targets=2, num_distractors=1).choices(scores).softmax(-1)
    torch.testing.assert_close(likely, torch.stack([1 - scores[-1].sigmoid(), scores[-1].sigmoid()], -1))
    task = task_of(InBatch, loss_temperature=0.25)
    for target in range(3):
        loss = task(scores, truth(torch.arange(3)[None] == target)).loss[-1]
        torch.testing.assert_close(loss, -task.choices(scores).log_softmax(-1)[:, target])
    torch.testing.assert_close(task.choices(scores), scores[-1] / 0.25)


def make(*settings, game="disc_tiny"):
    experiment = load_experiment(game, settings)
    torch.manual_seed(0)
    world = make_world(experiment)
    return make_pair(experiment, world), world


BATCH = ("training.batch_size=64", "evaluation.num_valid=100", "training.precision=fp32")
IN_BATCH = ("task.kind=in_batch", *BATCH)


def test_in_batch_is_softmax_over_cosines_with_all_objects_of_the_batch():
    game, world = make(*IN_BATCH, "task.loss_temperature=0.5", "evaluation.batch_size=60")
    batch = world.batch("train", 0)
    objects = np.unique(batch.objects[batch.shown[:, 0]], axis=0)
    assert np.array_equal(np.unique(batch.objects[batch.candidates][0], axis=0), objects)
    candidates, target = game.round_parts(batch)
    states = torch.randn(1, 64, 64)
    scores = game.listener.scores(states, candidates, None)
    vectors = game.listener.perception(candidates.features)
    cosines = cosine_similarity(states[0][:, None], vectors[None], dim=-1)
    assert torch.allclose(scores[0], cosines, atol=1e-6)
    expected = cross_entropy(cosines / 0.5, target.labels.int().argmax(1))
    assert torch.allclose(game.task(scores, target).loss.mean(), expected, atol=1e-6)
    numbers = [world.batch("valid", number).labels.shape for number in (0, 1)]
    level = sum(rounds / candidates for rounds, candidates in numbers) / 100
    assert game.task.chance() == {"accuracy": pytest.approx(level)} and level > 1 / 17
    game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0)).objective.backward()
    assert all(parameter.grad is not None for parameter in game.parameters())


def test_rounds_have_different_numbers_of_candidates():
    game, world = make("task.fewest_distractors=1", *BATCH)
    batch = world.batch("train", 3)
    numbers = np.bincount(batch.present.sum(1), minlength=5)
    assert numbers[:2].sum() == 0 and (numbers[2:] > 8).all() and batch.present[batch.labels].all()
    candidates, target = game.round_parts(batch)
    scores = game.listener.scores(torch.randn(1, 64, 64), candidates, None)[0]
    assert torch.equal(scores.isinf(), torch.from_numpy(~batch.present))
    assert game.task(scores[None], target).loss.isfinite().all()
    assert game.task.chance()["accuracy"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3, abs=0.02)
    game.play(batch, "train", torch.Generator().manual_seed(0)).objective.backward()
    assert all(parameter.grad.isfinite().all() for parameter in game.parameters())


def test_absent_candidates_stay_out_of_batch_normalisation(image_folder):
    """Other pixels of images that no agent sees change neither the objective nor the running statistics."""
    conv = [f"{role}.perception.kind=conv" for role in ("sender", "receiver")]
    sizes = ("world.size=16", "training.batch_size=4", "training.precision=fp32")
    images = ("world.kind=images", f"world.objects={image_folder}", "task.fewest_distractors=1", *sizes, *conv)
    found = []
    for is_changed in (False, True):
        game, world = make(*images, game="images")
        batch = world.batch("train", 0)
        candidates = batch.candidate_indices()
        absent = np.setdiff1d(candidates, np.append(candidates[batch.present], batch.shown))
        assert len(absent)
        if is_changed:
            batch.objects[absent] = 255 - batch.objects[absent]
        played = game.play(batch, "train", torch.Generator().manual_seed(0))
        found.append([played.objective.detach(), *game.buffers()])
    for before, after in zip(*found, strict=True):
        assert torch.equal(before, after)


OWN_PERCEPTION = """from ecsuite.agents.perception import LinearPerception

class Mine(LinearPerception):
    def forward(self, objects):
        vectors = super().forward(objects)
        return vectors - vectors.mean(0)
"""


def test_own_perceptions_get_each_object_once(tmp_path):
    """They may depend on the other objects of a batch; also if the receiver uses the sender's perception."""
    file = tmp_path / "mine.py"
    file.write_text(OWN_PERCEPTION)
    own, plain = f"{file}:Mine,size=12", "linear,size=12"
    for receivers, *more in ((own,), (plain, "society.agents=2", "society.shares=perception")):
        settings = (f"sender.perception={own}", f"receiver.perception={receivers}", *more)
        world = make_world(experiment := load_experiment("digits", [*settings, "training.batch_size=50"]))
        pair, batch = make_population(experiment, world).first_pair, world.batch("train", 0)
        rounds, numbers = pair.rounds(batch), (np.unique(batch.shown), np.unique(batch.candidates))
        assert len(rounds.shown.features) == len(numbers[0])
        assert len(rounds.candidates.features) == len(numbers[1])
        assert len(numbers[1]) % 16


def test_autoencoding_by_hand():
    """The loss is the squared error; right is where the right object is nearest."""
    small = ("training.batch_size=4", "sender.hidden_size=8", "receiver.hidden_size=8", "task.hidden_size=0")
    (game, _), targets = make(*small, game="autoencoder"), torch.eye(64)[:3]
    game.task.rebuild = torch.nn.Identity()
    rebuilt = torch.stack([targets[0], targets[2], targets[2] * 0.5])[None]
    output = game.task(rebuilt, Truth(labels=torch.ones(3, 1), values=None, features=targets))
    torch.testing.assert_close(output.loss, torch.tensor([[0.0, 2 / 64, 0.25 / 64]]))
    assert output.measures["accuracy"].tolist() == [[1.0, 0.0, 1.0]]
    assert game.task.chance()["accuracy"] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("task", ["discrimination", "reconstruction"])
def test_measures_are_expectations_over_the_end(task):
    game, world = make(f"task.kind={task}", "loss.length_cost=0.1", "training.batch_size=32")
    batch = world.batch("train", 0)
    played = game.play(batch, "train", torch.Generator().manual_seed(1))
    answer, ends = game.listener.network(played.message, torch.float32)
    candidates, target = game.round_parts(batch)
    if task == "discrimination":
        answer = game.listener.scores(answer, candidates, None)
    output = game.task(answer, target)
    losses = (ends * output.loss).sum(0)
    torch.testing.assert_close(played.measures["loss"], losses.mean())
    torch.testing.assert_close(played.objective, (losses + 0.1 * played.message.length).mean())
    for name, values in output.measures.items():
        torch.testing.assert_close(played.measures[name], (ends * values).sum(0).mean())
    torch.testing.assert_close(played.measures["cost"], 0.1 * played.message.length.mean())
    assert set(played.measures) == {"loss", "cost", "length", *game.task.chance()}


def test_symbols_after_the_end_are_ignored():
    """Two batches whose messages are equal up to EOS give equal states."""
    game, _ = make()
    short, length = torch.tensor([[2, 3], [0, 1], [-1, 0], [-1, -1]]), torch.tensor([2.0, 3.0])
    garbage = torch.tensor([[2, 3], [0, 1], [4, 0], [5, 3]])
    messages = (Message(symbols=ids, ends=None, length=length) for ids in (short, garbage))
    torch.testing.assert_close(*(game.listener.network(each, torch.float32)[0] for each in messages))


def test_images_with_too_many_pixels_are_refused(image_folder):
    images = ("world.kind=images", f"world.objects={image_folder}", "world.size=128")
    with pytest.raises(ConfigError, match="at most 16,384 features or pixel values, got 49,152"):
        make(*images, "sender.perception=conv", game="autoencoder")


def test_shifted_images_come_in_at_the_other_side():
    images = torch.zeros(3, 6, 6, 3)
    images[:, 0, 1] = 1.0
    moved = shifted(images, torch.tensor([[0.5, 0.99, 0.0], [0.5, 0.5, 0.99]]), 2)
    assert [each[..., 0].nonzero().tolist() for each in moved] == [[[0, 1]], [[2, 1]], [[4, 3]]]


@pytest.mark.parametrize("option", ["noise=0.5", "brightness=0.5"])
def test_objects_are_perturbed_in_training_only_and_for_each_agent_anew(option):
    both = [f"{role}.perception.{option}" for role in ("sender", "receiver")]
    game, world = make("training.batch_size=4", *both, game="digits")
    view = game.rounds(world.batch("train", 0)).shown
    drawn = ((game.speaker, 0), (game.speaker, 0), (game.listener, 1))
    seen = [each.perturbation(view.features, torch.Generator().manual_seed(seed)) for each, seed in drawn]
    assert torch.equal(seen[0], seen[1]) and not torch.equal(seen[0], seen[2])
    assert not torch.equal(seen[0], view.features) and seen[0].shape == view.features.shape
    if option.startswith("brightness"):
        is_lit = view.features > 0
        factors = (seen[0] / view.features)[is_lit]
        assert 0.5 <= factors.min() < 0.9 < factors.max() <= 1.5
    game.eval()
    assert game.speaker.perturbation(view.features, None) is view.features
