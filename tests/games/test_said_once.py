"""Evaluations and corpora say each meaning once, and find what they find batch by batch."""

import pytest
import torch

from ecsuite.eval.run_metrics.noise_grid import noise_grid
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players import agent
from ecsuite.games.plays import evaluation
from ecsuite.games.plays.evaluation import spoken_rounds
from ecsuite.games.plays.interactions import record_interactions
from ecsuite.games.plays.signalling import Signalling

SENDERS = ["gru", "lstm-2l", "sru-z", "husenda:dgsend", "husendz:gru", "transformer", "fc1l", "fc2l"]
SETTINGS = {
    "a pair": (),
    "one length": ("channel.length=fixed",),
    "sampled symbols": ("evaluation.mode=sample",),
    "reinforce": ("channel=reinforce,baseline=greedy",),
    "noise": ("channel.noise=deletion", "evaluation.noise=true"),
    "words of values": ("channel=quantized,word_size=3,max_len=2",),
    "words of a codebook": ("channel=vqvib",),
    "a society": ("society.senders=2", "society.receivers=3", "society.voting=true"),
    "reasoning": ("reasoning=rsa",),
    "a perception piece by piece": ("sender.perception=recurrent,size=16,width=4",),
    "no objects alike": ("world.num_attributes=8",),
    "candidates of the batch": ("task=in_batch",),
    "reconstruction": ("task=reconstruction",),
    "a frozen sender": ("training.freeze_sender=true",),
    "half precision": ("training.precision=bf16",),
    "rounds by their frequencies": ("world.frequencies=power_law", "evaluation.corpus_size=70"),
}
SMALL = ("training.batch_size=32", "training.precision=fp32", "evaluation.num_valid=50")
"""Evaluations have two batches."""


@pytest.fixture
def play():
    """Makes a play with changes."""

    def play(*settings):
        experiment = load_experiment("disc_tiny", [*SMALL, *settings])
        return Signalling(None, experiment=experiment, device=torch.device("cpu"))

    return play


@pytest.fixture
def asked(monkeypatch):
    """How many meanings senders were asked about at once from now on."""
    numbers, call_sender = [], agent.call_sender
    monkeypatch.setattr(
        agent,
        "call_sender",
        lambda network, meanings, builder: (
            numbers.append(len(meanings)) or call_sender(network, meanings, builder)
        ),
    )
    return numbers


def one_by_one(play):
    for speaker in play.players.senders:
        speaker.says_alike = False


def found_by(play):
    """Figures, corpus and interactions of a play, and the number generator's place after its noise."""
    experiment = play.experiment
    corpus = play.corpus(experiment.evaluation)
    rounds = record_interactions(play.players, {"valid": (play.world, "valid")}, experiment)
    messages = [each.tolist() for each in corpus.messages]
    return play.evaluate(), messages, corpus.meanings.tolist(), rounds.to_pylist()


@pytest.mark.sample(8)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_figures_corpora_and_interactions_are_the_same_to_the_last_bit(play, settings):
    once, alone = play(*settings), play(*settings)
    one_by_one(alone)
    assert found_by(once) == found_by(alone)


@pytest.mark.parametrize("length", ["variable", "fixed"])
@pytest.mark.parametrize("name", SENDERS)
def test_messages_have_as_many_steps_as_batch_by_batch(play, name, length):
    made = play(f"sender={name}", f"channel.length={length}", "evaluation.batch_size=7")
    speaker, world = made.players.eval().senders[0], made.world
    batches = [world.batch("valid", number) for number in range(6)]
    seen = [(speaker.shown(batch), batch.num_positive) for batch in batches]
    with torch.no_grad():
        for said, batch in zip(speaker.messages(seen), batches, strict=True):
            alone = speaker.generate_message(batch, "greedy", None)
            assert torch.equal(said.symbols, alone.symbols) and said.symbols.is_contiguous()
            assert torch.equal(said.length, alone.length) and said.ends is alone.ends is None


def test_a_sender_is_asked_once_about_each_meaning(play, asked):
    made = play("evaluation.batch_size=8", "evaluation.num_valid=200")
    made.evaluate()
    assert asked == [16]
    asked.clear()
    made.corpus(made.experiment.evaluation)
    assert asked == [16]


def test_each_of_a_society_is_asked_once_whoever_listens(play, asked):
    made = play("society.senders=2", "society.receivers=3", "evaluation.num_valid=200")
    record_interactions(made.players, {"valid": (made.world, "valid")}, made.experiment)
    assert asked == [16, 16]


def test_samples_are_drawn_batch_by_batch(play, asked):
    play("evaluation.mode=sample").evaluate()
    assert asked == [32, 18]


def test_own_senders_are_asked_batch_by_batch(play, asked, tmp_path):
    """What they say may depend on all of a batch."""
    own = tmp_path / "own.py"
    own.write_text(
        "import torch\n"
        "from ecsuite.agents.senders import Sender, build_message\n\n\n"
        "class Own(Sender):\n"
        "    def __init__(self, options, *, num_features, vocab_size, max_len):\n"
        "        super().__init__()\n"
        "        self.scores = torch.nn.Linear(num_features, vocab_size + 1)\n"
        "        self.max_len = max_len\n\n"
        "    def forward(self, meanings, builder):\n"
        "        return build_message(builder, self.scores(meanings - meanings.mean(0)).expand(self.max_len, -1, -1))\n"
    )
    made = play(f"sender.kind={own}:Own")
    figures = made.evaluate()
    assert asked == [32, 18]
    one_by_one(made)
    assert made.evaluate() == figures


def test_in_many_rounds_meanings_are_said_again_in_further_ones(play, asked, monkeypatch):
    made = play("evaluation.batch_size=8")
    figures = made.evaluate()
    monkeypatch.setattr(evaluation, "MOST_VALUES", 1)
    asked.clear()
    assert made.evaluate() == figures and asked == [8] * 6 + [2]


def test_few_meanings_are_said_at_once_where_they_are_wide(play, asked, monkeypatch):
    monkeypatch.setattr(agent, "MOST_VALUES", 1)
    play("evaluation.batch_size=5").evaluate()
    assert asked == [5, 5, 5, 1]


def test_rounds_have_their_numbers(play):
    made = play("evaluation.batch_size=20")
    rounds = list(spoken_rounds(made.players.eval(), made.world, "valid", "greedy"))
    assert [(each.first, len(each.batch), len(each.messages)) for each in rounds] == [
        (0, 20, 1), (20, 20, 1), (40, 10, 1),
    ]  # fmt: skip


def test_no_meaning_is_looked_at_on_other_devices(play, asked, monkeypatch):
    monkeypatch.setattr(agent, "may_look_at", lambda _: False)
    play().evaluate()
    assert asked == [32, 18]


def test_words_of_values_are_said_batch_by_batch(play, asked):
    """Rounding depends on the size of a batch, and would change them."""
    play("channel=continuous").evaluate()
    assert asked == [32, 18]


def test_of_a_grid_of_noise_each_meaning_is_said_once(play, asked):
    """And every point is what an evaluation with this noise finds."""
    made = play("channel.noise=none", "evaluation.num_valid=200")
    grid = noise_grid(made.experiment, made.world, made.players, "deletion,confusion", (0.0, 0.3))
    assert asked == [16] and len(grid.points) == 2 * (2 + 3)
    for point in grid.points:
        if point.position is None and point.rate:
            noise = f"channel.noise={point.noise},probability={point.rate}"
            noisy = play(noise, "evaluation.noise=true", "evaluation.num_valid=200")
            assert point.accuracy == pytest.approx(noisy.evaluate()["accuracy"], rel=1e-6)
