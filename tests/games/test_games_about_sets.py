"""Games about sets: losses by hand, invariances, each object encoded once, and that they are learned."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from ecsuite.games.experiment import load_experiment
from ecsuite.games.factory import make_game, make_world
from ecsuite.games.set_game import MAX_OBJECTS_PER_CANDIDATE, OneSelection, SetSelection, score_candidates
from ecsuite.games.worlds.rounds import Rounds

TINY = (
    "world.kind=thing", "world.num_attributes=2", "world.num_values=3", "game.task=concept", "game.num_targets=2",
    "game.num_distractors=3", "channel.kind=quantized", "channel.length=fixed", "channel.word_size=4",
    "sender.hidden_size=16", "receiver.hidden_size=16", "sender.perception_size=8", "receiver.perception_size=8",
    "training.batch_size=6", "training.precision=fp32",
)  # fmt: skip
SHAPES = ("world.kind=shape", "world.pool=8", "sender.perception=conv", "receiver.perception=conv")


def make(*overrides):
    experiment = load_experiment("disc_tiny", [*TINY, *overrides])
    world = make_world(experiment)
    torch.manual_seed(0)
    return make_game(experiment, world, torch.float32), world


def noise():
    return torch.Generator().manual_seed(1)


def test_set_selection_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])  # (1 end, 2 rounds, 3 candidates)
    labels = torch.tensor([[True, False, False], [True, True, False]])
    output = SetSelection(2, 1)(scores, labels)
    p = [1 / (1 + math.exp(-score)) for score in (2, -1, 0.5, 3, 1, -0.1)]
    first = -(math.log(p[0]) + math.log(1 - p[1]) + math.log(1 - p[2])) / 3
    second = -(math.log(p[3]) + math.log(p[4]) + math.log(1 - p[5])) / 3
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == pytest.approx([2 / 3, 1])
    assert output.measures["set_accuracy"][0].tolist() == [0, 1]


def test_a_score_of_nothing_says_no():
    output = SetSelection(1, 1)(torch.zeros(1, 1, 2), torch.tensor([[True, False]]))
    assert output.measures["accuracy"].item() == 0.5 and output.loss.item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("num_seen", [5, 2 * MAX_OBJECTS_PER_CANDIDATE, 2 * MAX_OBJECTS_PER_CANDIDATE + 1])
def test_a_candidate_is_scored_by_its_own_vector_whether_objects_are_shared_or_not(num_seen):
    generator = torch.Generator().manual_seed(num_seen)
    questions = torch.randn(3, 4, 6, generator=generator)
    vectors = torch.randn(num_seen, 6, generator=generator)
    places = torch.randint(num_seen, (4, 2), generator=generator)
    scores = score_candidates(questions, vectors, places)
    assert scores.shape == (3, 4, 2)
    for end, of_round, candidate in product(range(3), range(4), range(2)):
        expected = questions[end, of_round] @ vectors[places[of_round, candidate]]
        torch.testing.assert_close(scores[end, of_round, candidate], expected)


def test_chance_is_what_guessing_gives():
    """Always the commoner answer, for a candidate; all answers at random, for all of them."""
    rng = np.random.default_rng(0)
    for num_targets, num_distractors in ((1, 1), (2, 1), (2, 3)):
        task = SetSelection(num_targets, num_distractors)
        labels = torch.arange(num_targets + num_distractors).expand(40_000, -1) < num_targets
        scores = torch.from_numpy(rng.normal(size=(1, *labels.shape)))
        guessed = task(scores, labels).measures["set_accuracy"].mean().item()
        assert guessed == pytest.approx(task.chance()["set_accuracy"], abs=0.01)
        commoner = 1.0 if num_targets > num_distractors else -1.0
        constant = task(torch.full_like(scores, commoner), labels).measures["accuracy"].mean().item()
        assert constant == pytest.approx(task.chance()["accuracy"])


def test_a_target_that_is_repeated_is_one_guess():
    assert SetSelection(10, 10, repeats=True).chance() == {"accuracy": 0.5, "set_accuracy": 0.5**11}
    assert SetSelection(10, 10).chance() == {"accuracy": 0.5, "set_accuracy": 0.5**20}
    ref, _ = make(*SHAPES, "world.kind=shapeworld", "world.images_per_world=1", "game.variant=ref")
    assert ref.task.chance() == {"accuracy": 0.6, "set_accuracy": 0.5**4}
    assert make()[0].task.chance() == {"accuracy": 0.6, "set_accuracy": 0.5**5}


def test_one_selection_by_hand():
    scores = torch.tensor([[[2.0, -1.0, 0.5], [3.0, 1.0, -0.1]]])
    labels = torch.tensor([[True, False, False], [False, True, False]])
    output = OneSelection(3)(scores, labels)
    first = -2 + math.log(sum(math.exp(score) for score in (2, -1, 0.5)))
    second = -1 + math.log(sum(math.exp(score) for score in (3, 1, -0.1)))
    assert output.loss[0].tolist() == pytest.approx([first, second])
    assert output.measures["accuracy"][0].tolist() == [1, 0]
    assert OneSelection(256).chance() == {"accuracy": 1 / 256}


def test_selections_judge_every_end_alike():
    scores = torch.randn(3, 5, 4)
    labels = torch.arange(4).expand(5, -1) < 1
    for task in (SetSelection(1, 3), OneSelection(4)):
        whole = task(scores, labels)
        for end in range(3):
            alone = task(scores[end : end + 1], labels)
            torch.testing.assert_close(alone.loss[0], whole.loss[end])
            for name, figure in alone.measures.items():
                torch.testing.assert_close(figure[0], whole.measures[name][end])


@pytest.mark.parametrize("channel", [
    (), ("channel.kind=gumbel", "channel.length=variable", "channel.length_cost=0.1"), ("channel.kind=reinforce",),
])  # fmt: skip
def test_a_round_is_what_its_parts_give_one_after_another(channel):
    """Every round alone, candidate by candidate: vectors, prototype, words, question, products, loss."""
    game, world = make(*channel)
    rounds = world.batch("train", 0)
    played = game.play(rounds, "greedy")
    losses, right = [], []
    for row in range(6):
        features = torch.from_numpy(world.features(rounds.objects[rounds.shown[row]]))
        prototype = torch.stack([game.sender_perception(each[None])[0] for each in features]).mean(0)
        message = game.generate_from_features(prototype[None], "greedy")
        states, ends = game.receiver(message, torch.float32)
        assert len(states) == 1 and ends.tolist() == [[1]]
        question = game.question.weight @ states[0, 0]
        scores = []
        for place in rounds.candidates[row]:
            candidate = torch.from_numpy(world.features(rounds.objects[place][None]))
            scores.append(question @ game.receiver_perception(candidate)[0])
        signs = [1 if label else -1 for label in rounds.labels[row]]
        losses.append(-sum(logsigmoid(sign * score) for sign, score in zip(signs, scores, strict=True)) / 5)
        right.append([sign * score.item() > 0 for sign, score in zip(signs, scores, strict=True)])
    torch.testing.assert_close(played.measures["loss"], torch.stack(losses).mean())
    assert played.measures["accuracy"].item() == pytest.approx(np.mean(right))
    assert played.measures["set_accuracy"].item() == pytest.approx(np.all(right, axis=1).mean())
    expected = torch.stack(losses).mean() + game.channel.config.length_cost * played.message.length.mean()
    torch.testing.assert_close(played.objective, expected)


@pytest.mark.parametrize("kind", ["quantized", "continuous", "gumbel", "reinforce"])
def test_the_order_of_candidates_and_of_targets_does_not_matter(kind):
    game, world = make(f"channel.kind={kind}", "game.sender_sees=all")
    rounds, rng = world.batch("train", 0), np.random.default_rng(0)
    order = rng.permuted(np.tile(np.arange(5), (6, 1)), axis=1)
    shown = np.concatenate([rounds.shown[:, [1, 0]], rounds.shown[:, [4, 2, 3]]], axis=1)
    places = rng.permutation(len(rounds.objects))
    shuffled = replace(
        rounds,
        shown=np.argsort(places)[shown],
        objects=rounds.objects[places],
        candidates=np.argsort(places)[np.take_along_axis(rounds.candidates, order, 1)],
        labels=np.take_along_axis(rounds.labels, order, 1),
    )
    assert (shuffled.labels != rounds.labels).any()
    one = game.play(rounds, "train", noise())
    if kind == "reinforce":  # its baselines moved
        game.channel.baselines, game.channel.num_steps = torch.zeros(2), torch.zeros(())
    other = game.play(shuffled, "train", noise())
    torch.testing.assert_close(one.objective, other.objective)
    for name, figure in one.measures.items():
        torch.testing.assert_close(figure, other.measures[name])


def count_rows(module):
    rows = []
    module.register_forward_hook(lambda _, inputs, output: rows.append((len(inputs[0]), len(output))))
    return rows


@pytest.mark.parametrize("sees", ["targets", "all"])
def test_each_object_is_encoded_once_by_each_agent(sees):
    game, world = make(
        *SHAPES, f"game.sender_sees={sees}", "game.num_distractors=6", "training.batch_size=12"
    )
    rounds = world.batch("train", 0)
    by_sender, by_receiver = count_rows(game.sender_perception), count_rows(game.receiver_perception)
    game.play(rounds, "train", noise())
    shown, tested = len(np.unique(rounds.shown)), len(np.unique(rounds.candidates))
    assert by_sender == [(shown, shown)] and by_receiver == [(tested, tested)]
    assert tested == len(rounds.objects) <= 8 < rounds.candidates.size


def test_objects_that_nobody_sees_are_not_encoded():
    game, world = make()
    rounds = world.batch("train", 0)
    chosen = replace(
        rounds,
        shown=rounds.shown[:1],
        candidates=rounds.candidates[:1],
        labels=rounds.labels[:1],
        rules=rounds.rules[:1],
    )
    by_sender, by_receiver = count_rows(game.sender_perception), count_rows(game.receiver_perception)
    alone = game.play(chosen, "greedy")
    assert by_sender == [(2, 2)] and by_receiver == [(5, 5)]
    few = replace(chosen, objects=rounds.objects[:5])
    torch.testing.assert_close(game.play(few, "greedy").objective, alone.objective)


def test_the_sender_means_the_mean_of_its_targets_beside_that_of_the_counter_examples(monkeypatch):
    meant = []
    for sees in ("targets", "all"):
        game, world = make(f"game.sender_sees={sees}")
        generate = game.generate_from_features
        monkeypatch.setattr(
            game,
            "generate_from_features",
            lambda vectors, *rest, generate=generate: (meant.append(vectors), generate(vectors, *rest))[1],
        )
        rounds = world.batch("train", 0)
        game.generate_message(rounds, "greedy")
        vectors = game.sender_perception(torch.from_numpy(world.features(rounds.objects)))
        expected = [vectors[rounds.shown[:, :2]].mean(1)]
        if sees == "all":
            expected.append(vectors[rounds.shown[:, 2:]].mean(1))
            assert rounds.shown.shape == (6, 5)
        torch.testing.assert_close(meant[-1], torch.cat(expected, dim=1))


def test_dropout_leaves_values_out_in_training_alone_and_keeps_their_mean():
    game, _ = make()
    vectors = torch.ones(400, 50)
    dropped = game._dropout(vectors, 0.1, noise())
    assert torch.equal(dropped, game._dropout(vectors, 0.1, noise()))
    assert dropped.unique().tolist() == [0.0, pytest.approx(1 / 0.9)]
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)
    assert game._dropout(vectors, 0.0, None) is vectors
    game.eval()
    assert game._dropout(vectors, 0.1, noise()) is vectors


@pytest.mark.parametrize("agent", ["sender", "receiver"])
def test_each_agent_has_a_dropout_of_its_own(agent):
    played = []
    for share in (0.0, 0.5):
        game, world = make(f"{agent}.dropout={share}")
        played.append(
            [game.play(world.batch("train", 0), mode, noise()).objective.item() for mode in ("train",) * 2]
        )
        game.eval()
        played[-1].append(game.play(world.batch("train", 0), "greedy").objective.item())
    (plain, again, judged), (dropped, dropped_again, judged_with) = played
    assert plain == again and dropped == dropped_again and dropped != plain
    assert judged == judged_with


def test_bytes_of_images_are_seen_from_0_to_1():
    game, world = make(*SHAPES)
    seen = []
    game.sender_perception.register_forward_hook(lambda _, inputs, output: seen.append(inputs[0]))
    rounds = world.batch("train", 0)
    game.generate_message(rounds, "greedy")
    expected = torch.from_numpy(rounds.objects[np.unique(rounds.shown)]).float() / 255
    torch.testing.assert_close(seen[0], expected)
    assert expected.max() > 0.5


@pytest.mark.parametrize("overrides", [(), SHAPES])
def test_bf16_plays_nearly_as_fp32(overrides):
    game, world = make(*overrides, "channel.kind=continuous")
    rounds = world.batch("train", 0)
    exact = game.play(rounds, "train", noise()).measures
    game.dtype = torch.bfloat16
    rough = game.play(rounds, "train", noise()).measures
    assert rough["loss"].item() == pytest.approx(exact["loss"].item(), rel=0.05)
    assert rough["loss"].dtype == torch.float32


@pytest.mark.parametrize("kind", ["soft", "gumbel", "reinforce", "quantized", "continuous"])
def test_every_weight_learns(kind):
    game, world = make(f"channel.kind={kind}", "sender.perception=mlp", "receiver.perception=mlp")
    game.play(world.batch("train", 0), "train", noise()).objective.backward()
    for name, parameter in game.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        if name != "receiver_perception.2.bias":  # balances out over candidates only by chance
            assert parameter.grad.abs().max() > 0, name


def test_words_of_64_values_need_no_more_than_64_times_the_weights():
    """2^64 words; what grows is what gives a word and what hears it, by a row a value."""
    sizes = {}
    for word_size in (1, 2, 64):
        game, world = make(f"channel.word_size={word_size}", "channel.num_levels=3")
        sizes[word_size] = sum(parameter.numel() for parameter in game.parameters())
        assert game.play(world.batch("train", 0), "train").message.symbols.shape == (3, 6, word_size)
    assert sizes[64] - sizes[1] == 63 * (sizes[2] - sizes[1])


def test_discrimination_finds_the_image_of_the_sender(tmp_path):
    """With features that tell images apart and untrained agents: the figures are those of the scores by hand."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "features.npz", features=rng.normal(size=(120, 7)).astype(np.float32))
    game, world = make(
        "world.kind=features", f"world.features={tmp_path}/features.npz", "game.task=discrimination",
        "game.num_distractors=3",
    )  # fmt: skip
    rounds = world.batch("train", 0)
    assert (rounds.labels.sum(1) == 1).all() and isinstance(game.task, OneSelection)
    played = game.play(rounds, "greedy")
    states, _ = game.receiver(game.generate_message(rounds, "greedy"), torch.float32)
    vectors = game.receiver_perception(torch.from_numpy(rounds.objects))[rounds.candidates]
    scores = torch.stack([vectors[row] @ game.question.weight @ states[0, row] for row in range(6)])
    wanted = rounds.labels.argmax(1)
    loss = -scores.log_softmax(1)[np.arange(6), wanted].mean()
    torch.testing.assert_close(played.objective, loss)
    assert played.measures["accuracy"].item() == pytest.approx((scores.argmax(1).numpy() == wanted).mean())
    assert set(played.measures) == {"loss", "accuracy", "length"} and game.task.chance() == {"accuracy": 0.25}


def test_rounds_may_mix_their_labels():
    """Targets at any place among the candidates, and any number of them."""
    game, _ = make()
    rounds = Rounds(
        objects=np.array([[0, 1], [2, 2]]),
        shown=np.array([[0, 0]]),
        num_positive=2,
        candidates=np.array([[1, 0, 1]]),
        labels=np.array([[False, True, False]]),
        rules=np.array([0]),
    )
    assert game.play(rounds, "train").objective.isfinite()


@pytest.mark.parametrize(
    ("kind", "num_steps", "bar"),
    [("quantized", 200, 0.8), ("continuous", 200, 0.75), ("gumbel", 200, 0.75), ("reinforce", 300, 0.65)],
)
def test_a_tiny_game_is_learned(kind, num_steps, bar):
    """Six rules, one word. Chance is 0.5; measured over seeds: 0.90 to 1, 0.83 to 0.94, 0.82 to 0.95, 0.70 to 0.84."""
    game, world = make(
        f"channel.kind={kind}", "channel.max_len=1", "game.num_targets=4", "game.num_distractors=4",
        "training.batch_size=32", "sender.architecture=rnn", "receiver.architecture=rnn", "sender.hidden_size=32",
        "receiver.hidden_size=32", "sender.perception_size=16", "receiver.perception_size=16", "channel.vocab_size=20",
    )  # fmt: skip
    optimizer = torch.optim.Adam(game.parameters(), lr=0.01, fused=True)
    generator = noise()
    for step in range(num_steps):
        optimizer.zero_grad(set_to_none=True)
        game.play(world.batch("train", step), "train", generator).objective.backward()
        optimizer.step()
    game.eval()
    with torch.no_grad():
        accuracy = game.play(world.batch("valid", 0), "greedy").measures["accuracy"].item()
    assert accuracy > bar, accuracy
