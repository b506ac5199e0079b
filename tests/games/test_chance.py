"""Chance levels of games: the best answer that reads no message, against levels that are computed otherwise."""

from collections import Counter
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.chance import (
    Asked,
    Candidates,
    CandidatesOf,
    any_answers,
    best_one,
    best_ones,
    by_frequency,
    by_likeness,
    chance_levels,
    frequent_ones,
    place_of_one,
    ranked,
    some_of,
)
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.randomness import initial_weights

MANY = ("training.batch_size=512", "training.num_examples=4096", "evaluation.num_valid=4096")


def game_of(name, *settings):
    """A game and its world."""
    experiment = load_experiment(name, [*MANY, *settings])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_where_all_is_equally_likely_it_is_a_guess():
    game, _ = game_of("disc_tiny", "task.num_distractors=3")
    assert game.task.chance() == {"accuracy": 0.25}
    game, _ = game_of("recon_large", "world.num_attributes=2", "world.num_values=3")
    assert game.task.chance() == pytest.approx({"accuracy": 1 / 9, "attribute_accuracy": 1 / 3}, rel=0.05)
    game, _ = game_of("disc_small", "task=autoencoding")
    assert game.task.chance() == pytest.approx({"accuracy": 1 / 256}, rel=0.2)


@pytest.mark.parametrize(
    "world",
    [
        ("world.num_attributes=2", "world.num_values=8", "world.frequencies=power_law,exponent=2"),
        ("world=unequal_attributes", "world.num_values=[4,4]", "world.exponents=[3,3]"),
    ],
)
def test_objects_of_other_frequencies_are_named_by_a_constant_answer(world):
    game, made = game_of("recon_large", *world)
    objects = made.objects.all_values()
    single = [
        np.bincount(objects[:, place], weights=made.probabilities).max() for place in range(objects.shape[1])
    ]
    expected = {"accuracy": made.probabilities.max(), "attribute_accuracy": np.mean(single)}
    assert game.task.chance() == pytest.approx(expected, abs=0.03)


def test_new_objects_are_ranked_by_their_values_together():
    """Held-out objects have no frequency of their own; each of their values says a little of it."""
    settings = ("world.frequencies=power_law", "world.num_values=10", "world.held_out=0.3")
    game, world = game_of("disc_small", "task.num_distractors=3", *settings)
    batches = [world.batch("valid", number) for number in range(8)]
    shown = [(each.labels, each.values.reshape(*each.labels.shape, -1)) for each in batches]
    by_digits = [
        np.take_along_axis(labels, (values @ np.array([1000, 100, 10, 1])).argmin(1)[:, None], axis=1)
        for labels, values in shown
    ]
    first_digit = [
        ((values[..., 0] == values[..., 0].min(1, keepdims=True)) & labels).sum(1)
        / (values[..., 0] == values[..., 0].min(1, keepdims=True)).sum(1)
        for labels, values in shown
    ]
    found = game.task.chance()["accuracy"]
    assert np.concatenate(first_digit).mean() + 0.03 < found < np.concatenate(by_digits).mean()


def test_the_most_frequent_candidate_is_found_without_a_message():
    game, world = game_of("disc_small", "world.frequencies=power_law")
    batches = [world.batch("valid", number) for number in range(8)]
    ranks = [(each.values @ (4 ** np.arange(3, -1, -1))).reshape(each.labels.shape) for each in batches]
    lowest = np.concatenate([rank.argmin(1) for rank in ranks])
    expected = (lowest == np.concatenate([each.labels.argmax(1) for each in batches])).mean()
    assert expected > 0.6 and game.task.chance()["accuracy"] == pytest.approx(expected, abs=0.03)


def test_a_candidate_that_is_not_there_or_was_rare_is_not_chosen():
    """Kind 2 was the target once of once, kind 0 nine times of ten; kind 3 was always the target and is away."""
    kinds = np.array([[0, 1]] * 10 + [[1, 2]] + [[3, 1]] * 5)
    labels = np.array([[True, False]] * 9 + [[False, True]] * 2 + [[True, False]] * 5)
    (answer,) = ranked(best_one, by_frequency)(
        [Candidates(kinds=kinds, labels=labels, present=np.ones_like(labels))]
    )
    asked = Candidates(
        kinds=np.array([[0, 2], [3, 0]]),
        labels=np.array([[True, False], [False, True]]),
        present=np.array([[True, True], [False, True]]),
    )
    assert answer(asked)["accuracy"].tolist() == [1.0, 1.0]


def test_luck_in_two_rounds_is_no_level():
    """An answer that is right in all of them is taken only if there are enough."""

    def level(number):
        batch = SimpleNamespace(cut=lambda most: None)
        sizes = SimpleNamespace(batch_size=1, evaluation_batch_size=number)
        world = SimpleNamespace(sizes=sizes, num_train=1, num_valid=number, batch=lambda *_: batch)
        family = [
            lambda _, share=share: [lambda _: {"accuracy": np.full(number, share)}] for share in (0.25, 1.0)
        ]
        return chance_levels(world, lambda _: None, family)["accuracy"]

    assert (level(2), level(100)) == (0.25, 1.0)


def test_what_never_was_right_is_no_answer_and_half_of_the_rounds_are_not_most():
    (guess,) = any_answers([Asked(np.array([[0], [1]]))])
    assert guess(Asked(np.array([[1], [5]])))["accuracy"].tolist() == [0.5, 0]
    labels, present = np.array([[True, False]]), np.ones((1, 2), bool)
    (constant,) = frequent_ones([Candidates(np.array([[0, 0]]), labels, present)])
    assert constant(Candidates(np.array([[0, 0]]), ~present, present))["set_accuracy"].tolist() == [1]


def test_an_unbalanced_column_of_a_table(tmp_path):
    """Of 100 objects of ten shapes and ten sizes 95 are red."""
    rows = [f"{'red' if number % 20 else 'blue'},s{number % 10},n{number // 10}\n" for number in range(100)]
    (tmp_path / "objects.csv").write_text("color,shape,size\n" + "".join(rows))
    game, _ = game_of("recon_large", "world=objects", f"world.objects={tmp_path}/objects.csv")
    expected = {"accuracy": 0.01, "attribute_accuracy": (0.95 + 0.1 + 0.1) / 3}
    assert game.task.chance() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("num_targets", [1, 2, 3])
def test_candidates_of_a_concept(num_targets):
    """A guess of which candidates are targets; more is told by a value that only targets have."""
    seen = Candidates(np.zeros((1, num_targets + 2)), np.arange(num_targets + 2)[None] < num_targets, None)
    (guess,) = some_of(num_targets, 2)([])
    total = num_targets + 2
    expected = {"accuracy": max(num_targets, 2) / total, "set_accuracy": 1 / comb(total, num_targets)}
    assert {name: float(value[0]) for name, value in guess(seen).items()} == pytest.approx(expected)


def test_sets_that_share_a_value_are_found_without_a_message():
    """Half of the candidates have the value of the rule, which no distractor has."""
    for name in ("thing_qt", "thing_gs_l4"):
        game, _ = game_of(name, "training.batch_size=128", "training.num_examples=512")
        levels = game.task.chance()
        assert levels["accuracy"] > 0.999 and levels["set_accuracy"] > 0.95


def test_the_candidate_in_the_middle_is_found_without_a_message():
    """Of candidates that each share three of four values with the target, it is nearest to all others."""
    game, _ = game_of("disc_small", "world.shared_values=3", "task.num_distractors=5")
    assert game.task.chance()["accuracy"] > 0.999
    values = np.array([[[0, 0], [0, 1], [1, 0]], [[0, 0], [0, 1], [2, 2]]])
    labels = np.array([[True, False, False], [False, False, True]])
    seen = Candidates(values.sum(2), labels, np.ones_like(labels), values)
    found = [answer(seen)["accuracy"].tolist() for answer in ranked(best_one, by_likeness)([seen])]
    third = pytest.approx(1 / 3)
    assert found == [
        [1, 0], [0.5, 0], [0.5, third],  # most like the others, in both attributes or in one
        [0, 1], [0, 1], [0, third],  # least like them
        [0, third],  # with a value of its own
    ]  # fmt: skip


def test_equal_sets_are_drawn_among():
    """Two of four are taken: the first for sure, and one of two that are equal."""
    labels = np.array([[True, True, False, False]])
    seen = Candidates(np.zeros((1, 4)), labels, np.ones_like(labels))
    found = best_ones(np.array([[3.0, 2.0, 2.0, 1.0]]), seen)
    assert found["accuracy"].tolist() == [0.75] and found["set_accuracy"].tolist() == [0.5]
    assert best_ones(np.array([[1.0, 1.0, 2.0, 0.0]]), seen)["set_accuracy"].tolist() == [0]


def test_what_is_learnt_from_training_rules_does_not_lower_it_on_others():
    game, _ = game_of("mu_shapeworld_setref", "training.batch_size=128", "training.num_examples=512")
    assert game.task.chance()["accuracy"] >= 0.5


@pytest.mark.parametrize("world", ["thing", "shape", "shapeworld"])
def test_a_target_has_no_place(world):
    """Sets are drawn with the targets first; a receiver that scores all candidates alike answers with the first."""
    game, made = game_of(
        "disc_tiny", f"world={world}", "task.num_distractors=3", "training.batch_size=128", *TAUGHT[world]
    )
    places = np.concatenate([made.batch("valid", number).labels.argmax(1) for number in range(8)])
    assert np.bincount(places, minlength=4).min() > 0.15 * len(places)
    batch = made.batch("valid", 0)
    assert (batch.candidate_indices()[batch.labels] == batch.shown[:, 0]).all()
    assert place_of_one([seen_of(made)])[0](seen_of(made))["accuracy"].mean() < 0.35
    assert game.task.chance()["accuracy"] >= 0.25


def seen_of(world):
    """What answers see of a batch of training."""
    return CandidatesOf(world)(world.batch("train", 0))


TAUGHT = {"thing": (), "shape": ("world.images_per_batch=16",), "shapeworld": ("world.images_per_label=2",)}


def test_places_and_frequencies_by_hand():
    kinds = np.array([[0, 1], [1, 0], [2, 0]])
    labels = np.array([[False, True], [True, False], [True, False]])
    seen = Candidates(kinds, labels, np.ones_like(labels))
    assert place_of_one([seen])[0](seen)["accuracy"].tolist() == [0, 1, 1]
    assert ranked(best_one, by_frequency)([seen])[0](seen)["accuracy"].tolist() == [1, 1, 1]
    unknown = Candidates(kinds + 3, labels, np.ones_like(labels))
    assert ranked(best_one, by_frequency)([seen])[0](unknown)["accuracy"].tolist() == [0.5, 0.5, 0.5]


def test_a_receiver_that_knows_nothing_is_at_chance_where_all_is_equally_likely():
    with initial_weights(1):
        game, world = game_of("disc_tiny", "task.num_distractors=3")
    with torch.no_grad():
        measures = [game.eval().play(world.batch("valid", n), "greedy", None).measures for n in range(8)]
    accuracy = np.mean([float(each["accuracy"]) for each in measures])
    assert accuracy == pytest.approx(game.task.chance()["accuracy"], abs=0.05)


FILES = {"objects": "object_table", "images": "image_folder", "mu_cub": "feature_file", "yao": "feature_file"}
CANDIDATES = [
    "disc_tiny", "disc_small", "disc_large", "objects_game", "digits", "objects", "images", "self_supervised",
    "mu_cub", "yao", "mu_shapeworld", "mu_shapeworld_ref", "mu_shapeworld_setref",
    *(f"{name}{length}" for name in ("shape_gs", "shape_qt", "thing_gs", "thing_qt") for length in ("", "_l4")),
]  # fmt: skip
"""The shipped games whose receiver chooses among candidates."""
OTHERS = [
    "disc_small world.held_out_value=attribute0=1,attribute2=3",
    "disc_small world.held_out=0.2 world.shared_values=3 task.num_distractors=2",
    "digits world.shared_values=0",
    "digits world.distractors=nearest",
    "objects world.held_out=0.3 world.distractors=nearest",
    "objects_game world.exponents=[1,1,0,2] world.held_out_value=attribute0=1",
    "disc_tiny task.kind=in_batch world.held_out=0.25",
    "images world.held_out=0.3 world.images_per_batch=8",
]


@pytest.mark.sample(9)
@pytest.mark.parametrize("line", [*CANDIDATES, *OTHERS])
def test_no_answer_without_a_message_beats_the_level(line, request):
    """Written again, round by round: each way to answer without a message, in held-out and in seen rounds."""
    name, *settings = line.split()
    if name in FILES:
        option = "features" if FILES[name] == "feature_file" else "objects"
        settings += [f"world.{option}={request.getfixturevalue(FILES[name])}"]
        settings += ["task.num_distractors=3"] if name == "yao" else []
    settings += ["training.batch_size=64", "training.num_examples=256", "evaluation.num_valid=256"]
    experiment = load_experiment(name, settings)
    world = make_world(experiment)
    task = make_pair(experiment, world).task
    rounds = world.unrendered() or world
    train = [row for number in range(4) for row in rows_of(rounds, "train", number)]
    for split in [split for split in ("valid", "seen") if split in world.splits]:
        played = [row for number in range(4) for row in rows_of(rounds, split, number)]
        level = task.chance_of(world, split)["accuracy"]
        for answer, accuracy in blind_answers(train, played).items():
            assert accuracy.mean() <= level + 3.5 * (accuracy.std() + 0.02) / len(accuracy) ** 0.5, (
                split,
                answer,
            )


def rows_of(world, split, number):
    """The candidates of each round, by what they are, and which of them are targets."""
    batch = world.batch(split, number)
    described = batch.objects.reshape(len(batch.objects), -1) if batch.values is None else batch.values
    described = described[:, :: -(-described.shape[1] // 64)]  # of images, some pixels
    for places, labels in zip(batch.candidate_indices(), batch.labels, strict=True):
        yield described[places].astype(float), labels, None if batch.values is None else batch.values[places]


def blind_answers(train, played):
    """Accuracy in each round of ways to rank candidates, equal ones in a random order, by name."""
    rng = np.random.default_rng(0)
    targets = Counter(tuple(row) for described, labels, _ in train for row in described[labels].tolist())
    shown = Counter(tuple(row) for described, _, _ in train for row in described.tolist())

    def medoid(described, values):
        return (
            -np.abs(described[:, None] - described).sum((1, 2))
            if values is None
            else -((values[:, None] != values).sum((1, 2)))
        )

    ranks = {
        "middle": medoid,
        "odd one": lambda *of: -medoid(*of),
        "frequent": lambda described, _: [
            targets[tuple(row)] / shown[tuple(row)] if tuple(row) in shown else 0
            for row in described.tolist()
        ],
    }
    for attribute in range(0 if train[0][2] is None else train[0][2].shape[1]):
        for sign in (1, -1):
            ranks[f"attribute {attribute}, {sign}"] = lambda _, values, a=attribute, sign=sign: (
                sign * (values[:, None, a] == values[:, a]).sum(1)
            )
    places = range(len(train[0][1]) if train[0][1].sum() == 1 else 0)
    ranks |= {f"place {n}": lambda described, _, n=n: 1 * (np.arange(len(described)) == n) for n in places}
    found, is_one = {}, all(labels.sum() == 1 for _, labels, _ in train)
    for name, rank in ranks.items():
        accuracy = []
        for described, labels, values in played:
            order = np.lexsort((rng.random(len(labels)), -np.asarray(rank(described, values))))
            right = labels[order[: labels.sum()]].sum()
            size = len(labels)
            accuracy.append(right if is_one else 1 - 2 * (labels.sum() - right) / size)
        found[name] = np.array(accuracy, float)
    return found
