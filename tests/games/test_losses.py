"""Losses: costs of length, priors of messages, rewards of sampled answers, baselines, all pairs of a step."""

import math
from dataclasses import replace

import pytest
import torch

from ecsuite.agents.message import Message
from ecsuite.games.channels.channels import ReinforceChannel, all_messages
from ecsuite.games.channels.message_builders import of_sampled
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.players.reasoning import message_of
from ecsuite.games.plays.population import make_population
from ecsuite.games.tasks.losses import Correct, ElboLoss, RewardLoss, ShareCorrect, TaskLoss, weights_of_answers
from ecsuite.games.tasks.tasks import SampledAnswers, TaskOutput, Truth, choose
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

TASKS = {"disc_tiny": (), "recon_large": ("world.num_attributes=2", "world.num_values=3"), "thing_qt": ()}
SMALL = ("channel=reinforce", "training.precision=fp32", "training.batch_size=8", "channel.max_len=3")


def game_of(name, *changes):
    experiment = load_experiment(name, [*SMALL, *TASKS.get(name, ()), *changes])
    world = make_world(experiment)
    torch.manual_seed(0)
    return make_pair(experiment, world), world


def message(length, **fields):
    return Message(symbols=torch.ones(2, len(length), dtype=torch.long), ends=None, length=length, **fields)


def test_a_cost_of_length_waits_for_accuracy_also_in_expectation_over_the_end():
    length = torch.tensor([2.0, 4.0])
    loss = TaskLoss(TaskLoss.Options(length_cost=0.1, length_cost_power=2.0))
    for correct, expected in (([1.0, 1.0], [0.2, 0.4]), ([1.0, 0.0], [0.05, 0.1]), ([0.0, 0.0], [0.0, 0.0])):
        output = TaskOutput(loss=torch.zeros(1, 2), measures={"accuracy": torch.tensor([correct])})
        assert torch.allclose(loss(output, torch.ones(1, 2), message(length))[1], torch.tensor(expected))
    output = TaskOutput(loss=torch.zeros(2, 1), measures={"accuracy": torch.tensor([[1.0], [0.0]])})
    cost = loss(output, torch.tensor([[0.75], [0.25]]), message(torch.tensor([4.0])))[1]
    assert cost.tolist() == pytest.approx([0.4 * 0.75**2])


def test_weights_of_the_answers_of_an_impatient_receiver():
    ends = torch.tensor([[0.0, 1.0, 0.25], [0.0, 0.0, 0.25], [1.0, 0.0, 0.5]])
    third, sixth, eighth = 1 / 3, 1 / 6, 1 / 8
    expected = [[third, 1, 0.25 + eighth + sixth], [third, 0, eighth + sixth], [third, 0, sixth]]
    assert torch.allclose(weights_of_answers(ends), torch.tensor(expected))


def elbo(channel, **options):
    return ElboLoss(ElboLoss.Options(**options), channel=channel)


def channel_of(vocab_size=2, max_len=2, **options):
    quiet = {"baseline": "none", "entropy_coefficient": 0.0, **options}
    own = ReinforceChannel.Options(vocab_size=vocab_size, max_len=max_len, **quiet)
    return ReinforceChannel(own)


def every_message(channel, scores):
    """All messages of a channel, with symbols that are drawn by the scores at each beginning."""
    said = message_of(channel, all_messages(channel))
    logits = scores[0].expand(said.symbols.shape[1], -1), scores[1 + said.symbols[0].clamp(min=0)]
    probability, entropy = of_sampled(said.symbols, torch.stack(logits))
    return replace(said, log_probability=probability, entropy=entropy, logits=logits)


def test_a_prior_by_hand():
    """One symbol or none, said with 3/4: log q - log p with p = 1/2 each, or 1 / (1 + e^-2) where a symbol costs 2."""
    channel = channel_of(vocab_size=1, max_len=1)
    said = message_of(channel, all_messages(channel))
    q = torch.tensor([0.25, 0.75])
    said = replace(said, log_probability=q.log(), entropy=torch.zeros(2), logits=(q.log().expand(2, 2),))
    output = TaskOutput(loss=torch.zeros(1, 2), measures={})
    empty = 1 / (1 + math.exp(-2))
    for options, prior in (({}, [0.5, 0.5]), ({"prior": "length", "length_rate": 2.0}, [empty, 1 - empty])):
        _, cost = elbo(channel, beta=3.0, **options)(output, torch.ones(1, 2), said)
        assert torch.allclose(cost, 3 * (q / torch.tensor(prior)).log())


@pytest.mark.parametrize("length", ["variable", "fixed"])
def test_probabilities_of_a_learned_prior_add_up_to_1(length):
    channel = channel_of(vocab_size=3, length=length)
    said = every_message(channel, torch.zeros(5, 4))
    loss = elbo(channel, prior="lm", hidden_size=8)
    torch.nn.init.normal_(loss.model.predict.weight)
    probability = (-loss._surprisal(said)).exp()
    assert probability.sum().item() == pytest.approx(1, abs=1e-5) and probability.std() > 0.01


def test_a_prior_of_lengths_has_the_gradient_of_a_cost_of_length_and_an_entropy_bonus():
    """Over all messages of a channel: Ueda & Taniguchi 2024, section 3.2; the entropy is that of whole messages."""
    channel, beta, rate = channel_of(), 0.7, 1.3
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(4, 3, generator=generator, dtype=torch.float64).requires_grad_()
    of_task = torch.rand(1, 7, generator=generator, dtype=torch.float64)
    said = every_message(channel, scores)
    q = said.log_probability.exp()
    assert q.sum().item() == pytest.approx(1)

    def gradient(loss, bonus):
        output = TaskOutput(loss=of_task, measures={"accuracy": of_task})
        found = [part * q.detach() * 7 for part in loss(output, torch.ones(1, 7), said)]
        return torch.autograd.grad(channel.objective(*found, said) - bonus, scores, retain_graph=True)[0]

    entropy = -(q * said.log_probability).sum()
    prior = gradient(elbo(channel, prior="length", length_rate=rate, beta=beta), 0)
    assert prior.abs().max() > 0.01
    cost = gradient(TaskLoss(TaskLoss.Options(length_cost=beta * rate)), beta * entropy)
    assert torch.allclose(prior, cost, atol=1e-6)


def test_a_prior_of_lengths_is_a_cost_of_length_and_an_entropy_bonus_of_relaxed_messages():
    found = []
    for loss in ("elbo,prior=length,length_rate=0.5,beta=0.4", "task,length_cost=0.2"):
        game, world = game_of("disc_tiny", "channel=gumbel", f"loss={loss}")
        played = game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(1))
        objective = played.objective
        if "task" in loss:
            said = played.message
            likely = said.log_probabilities()
            goes_on = 1 - said.ends.cumsum(0)[:-1] + said.ends[:-1]
            objective = objective + 0.4 * (goes_on * (likely.exp() * likely).sum(-1)).sum(0).mean()
        objective.backward()
        found.append(torch.cat([each.grad.flatten() for each in game.speaker.network.parameters()]))
    assert torch.allclose(*found, atol=1e-6) and found[0].abs().max() > 0.01


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        (["channel=gumbel", "loss=elbo,beta=0.5"], {"beta", "cost"}),
        (["channel=reinforce", "loss=task,length_cost=0.1", "society.senders=2"], {"cost"}),
        (["channel=vqvib,complexity=0.3"], {"divergence", "distortion"}),
        (["channel=gumbel"], set()),
    ],
)
def test_terms_of_the_objective_are_measures_of_training_steps(changes, names):
    experiment = load_experiment("disc_tiny", [*SMALL, *changes])
    players = make_population(experiment, make_world(experiment))
    found = players.train_on(0, 0, 0, None)
    terms = {name: float(value) for name, value in found.measures.items()}
    objective = found.objective.item()
    assert terms.keys() - {"loss", "accuracy", "length"} == names
    if "beta" in names:
        assert terms["beta"] == 0.5 and objective == pytest.approx(terms["loss"] + terms["cost"])
    elif "divergence" in names:
        weighted = 0.3 * terms["divergence"] + terms["distortion"]
        assert objective == pytest.approx(terms["loss"] + weighted, rel=1e-5)
    elif "cost" in names:
        assert terms["cost"] == pytest.approx(0.1 * terms["length"])


def test_schedules_of_beta():
    channel = channel_of()
    linear = elbo(channel, beta=2.0, beta_schedule="linear", beta_steps=4)
    betas = [linear._next_beta(torch.tensor(1.0)).item() for _ in range(6)]
    assert betas == [0, 0.5, 1, 1.5, 2, 2]
    bound = elbo(channel, beta=0.5, beta_schedule="constraint", loss_bound=1.0)
    betas = [bound._next_beta(torch.tensor(loss)).item() for loss in (2.0, 2.0, -10.0, 20.0)]
    # The averages are 2, 2, 0.8, 2.72: nothing, nothing, growth by tanh(-1/2) (-0.2), fall by 1.72.
    grown = 0.5 * math.exp(math.tanh(-0.5) * -0.2)
    assert betas == pytest.approx([0.5, 0.5, grown, grown * math.exp(-1.72)], rel=1e-5)


OF_PAIRS = """
import torch
from ecsuite.games.tasks.losses import TaskLoss


class Diverse(TaskLoss):
    of_pairs, same_rounds = "several", True

    def over_pairs(self, results, meetings):
        first, second = (each.message.log_probabilities()[0].exp() for each in results)
        assert [(each.sender, each.receiver) for each in meetings] == [(0, 0), (1, 1)]
        return super().over_pairs(results, meetings) - 0.5 * (first - second).abs().sum(-1).mean()


class Alone(TaskLoss):
    of_pairs = "one"
"""


def test_a_loss_of_all_pairs_of_a_step(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OF_PAIRS)
    two = ("society.senders=2", "society.receivers=2", "society.pairs_per_step=2")
    two += ("society.meets=list,pairs=[[0,0],[1,1]]",)

    def step(loss, *society):
        experiment = load_experiment("disc_tiny", [*SMALL, *society, f"loss={loss}"])
        return make_population(experiment, make_world(experiment)).train_on(0, 0, 0)

    mine = f"{file}:Diverse"
    played, plain = step(mine, *two), step("task", *two)
    assert played.objective.requires_grad and played.objective < plain.objective + 0.5
    several = "Diverse is of several of the pairs of a step: expected a society, such as society.senders=2"
    alone = "Alone is of one of the pairs of a step"
    for loss, society, text in ((mine, (), several), (f"{file}:Alone", two, alone)):
        with pytest.raises(ConfigError, match=text):
            step(loss, *society)


@pytest.mark.parametrize("receiver", ["gru", "transformer", "bidirectional", "fc2l"])
def test_an_impatient_receiver_answers_after_every_symbol(receiver):
    """Its loss is the mean over the losses of the beginnings of a message; in evaluation that of the whole."""
    game, world = game_of("disc_tiny", "loss.impatient=true", f"receiver={receiver},hidden_size=8")
    candidates, truth = game.round_parts(world.batch("train", 0))
    said = torch.tensor(
        [[3, 1, 2, 5, 1, 4, 2, 2], [2, 4, 0, 1, 3, 2, 2, 1], [5, 0, -1, 1, 1, 4, 0, 5], [0, -1, -1, 0, 0, 0, -1, 0]]
    )  # fmt: skip

    def losses(length):
        symbols = said.where(torch.arange(4)[:, None] < length, -1)
        received = Message(symbols=symbols, ends=None, length=length.float())
        return game.understand(received, candidates, truth, mode="greedy", generator=None).loss

    length = (said >= 0).sum(0)
    found = losses(length)
    game.eval()
    parts = [losses(length.clamp(max=number)) for number in (1, 2, 3, 4)]
    mean = [torch.stack(parts)[:number, row].mean() for row, number in enumerate(length.tolist())]
    assert torch.allclose(found, torch.stack(mean), atol=1e-5)
    assert torch.allclose(losses(length), parts[-1])


@pytest.mark.parametrize("channel", ["gumbel", "reinforce"])
@pytest.mark.parametrize("noise", ["erasure", "confusion", "deletion"])
def test_an_impatient_receiver_gets_the_noise_of_the_channel(channel, noise):
    settings = ("loss.impatient=true", f"channel={channel}", "channel.max_len=3")
    noisy = ("disc_tiny", *settings, f"channel.noise={noise},probability=1")
    (game, world), (noisy, _) = game_of("disc_tiny", *settings), game_of(*noisy)
    batch, losses = world.batch("train", 0), []
    for pair in (game, noisy):
        losses.append(pair.play(batch, "train", torch.Generator().manual_seed(1)).measures["loss"].item())
    assert losses[0] != losses[1]


def test_samples_have_the_probabilities_of_the_logits():
    logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(20000, 3)
    answers = choose(logits, torch.Generator().manual_seed(1))
    shares = torch.bincount(answers.chosen) / len(logits)
    assert torch.allclose(shares, torch.tensor([0.5, 0.3, 0.2]), atol=0.015)
    assert torch.allclose(answers.log_probability.exp(), torch.tensor([0.5, 0.3, 0.2])[answers.chosen])
    assert answers.entropy[0].item() == pytest.approx(1.0297, abs=1e-4)
    assert (choose(logits, None).chosen == 0).all()


def test_rewards_of_each_task():
    candidates = Truth(labels=torch.tensor([[0, 1], [1, 0]]), values=None)
    assert Correct(Correct.Options())(torch.tensor([1, 1]), candidates).tolist() == [1, 0]
    values = Truth(labels=torch.zeros(2, 1), values=torch.tensor([[2, 3], [2, 3]]))
    chosen = torch.tensor([[2, 3], [2, 0]])
    assert Correct(Correct.Options())(chosen, values).tolist() == [1, 0]
    assert ShareCorrect(Correct.Options())(chosen, values).tolist() == [1, 0.5]
    concept = Truth(labels=torch.tensor([[1, 0, 0]]), values=None)
    share = ShareCorrect(Correct.Options())(torch.tensor([[True, True, False]]), concept)
    assert share.item() == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", TASKS)
def test_rewards_train_both_agents_in_every_task(name):
    game, world = game_of(name, "loss=reward,entropy_coefficient=0.1")
    played = game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(1))
    assert -1 <= played.measures["loss"].item() <= 0
    played.objective.backward()
    without = [name for name, each in game.named_parameters() if each.grad is None or not each.grad.any()]
    assert [each for each in without if not each.endswith("bias") and "embed" not in each] == []
    one, other = (game.eval().play(world.batch("valid", 0), "greedy", None).measures for _ in range(2))
    assert one["loss"].item() == other["loss"].item()


def test_the_policy_gradient_of_the_receiver():
    """Two equally likely answers; the gradient is the advantage times that of the log-probability."""
    loss = RewardLoss(RewardLoss.Options())
    logits = torch.zeros(1, 2, requires_grad=True)
    truth = Truth(labels=torch.tensor([[1, 0]]), values=None)
    answers = choose(logits, torch.Generator().manual_seed(0))
    output = TaskOutput(loss=torch.zeros(1, 1), measures={}, answers=answers, truth=truth)
    spoken = message(torch.tensor([2.0]), log_probability=torch.zeros(1), entropy=torch.zeros(1))
    found, cost = loss(output, torch.ones(1, 1), spoken)
    right = answers.chosen.item() == 0
    assert found.item() == -float(right) and cost.item() == 0
    found.sum().backward()
    direction = torch.tensor([[0.5, -0.5]]) if right else torch.tensor([[-0.5, 0.5]])
    assert torch.allclose(logits.grad, -float(right) * direction)
    assert loss.baseline.item() == -float(right) and loss.num_steps.item() == 1


def test_the_baseline_of_the_receiver_is_the_mean_reward_so_far():
    """So a right answer after two that were right and two that were wrong is worth a half more."""
    loss = RewardLoss(RewardLoss.Options())
    truth = Truth(labels=torch.tensor([[1, 0], [1, 0]]), values=None)
    advantages = []
    for chosen in ([0, 0], [1, 1], [0, 1]):
        own = torch.zeros(2, requires_grad=True)
        answers = SampledAnswers(chosen=torch.tensor(chosen), log_probability=own, entropy=torch.zeros(2))
        output = TaskOutput(loss=torch.zeros(1, 2), measures={}, answers=answers, truth=truth)
        spoken = message(torch.ones(2), log_probability=torch.zeros(2), entropy=torch.zeros(2))
        loss(output, torch.ones(1, 2), spoken)[0].sum().backward()
        advantages.append((-own.grad).tolist())
    assert advantages == [[1, 1], [-1, -1], [0.5, -0.5]]


@pytest.mark.slow
def test_a_game_of_rewards_is_learnt():
    game, world = game_of("disc_tiny", "loss=reward", "training.batch_size=64", "channel.max_len=2")
    optimizer = torch.optim.Adam(game.parameters(), lr=0.01)
    noise = torch.Generator().manual_seed(1)
    for number in range(150):
        optimizer.zero_grad()
        game.play(world.batch("train", number), "train", noise).objective.backward()
        optimizer.step()
    measures = game.eval().play(world.batch("valid", 0), "greedy", None).measures
    assert measures["accuracy"] > 0.4  # 0.25 by chance


def test_a_greedy_baseline_is_the_loss_of_the_most_likely_message():
    game, world = game_of("disc_tiny", "channel.baseline=greedy", "receiver.perception.dropout=0.5")
    seen = {}
    objective = game.channel.objective
    game.channel.objective = lambda *given, **more: (seen.update(more), objective(*given, **more))[1]
    game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(1)).objective.backward()
    assert game.training and not game.channel.num_steps
    likely = game.eval().play(world.batch("train", 0), "greedy", None).measures["loss"]
    assert torch.allclose(seen["greedy"][0].mean(), likely)


def test_baselines_differ_in_the_sender_only():
    grads = {}
    for baseline in ("none", "mean", "greedy"):
        game, world = game_of("disc_tiny", f"channel.baseline={baseline}")
        for number in range(2):  # the first mean is 0, as if there were none
            game.zero_grad()
            played = game.play(world.batch("train", number), "train", torch.Generator().manual_seed(1))
            played.objective.backward()
        agents = (game.speaker.network, game.listener.network)
        grads[baseline] = [torch.cat([each.grad.flatten() for each in one.parameters()]) for one in agents]
    for one, other in (("none", "mean"), ("mean", "greedy")):
        assert not torch.allclose(grads[one][0], grads[other][0])
        assert torch.allclose(grads[one][1], grads[other][1])


def test_a_learnt_temperature_begins_with_that_of_the_options_and_learns():
    warm = ("disc_tiny", "channel.temperature_decay=1", "channel=gumbel,temperature=1.5")
    (game, world), (plain, _) = game_of(*warm, "channel.trainable_temperature=true"), game_of(*warm)
    batch = world.batch("train", 0)
    first, same = (each.play(batch, "train", torch.Generator().manual_seed(1)) for each in (game, plain))
    assert torch.allclose(first.objective, same.objective)
    first.objective.backward()
    assert game.channel.raw_temperature.grad.item() != 0


def test_a_reward_of_the_users_own_is_a_class_in_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n\n\nclass First:\n"
        "    @dataclass(frozen=True, kw_only=True)\n    class Options:\n        worth: float = 2.0\n\n"
        "    def __init__(self, options):\n        self.options = options\n\n"
        "    def __call__(self, chosen, truth):\n        return self.options.worth * (chosen == 0).float()\n"
    )
    reward = ("loss.kind=reward", f"loss.reward={file}:First,worth=3.0")
    game, world = game_of("disc_tiny", *reward)
    loss = game.play(world.batch("train", 0), "greedy", None).measures["loss"].item()
    assert loss <= 0 and loss * 8 % 3 == pytest.approx(0, abs=1e-5)
    assert list(load_experiment("disc_tiny", reward).code) == [str(file)]
