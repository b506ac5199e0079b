"""EGG bridge: equal weights give equal messages, losses and gradients in EGG and here."""

import itertools
import sys
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rapidfuzz.distance import Levenshtein
from torch.nn.functional import cross_entropy, one_hot

from ecsuite.agents.message import EOS
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.runs import egg_bridge
from ecsuite.games.runs.egg_bridge import EGGGame, corpus_from_interaction, corpus_of_egg_game
from ecsuite.games.worlds.world import make_world

NO_EGG = "EGG is not installed (put its checkout on PYTHONPATH)"
needs_egg = pytest.mark.skipif(find_spec("egg") is None, reason=NO_EGG)
CASES = list(itertools.product(["discrimination", "reconstruction"], ["rnn", "gru", "lstm"]))
BATCH = 32


def make(task, cell, *overrides):
    parts = (f"task.kind={task}", f"sender.cell={cell}", f"receiver.cell={cell}")
    experiment = load_experiment("disc_tiny", [*parts, *overrides])
    torch.manual_seed(0)
    world = make_world(experiment)
    game = make_pair(experiment, world)
    with torch.no_grad():
        for parameter in game.parameters():  # larger weights, for varied messages and lengths
            parameter.mul_(3)
        game.speaker.network.scores.bias[EOS] += 0.5
    return experiment, game, world


def as_features(values, num_values=4):
    return one_hot(torch.from_numpy(values), num_values).flatten(-2).float()


def batch_for_egg(task, batch):
    """A batch as EGG's data readers make it: sender's input, labels, receiver's input."""
    targets = batch.objects[batch.shown[:, 0]]
    if task == "reconstruction":
        return as_features(targets), torch.from_numpy(targets), None
    candidates = batch.objects[batch.candidate_indices()]
    return as_features(targets), torch.from_numpy(batch.labels.argmax(1)), as_features(candidates)


def make_egg_game(experiment, game):
    """EGG's own game with our weights, and pairs of our and its parameters."""
    from egg.core import RnnReceiverGS, RnnSenderGS, SenderReceiverRnnGS
    from egg.zoo.basic_games.architectures import DiscriReceiver, RecoReceiver, Sender

    world, channel = experiment.world.options, experiment.channel.options
    of_sender, of_receiver = experiment.sender.options, experiment.receiver.options
    num_features = world.num_attributes * world.num_values
    is_discrimination = experiment.task.kind == "discrimination"
    sender = RnnSenderGS(
        Sender(n_hidden=of_sender.hidden_size, n_features=num_features), vocab_size=channel.vocab_size + 1,
        embed_dim=of_sender.embedding_size, hidden_size=of_sender.hidden_size, max_len=channel.max_len,
        temperature=channel.temperature, cell=of_sender.cell, straight_through=channel.straight_through,
    )  # fmt: skip
    egg_task = (DiscriReceiver if is_discrimination else RecoReceiver)(num_features, of_receiver.hidden_size)
    receiver = RnnReceiverGS(
        egg_task, vocab_size=channel.vocab_size + 1, embed_dim=of_receiver.embedding_size,
        hidden_size=of_receiver.hidden_size, cell=of_receiver.cell,
    )  # fmt: skip

    def loss(sender_input, message, receiver_input, output, labels, aux_input):
        if is_discrimination:
            measures = {"acc": (output.argmax(1) == labels).float()}
            return cross_entropy(output, labels, reduction="none"), measures
        logits = output.view(-1, world.num_attributes, world.num_values)
        losses = cross_entropy(logits.transpose(1, 2), labels, reduction="none").mean(1)
        return losses, {"acc": (logits.argmax(-1) == labels).all(1).float()}

    def layer(ours, theirs):
        return [(ours.weight, theirs.weight), (ours.bias, theirs.bias)]

    def cell(ours, theirs):
        return [
            (ours.input_map.weight, theirs.weight_ih), (ours.input_map.bias, theirs.bias_ih),
            (ours.hidden_map.weight, theirs.weight_hh), (ours.hidden_map.bias, theirs.bias_hh),
        ]  # fmt: skip

    ours, theirs = (
        (game.listener.perception, egg_task.fc1) if is_discrimination else (game.task.decode, egg_task.output)
    )
    pairs = [
        *layer(game.speaker.network.perceive, sender.agent.fc1),
        *layer(game.speaker.network.scores, sender.hidden_to_output),
        *layer(game.speaker.network.embed, sender.embedding), (game.speaker.network.start, sender.sos_embedding),
        *cell(game.speaker.network.cells[0], sender.cell), *layer(game.listener.network.embed, receiver.embedding),
        *cell(game.listener.network.cells[0], receiver.cell),
        *layer(ours, theirs),
    ]  # fmt: skip
    assert {id(ours) for ours, _ in pairs} == {id(parameter) for parameter in game.parameters()}
    egg_game = SenderReceiverRnnGS(sender, receiver, loss, length_cost=experiment.loss.options.length_cost)
    assert len(pairs) == len(list(egg_game.parameters()))
    with torch.no_grad():
        for ours, theirs in pairs:
            theirs.copy_(ours)
    return egg_game, pairs


@needs_egg
@pytest.mark.parametrize(("task", "cell"), CASES)
@pytest.mark.parametrize("length_cost", [0.0, 0.1])
def test_greedy_messages_and_losses_are_eggs(task, cell, length_cost):
    experiment, game, world = make(task, cell, f"loss.length_cost={length_cost}", "channel.max_len=6")
    batch = world.draw("valid", 0, BATCH)
    egg_game, _ = make_egg_game(experiment, game)
    egg_game.eval()
    ours = EGGGame(game).eval()
    with torch.no_grad():
        expected, theirs = egg_game(*batch_for_egg(task, batch))
        loss, interaction = ours(*batch_for_egg(task, batch))
        played = game.play(batch, "greedy", None)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(played.objective, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(interaction.aux["acc"], theirs.aux["acc"])
    torch.testing.assert_close(interaction.message_length, theirs.message_length)
    assert interaction.message.shape == theirs.message.shape

    corpus, expected_corpus = (corpus_from_interaction(each, num_values=4) for each in (interaction, theirs))
    assert [row.tolist() for row in corpus.messages] == [row.tolist() for row in expected_corpus.messages]
    assert len(set(corpus.messages.lengths.tolist())) > 1
    direct = game.speaker.generate_message(batch, "greedy", None).symbols.t()
    assert [row[row >= 0].tolist() for row in direct] == [row.tolist() for row in corpus.messages]
    assert (corpus.meanings == batch.objects[batch.shown[:, 0]]).all()


@needs_egg
@pytest.mark.parametrize(("task", "cell"), CASES)
@pytest.mark.parametrize("straight_through", [False, True])
def test_training_losses_and_gradients_are_eggs(monkeypatch, task, cell, straight_through):
    """Both get the same uniform numbers, from which each computes noise, relaxed symbols and expectations."""
    experiment, game, world = make(
        task, cell, "loss.length_cost=0.1", "channel.temperature=0.7", "channel.max_len=6",
        f"channel.straight_through={str(straight_through).lower()}",
    )  # fmt: skip
    batch = world.draw("train", 0, BATCH)
    egg_game, pairs = make_egg_game(experiment, game)
    uniform = torch.rand(6, BATCH, 6, generator=torch.Generator().manual_seed(1)).clamp(1e-6, 1 - 1e-6)
    steps = iter(uniform)
    monkeypatch.setattr("torch.distributions.relaxed_categorical.torch.rand", lambda *_, **__: next(steps))
    monkeypatch.setattr("ecsuite.games.channels.channels.gumbel_noise", lambda *_: -(-uniform.log()).log())

    expected, theirs = egg_game.train()(*batch_for_egg(task, batch))
    loss, interaction = EGGGame(game).train()(*batch_for_egg(task, batch))
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(interaction.message, theirs.message, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(interaction.message_length, theirs.message_length, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(interaction.aux["acc"], theirs.aux["acc"], rtol=1e-4, atol=1e-4)
    expected_grads = torch.autograd.grad(expected, [parameter for _, parameter in pairs])
    gradients = torch.autograd.grad(loss, [parameter for parameter, _ in pairs])
    for mine, reference in zip(gradients, expected_grads, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


@needs_egg
@pytest.mark.filterwarnings("ignore")  # EGG's own
@pytest.mark.parametrize("kind", ["gumbel", "reinforce"])
def test_our_game_trains_in_eggs_trainer(monkeypatch, kind):
    from egg import core

    monkeypatch.setattr("sys.argv", ["test"])
    core.init(params=["--batch_size=64", "--lr=0.003", "--n_epochs=6", "--no_cuda"])
    _, game, world = make("discrimination", "gru", f"channel.kind={kind}")
    data = [batch_for_egg("discrimination", world.draw("train", number, 64)) for number in range(32)]
    egg_game = EGGGame(game)
    trainer = core.Trainer(
        game=egg_game, optimizer=core.build_optimizer(egg_game.parameters()), train_data=data,
        validation_data=data[:2], callbacks=[core.TemperatureUpdater(agent=egg_game, decay=0.9, minimum=0.1)],
    )  # fmt: skip
    before, _ = trainer.eval()
    trainer.train(n_epochs=6)
    after, interaction = trainer.eval()
    assert after < before
    assert egg_game.temperature == pytest.approx(0.9**6 if kind == "gumbel" else 1)
    corpus = corpus_from_interaction(interaction, num_values=4, metadata={"by": "EGG"})
    assert len(corpus.messages) == 128 and corpus.metadata == {"by": "EGG"}
    dumped = core.dump_interactions(egg_game, data[:2], gs=kind == "gumbel", variable_length=True)
    again = corpus_from_interaction(dumped)
    assert [row.tolist() for row in again.messages] == [row.tolist() for row in corpus.messages]


def interaction(message, sender_input=None):
    return SimpleNamespace(message=message, sender_input=sender_input)


def test_single_symbol_games_have_no_eos():
    ids = torch.tensor([3, 0, 4])
    for message in (ids, one_hot(ids, 6).float()):
        corpus = corpus_from_interaction(interaction(message))
        assert [row.tolist() for row in corpus.messages] == [[3], [0], [4]] and corpus.eos is None


def test_meanings_are_attribute_values_or_the_input_as_it_is():
    values = np.array([[0, 3], [2, 1]])
    message = torch.tensor([[1, 0], [2, 0]])
    corpus = corpus_from_interaction(interaction(message, as_features(values)), num_values=4)
    assert (corpus.meanings == values).all()
    assert [[corpus.concept_names[concept] for concept in row] for row in corpus.concepts] == [
        ["attribute0=0", "attribute1=3"], ["attribute0=2", "attribute1=1"],
    ]  # fmt: skip
    features = torch.tensor([[0.5, -1.0], [2.0, 0.0]])
    corpus = corpus_from_interaction(interaction(message, features))
    assert (corpus.meanings == features.numpy()).all() and corpus.concepts is None


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: corpus_from_interaction(interaction(None)), "the interaction has no messages: EGG's logging strat"),
        (lambda: corpus_from_interaction(interaction(torch.randn(3, 5))), "messages: expected ids or weights over sym"),
        (lambda: egg_bridge.attribute_values(torch.zeros(2, 8), 3), "expected a multiple of 3 features"),
        (lambda: egg_bridge.attribute_values(torch.zeros(2, 8), 4), "expected one-hot features for attrib"),
    ],
    ids=["none", "values", "features", "zeros"],
)  # fmt: skip
def test_unsuitable_interactions_are_refused(read, message):
    with pytest.raises(ValueError, match=message):
        read()


@pytest.fixture
def interactions(monkeypatch):
    """EGG's class of interactions, where EGG is not installed."""
    if find_spec("egg") is None:
        for name in ("egg", "egg.core", "egg.core.interaction"):
            monkeypatch.setitem(sys.modules, name, SimpleNamespace(Interaction=SimpleNamespace))


def objective_in_egg(egg_game, batch):
    torch.manual_seed(5)
    return egg_game.train()(*batch_for_egg("discrimination", batch))[0]


def test_messages_have_the_temperature_that_egg_sets(interactions):
    warm, cold = (make("discrimination", "gru", f"channel.temperature={each}") for each in (1, 0.3))
    (_, game, world), (_, other, _) = warm, cold
    batch = world.draw("train", 0, BATCH)
    egg_game = EGGGame(game)
    egg_game.temperature = 0.3
    assert objective_in_egg(egg_game, batch).item() == objective_in_egg(EGGGame(other), batch).item()


@pytest.mark.parametrize("baseline", ["greedy", "mean"])
def test_the_objective_in_egg_has_the_baseline_of_the_channel(interactions, baseline):
    _, game, world = make("discrimination", "gru", f"channel=reinforce,baseline={baseline}")
    batch = world.draw("train", 0, BATCH)
    found = objective_in_egg(EGGGame(game), batch)
    game.channel.baselines.zero_()
    game.channel.num_steps.zero_()
    torch.manual_seed(5)
    noise = noise_generator(int(torch.randint(2**62, ())), "egg", 0, game.device)
    torch.testing.assert_close(found, game.play(batch, "train", noise).objective)


def test_a_channel_without_temperature_ignores_the_one_that_egg_sets():
    _, game, _ = make("discrimination", "gru", "channel.kind=reinforce")
    options = game.channel.options
    egg_game = EGGGame(game)
    egg_game.temperature = 0.05
    assert egg_game.temperature == 1 and game.channel.options is options


SIZES = "--sender_hidden=16 --receiver_hidden=16 --random_seed=1 --n_epochs=1 --batch_size=16 --lr=0.01"
PROGRAMS = {
    "egg.zoo.basic_games.play": "--mode gs --game_type discri --train_data {file} --validation_data {file} "
    "--n_values 4 --vocab_size 6 --max_len 4",
    "egg.zoo.channel.train": "--vocab_size=10 --n_features=12 --max_len=5 --batches_per_epoch=5",
    "egg.zoo.compo_vs_generalization.train": "--n_values=5 --n_attributes=2 --vocab_size=6 --max_len=3",
}


@needs_egg
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("program", "num_values", "num_messages"), list(zip(PROGRAMS, (4, 12, 5), (20, 12, 15), strict=True))
)
def test_games_of_egg_give_corpora_as_they_are(program, num_values, num_messages, tmp_path, monkeypatch):
    # EGG needs this package for its edit distances.
    monkeypatch.setitem(sys.modules, "editdistance", SimpleNamespace(eval=Levenshtein.distance))
    monkeypatch.delitem(sys.modules, "egg.zoo.compo_vs_generalization.intervention", raising=False)
    rows = np.random.default_rng(0).integers(4, size=(20, 3, 2))
    lines = [" . ".join(" ".join(map(str, each)) for each in row) + " . 1\n" for row in rows.tolist()]
    (tmp_path / "rounds.txt").write_text("".join(lines))
    arguments = f"{PROGRAMS[program]} {SIZES}".format(file=tmp_path / "rounds.txt").split()
    corpus = corpus_of_egg_game(import_module(program).main, arguments, num_values=num_values)
    assert len(corpus.messages) == len(corpus.meanings) == num_messages
    assert corpus.metadata["egg_game"] == program and 0 <= corpus.metadata["accuracy"] <= 1
    assert corpus.content().values.min(initial=1) >= 1 and corpus.meanings.max() < num_values


@needs_egg
def test_a_program_that_trains_nothing_is_refused_and_egg_is_as_before():
    from egg.core import Trainer

    before = Trainer.train
    with pytest.raises(ValueError, match=r"expected a program that calls egg.core.Trainer.train"):
        corpus_of_egg_game(lambda arguments: None, [])
    assert Trainer.train is before
