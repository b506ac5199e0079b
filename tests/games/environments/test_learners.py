"""What agents that act and speak learn from: bonuses, values of actions, and the clipped objective, by hand."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.environments.episodes import played_again
from ecsuite.games.plays.play import make_play
from ecsuite.runtime.errors import ConfigError


def play_of(*settings):
    small = ("play.environment=reference,num_steps=3", "play.agents.hidden_size=8", "training.batch_size=8")
    found = load_experiment("speaker_listener", [*small, *settings])
    play = make_play(found, torch.device("cpu"))
    return play, play.practised(torch.arange(64), 0)


@pytest.mark.parametrize("of", ["meanings", "observations"])
def test_a_bonus_for_saying_what_one_means(of):
    play, episodes = play_of(f"play.learner.signalling_of={of}")
    goals = episodes.meanings[..., 0]  # (steps, batch, agents)
    shares = [np.bincount(goals[0, :, agent]) / 64 for agent in range(2)]
    of_goals = np.mean([-(share * np.log(share)).sum() for share in shares])
    name_of_goal = [50.0 * torch.eye(4)[goals[..., agent] + 1] for agent in range(2)]
    assert play.learner.signalled(replace(episodes, logits=name_of_goal)) == pytest.approx(of_goals)
    # A word of its own for each half of the episodes, whatever is meant: certain in each, but not of meanings.
    half = torch.arange(64) % 2
    half_said = [50.0 * torch.eye(4)[half + 1].expand(3, -1, -1)] * 2
    told = play.learner.signalled(replace(episodes, logits=half_said))
    lost = []
    for agent in range(2):
        words = np.array([np.bincount(half[goals[0, :, agent] == goal], minlength=2) for goal in range(3)])
        likely = words / words.sum(1, keepdims=True)
        nats = np.where(words, likely * np.log(np.maximum(likely, 1e-9)), 0).sum(1)
        lost.append(-(nats * words.sum(1)).sum() / 64)
    wanted = np.log(2) - (0.2 * np.mean(lost) if of == "meanings" else 0)
    assert float(told) == pytest.approx(wanted, abs=1e-5) and 0.5 < np.mean(lost) < np.log(2)


OWN_CHANNEL = """from ecsuite.games.channels.channels import ReinforceChannel
from ecsuite.games.channels.message_builders import DiscreteMessageBuilder

class Builder(DiscreteMessageBuilder):
    def step(self, logits):
        return super().step(logits / 2)

class Warm(ReinforceChannel):
    def start_training_message(self, like, generator, epoch):
        made = super().start_training_message(like, generator, epoch)
        return Builder(self.options, made.noise, track=True)
"""


def test_messages_of_an_own_channel_have_its_probabilities(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN_CHANNEL)
    play, episodes = play_of(f"channel={file}:Warm,vocab_size=4,max_len=2,length=fixed")
    found, _ = play.learner._of_messages(episodes, 0)
    expected = torch.stack([step[0].log_probability for step in episodes.messages])
    torch.testing.assert_close(found, expected)
    with pytest.raises(ConfigError, match="ppo learns symbols like actions: expected channel reinforce"):
        play_of(f"channel={file}:Warm", "play.learner=ppo")


SETTINGS = (
    "play.environment=guided_grid,size=3,num_steps=4", "play.learner=ppo,trace=0.5,discount=0.9,clip=0.1,entropy=0.3",
    "play.learner.baseline_weight=0.7", "play.learner.signalling=0", "play.agents.hidden_size=8",
    "channel=reinforce,vocab_size=4,max_len=2,length=variable",
)  # fmt: skip


def ppo_play(*settings):
    found = load_experiment("speaker_listener", [*SETTINGS, *settings])
    return make_play(found, torch.device("cpu"))


def test_the_objective_is_the_clipped_one_of_actions_and_symbols_together():
    pytest.importorskip("torchrl", reason="learner ppo needs torchrl")
    play = ppo_play()
    with torch.no_grad():
        episodes = play.practised(torch.arange(32), 0)
        before = play.learner.of_choices(episodes)[0]
        for each in play.agents.parameters():
            each.add_(0.1 * torch.randn(each.shape, generator=torch.Generator().manual_seed(1)))
    objective, figures = play.learner.objective(episodes, 0, play.agents)
    # The same by hand: `of_choices` knows the probabilities of messages as the channel computed them.
    again = played_again(episodes, play.agents)
    choices, is_made = play.learner.choices(episodes)
    assert not is_made[:, :, 1, 1:].any() and is_made[:, :, 0, 1].all()  # the walker says nothing
    now = torch.zeros_like(before)
    entropy = torch.zeros_like(before)
    for agent in range(2):
        logits = [again.scores[agent]]
        if agent == 0:
            logits = [logits[0], *again.logits[0].unflatten(2, (2, -1)).unbind(2)]
        for place, each in enumerate(logits):
            likely = each.log_softmax(-1)
            made = is_made[:, :, agent, place]
            now[..., agent] += likely.gather(-1, choices[:, :, agent, place, None])[..., 0] * made
            entropy[..., agent] -= (likely.exp() * likely).sum(-1) * made
    rewards = (episodes.rewards / play.learner.returns(episodes)[1]).float()
    values = play.learner.baseline(play.learner.known(episodes))
    alive = episodes.alive[..., None]
    advantage, later = torch.zeros_like(values), 0.0
    for step in reversed(range(len(values))):
        goes_on = alive[step + 1] if step + 1 < len(values) else torch.zeros_like(alive[0])
        after = values[step + 1] if step + 1 < len(values) else 0.0
        error = rewards[step] + 0.9 * goes_on * after - values[step]
        later = advantage[step] = error + 0.45 * goes_on * later
    advantage, mask = advantage.detach(), episodes.counts.float()
    error = ((values - (advantage + values).detach()) ** 2 * mask).sum() / mask.sum()
    advantage = advantage / ((advantage**2 * mask).sum() / mask.sum()).sqrt()
    ratio = (now - before).exp()
    gain = torch.minimum(ratio * advantage, ratio.clamp(0.9, 1.1) * advantage)
    wanted = 0.7 * error - ((gain + 0.3 * entropy) * mask).sum() / mask.sum()
    assert (ratio > 1.1).any() and (ratio < 0.9).any()
    torch.testing.assert_close(objective, wanted)
    assert 0 < figures["clipped"] < 1


def test_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchrl.objectives", None)
    with pytest.raises(ConfigError, match=r"^learner ppo needs torchrl: pip install -e '\.\[torchrl\]'"):
        ppo_play()


GRID = "play.environment=guided_grid,size=2,num_steps=6"


def test_what_an_action_is_worth_ends_with_the_episode():
    """Q-learning by hand: the reward, and the highest score of the next step, if there is one."""
    gumbel = "channel=gumbel,length=fixed,vocab_size=5,max_len=1"
    play, episodes = play_of(GRID, "play.learner=q_learning,discount=0.5", gumbel)
    objective, _ = play.learner.objective(episodes, 0, play.agents)
    alive, errors = episodes.alive.numpy(), []
    scores = [each.detach().numpy() for each in episodes.scores]
    for step, row in zip(*np.nonzero(alive), strict=True):
        for agent, own in enumerate(scores):
            wanted = episodes.rewards[step, row, agent].item()
            if step + 1 < len(alive) and alive[step + 1, row]:
                wanted += 0.5 * own[step + 1, row].max()
            errors.append((own[step, row, int(episodes.actions[step, row, agent])] - wanted) ** 2)
    assert not alive.all() and objective.item() == pytest.approx(np.mean(errors), rel=1e-4)
