"""Tasks: losses, measures and chance levels against manual computations."""

import math
from types import SimpleNamespace

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.tasks import Concept, Discrimination, InBatch, Reconstruction, Truth
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def discrimination(num_candidates):
    world = SimpleNamespace(num_distractors=num_candidates - 1)
    return Discrimination(Discrimination.Options(), world=world, state_size=5)


def concept(num_targets, num_distractors, **options):
    world = SimpleNamespace(num_distractors=num_distractors)
    options = Concept.Options(num_targets=num_targets, num_distractors=num_distractors, **options)
    return Concept(options, world=world, state_size=5)


def reconstruction(num_values, state_size=6):
    world = SimpleNamespace(num_values=num_values)
    return Reconstruction(Reconstruction.Options(), world=world, state_size=state_size)


def truth(labels):
    return Truth(labels=torch.as_tensor(labels), values=None)


def one_target(targets, num_candidates):
    """Labels of rounds with these indices of the target."""
    return torch.nn.functional.one_hot(torch.as_tensor(targets), num_candidates).bool()


def test_discrimination_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)
    output = discrimination(3)(scores, truth(one_target([0, 1], 3)))
    first = -2 + math.log(sum(math.exp(score) for score in (2, -1, 0.5)))
    second = -1 + math.log(sum(math.exp(score) for score in (3, 1, -0.1)))
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == [1, 0]


def test_reconstruction_loss_and_accuracies():
    task = reconstruction((3, 3))
    with torch.no_grad():
        task.decode.weight.copy_(torch.eye(6))
        task.decode.bias.zero_()
    values = torch.tensor([[0, 1], [2, 2]])
    states = torch.tensor([[[5.0, 0, 0, 0, 5, 0], [0, 0, 5, 5, 0, 0]]])  # predicts (0, 1) and (2, 0)
    output = task(states, Truth(labels=torch.ones(2, 1, dtype=torch.bool), values=values))
    right, wrong = math.log(math.exp(5) + 2) - 5, math.log(math.exp(5) + 2)
    assert output.loss[0].tolist() == pytest.approx([right, (right + wrong) / 2], rel=1e-5)
    assert output.measures["accuracy"][0].tolist() == [1, 0]
    assert output.measures["attribute_accuracy"][0].tolist() == [1, 0.5]


def test_reconstruction_of_attributes_with_different_numbers_of_values():
    """A value that an attribute does not have is never predicted, and takes nothing from the others."""
    task = reconstruction((2, 3), state_size=6)
    with torch.no_grad():
        task.decode.weight.copy_(torch.eye(6))
        task.decode.bias.zero_()
    states = torch.tensor(
        [[[1.0, 0, 9, 0, 0, 2]]]
    )  # the 9 is for a third value, which the first attribute lacks
    output = task(states, Truth(labels=torch.ones(1, 1, dtype=torch.bool), values=torch.tensor([[0, 2]])))
    losses = [math.log(math.e + 1) - 1, math.log(2 + math.exp(2)) - 2]
    assert output.loss.item() == pytest.approx(sum(losses) / 2)
    assert output.measures["accuracy"].item() == 1


def test_reconstruction_needs_objects_with_values():
    with pytest.raises(ConfigError, match=r"^task: reconstruction needs objects with attribute values"):
        reconstruction(None)


def test_concept_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)
    labels = torch.tensor([[True, False, False], [True, True, False]])
    output = concept(2, 1)(scores, truth(labels))
    p = [1 / (1 + math.exp(-score)) for score in (2, -1, 0.5, 3, 1, -0.1)]
    first = -(math.log(p[0]) + math.log(1 - p[1]) + math.log(1 - p[2])) / 3
    second = -(math.log(p[3]) + math.log(p[4]) + math.log(1 - p[5])) / 3
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == pytest.approx([2 / 3, 1])
    assert output.measures["set_accuracy"][0].tolist() == [0, 1]


def test_choices_are_what_the_loss_is_of():
    """The most likely ones are those that count as right; of a temperature, the loss is the divided scores'."""
    scores = torch.tensor([[[9.0, 9.0, 9.0]], [[2.0, -1.0, 0.5]]])
    likely = concept(2, 1).choices(scores).softmax(-1)
    torch.testing.assert_close(likely, torch.stack([1 - scores[-1].sigmoid(), scores[-1].sigmoid()], -1))
    task = InBatch(InBatch.Options(loss_temperature=0.25), world=SimpleNamespace(), state_size=5)
    for target in range(3):
        loss = task(scores, truth(one_target([target], 3))).loss[-1]
        torch.testing.assert_close(loss, -task.choices(scores).log_softmax(-1)[:, target])
    torch.testing.assert_close(task.choices(scores), scores[-1] / 0.25)


def test_a_target_that_is_repeated_is_one_guess():
    sets = ["task.kind=concept", "task.num_targets=2", "task.num_distractors=3", "training.batch_size=64"]
    reference = load_experiment("disc_tiny", [*sets, "world.kind=shapeworld", "task.variant=reference"])
    level = make_pair(reference, make_world(reference)).task.chance()
    things = load_experiment("disc_tiny", [*sets, "world.kind=thing"])
    other = make_pair(things, make_world(things)).task.chance()
    assert level["accuracy"] > 0.6 == other["accuracy"]  # equal candidates are the targets
    assert level["set_accuracy"] > 1 / 4 > other["set_accuracy"] >= 1 / 10


def test_tasks_judge_every_end_alike():
    scores, labels = torch.randn(3, 5, 4), torch.arange(4).expand(5, -1) < 1
    for task in (concept(1, 3), discrimination(4)):
        whole = task(scores, truth(labels))
        for end in range(3):
            alone = task(scores[end : end + 1], truth(labels))
            torch.testing.assert_close(alone.loss[0], whole.loss[end])
            for name, figure in alone.measures.items():
                torch.testing.assert_close(figure[0], whole.measures[name][end])


def test_a_task_by_a_wrong_name():
    with pytest.raises(ConfigError, match="unknown task 'discriminate'; did you mean 'discrimination'"):
        load_experiment("disc_tiny", ["task.kind=discriminate"])


def test_a_receiver_that_sees_attributes_of_the_target():
    small = ["world.num_attributes=3", "world.num_values=4", "task.num_known=2", "training.batch_size=8"]
    experiment = load_experiment("recon_large", [*small, "receiver.hidden_size=5", "sender.hidden_size=5"])
    game = make_pair(experiment, make_world(experiment)).eval()
    batch = game.world.batch("train", 0)
    seen, truth = game.round_parts(batch)
    answer, _ = game.listener.response(game.speaker.generate_message(batch, "greedy", None), seen, None)
    one_hot = torch.nn.functional.one_hot(truth.values[:, 1:], 4).flatten(1)
    assert answer.shape == (1, 8, 5 + 8) and torch.equal(answer[0, :, 5:], one_hot.float())
    expected = {"accuracy": 1 / 4, "attribute_accuracy": (1 / 4 + 2) / 3}
    assert game.task.chance() == pytest.approx(expected, rel=0.03)
    with torch.no_grad():  # it repeats what it sees, and takes the message for nothing
        game.task.decode.weight.zero_()
        game.task.decode.weight[4:, 5:] = torch.eye(8)
    measures = game.play(batch, "greedy", None).measures
    assert measures["attribute_accuracy"] >= 2 / 3
    with pytest.raises(
        ConfigError, match=r"task.num_known: expected fewer than the 3 attributes of an object, got 3"
    ):
        make_pair(load_experiment("recon_large", [*small, "task.num_known=3"]), game.world)
