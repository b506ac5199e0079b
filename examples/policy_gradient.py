"""Two tables of policies that play a Lewis game, with several updates for each rollout (Schulman et al. 2017)."""

from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.corpus import Corpus
from ecsuite.games.plays.play import TrainedPlay
from ecsuite.parts.config import Count, Positive


class PolicyGradient(TrainedPlay):
    """Lewis game in which correct answers reward speaker and listener; both learn by clipped updates (PPO)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Set by `--set play.num_meanings=8`."""

        num_meanings: Count = 5
        """Number of meanings, and of symbols."""
        num_updates: Count = 4
        """Updates for each rollout."""
        clip: Positive = 0.2
        """Maximum relative change of the probability of an action during the updates of a rollout."""

    def __init__(self, options, *, experiment, device):
        super().__init__(options, experiment=experiment, device=device)
        size = options.num_meanings
        self.module = nn.ParameterList(torch.zeros(size, size) for _ in range(2)).to(device)

    def chance(self):
        """Probability of a correct random answer."""
        return {"accuracy": 1 / self.options.num_meanings}

    def update(self, step, optimise):
        """Play rounds, and update the policies several times by their rewards."""
        rng, size = self.noise("rounds", step), self.experiment.training.batch_size
        meanings = torch.randint(self.options.num_meanings, (size,), generator=rng, device=self.device)
        with torch.no_grad():
            symbols = self.module[0][meanings].softmax(-1).multinomial(1, generator=rng)[:, 0]
            answers = self.module[1][symbols].softmax(-1).multinomial(1, generator=rng)[:, 0]
        actions = [(meanings, symbols), (symbols, answers)]
        before = [chance.detach() for chance in self.probabilities(actions)]
        reward = (answers == meanings).float()
        for _ in range(self.options.num_updates):
            ratios = [now / old for now, old in zip(self.probabilities(actions), before, strict=True)]
            low, high = 1 - self.options.clip, 1 + self.options.clip
            gains = [torch.min(each, each.clamp(low, high)) * (reward - reward.mean()) for each in ratios]
            optimise(-torch.stack(gains).mean())
        return {"accuracy": reward.mean()}

    def probabilities(self, actions):
        """Return the probabilities of the chosen actions, (batch,) for each agent."""
        return [
            table[given].softmax(-1).gather(1, action[:, None])[:, 0]
            for table, (given, action) in zip(self.module, actions, strict=True)
        ]

    def evaluate(self):
        """Return the share of correct answers with the most likely symbols."""
        said = self.module[0].argmax(-1)
        right = self.module[1][said].argmax(-1) == torch.arange(len(said), device=self.device)
        return {"accuracy": float(right.float().mean())}

    def corpus(self, evaluation):
        """Return a corpus with the most likely symbol of each meaning."""
        said = self.module[0].argmax(-1)
        return Corpus((1 + said[:, None]).tolist(), meanings=torch.arange(len(said))[:, None].numpy())
