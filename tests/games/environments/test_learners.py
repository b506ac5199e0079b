"""What agents that act and speak learn from: bonuses of what they say, rewards they share, and networks apart."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play


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
    told = play.learner.signalled(
        replace(episodes, logits=[50.0 * torch.eye(4)[half + 1].expand(3, -1, -1)] * 2)
    )
    lost = []
    for agent in range(2):
        words = np.array([np.bincount(half[goals[0, :, agent] == goal], minlength=2) for goal in range(3)])
        likely = words / words.sum(1, keepdims=True)
        lost.append(
            -(np.where(words, likely * np.log(np.maximum(likely, 1e-9)), 0).sum(1) * words.sum(1)).sum() / 64
        )
    wanted = np.log(2) - (0.2 * np.mean(lost) if of == "meanings" else 0)
    assert float(told) == pytest.approx(wanted, abs=1e-5) and 0.5 < np.mean(lost) < np.log(2)


def test_rewards_may_be_shared(monkeypatch):
    seen = {}
    for shared in ("false", "true"):
        play, _ = play_of(f"play.share_rewards={shared}")
        objective = play.learner.objective

        def watched(episodes, step, agents, objective=objective, shared=shared):
            seen[shared] = episodes.rewards.numpy()
            return objective(episodes, step, agents)

        play.learner.objective = watched
        play.optimise = type(
            "Nothing", (), {"begin": int, "step": int, "gradients": id, "add": lambda *_: None}
        )
        play.train_step(0)
    assert (seen["false"][..., 0] != seen["false"][..., 1]).all()
    assert np.array_equal(seen["true"], np.repeat(seen["false"].mean(2, keepdims=True), 2, axis=2))


def test_what_agents_do_does_not_change_the_networks_they_speak_with():
    play, episodes = play_of("play.agents.speaks_apart=true", "play.agents.is_shared=true")
    acts, speaks = play.agents.networks
    torch.stack(list(episodes.scores)).sum().backward()
    assert any(each.grad.any() for each in acts.parameters())
    assert not any(each.grad.any() for each in speaks.parameters())
    assert episodes.scores[0].shape[-1] == 5 and episodes.logits[0].shape[-1] == 4


def test_without_a_baseline_what_was_done_becomes_more_likely_by_what_came_of_it():
    settings = ("play.learner.discount=1", "play.learner.entropy=0", "play.learner.signalling=0")
    play, episodes = play_of(*settings, "play.learner.baseline=none")
    came = torch.zeros_like(episodes.rewards)
    came[-1] = 2.0
    objective, figures = play.learner.objective(replace(episodes, rewards=came), 0, play.agents)
    likely = [
        scores.log_softmax(-1).gather(-1, episodes.actions[..., agent, None]).mean()
        for agent, scores in enumerate(episodes.scores)
    ] + [message.log_probability.mean() / len(came) for step in episodes.messages for message in step]
    assert objective.item() == pytest.approx(-sum(likely).item() / 2, rel=1e-5)
    objective.backward()
    assert not any(each.grad is not None for each in play.learner.baseline.parameters())
    assert "value_error" not in figures
    # Where all went wrong, what was done becomes less likely: a baseline would take that for what was to be expected.
    wrong, _ = play.learner.objective(replace(episodes, rewards=-came), 0, play.agents)
    assert wrong.item() == pytest.approx(-objective.item(), rel=1e-5)


GRID = "play.environment=guided_grid,size=2,num_steps=6"


def test_after_its_end_an_episode_brings_nothing():
    """What the world says of steps beyond does not matter."""
    _, episodes = play_of(GRID)
    alive = episodes.alive.numpy()
    assert not alive.all() and alive[0].all()
    assert (episodes.rewards.numpy()[~alive] == 0).all() and (episodes.rewards.numpy()[alive] != 0).all()


def test_only_what_is_said_costs():
    """Who answers without speaking says nothing, whatever its network makes."""
    dialogue = "play.environment={kind: task_and_talk, turns: 1, world: {num_attributes: 2, num_values: 3}}"
    _, episodes = play_of(dialogue, "channel=reinforce,vocab_size=4,max_len=1,length=fixed")
    speaking = episodes.speaking.numpy()
    assert (episodes.counts.numpy() & ~speaking).any()
    assert np.array_equal(episodes.num_symbols.numpy(), speaking.astype(int))


def test_what_an_action_is_worth_ends_with_the_episode():
    """Q-learning by hand: the reward, and the highest score of the next step, if there is one."""
    play, episodes = play_of(
        GRID, "play.learner=q_learning,discount=0.5", "channel=gumbel,length=fixed,vocab_size=5,max_len=1"
    )
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
