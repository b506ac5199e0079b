"""How the agents of a society play, learn and are evaluated.

It is used as a `Game` is: `train_on` plays a step of training, `play` a batch of evaluation.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.games.channels import Mode
from ecsuite.games.game import Game, PlayResult, StepResult
from ecsuite.games.noise import Noise, noise_generator
from ecsuite.games.sections import ROLES, Experiment, Role
from ecsuite.games.society.agents import Agents
from ecsuite.games.society.generations import Generations
from ecsuite.games.society.learning import LEARNING_LOSS, learn_messages, require_symbols
from ecsuite.games.society.meetings import Pair
from ecsuite.games.society.side_by_side import SideBySide
from ecsuite.games.society.voting import votes
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import initial_weights

RECENT = 0.99
"""Weight of the past in the running accuracy of a sender, by which the one that others imitate is chosen (Chaabouni et
al. 2022, table 3)."""
LEARNING = "learning"
"""Measure of training: the share of steps in which agents learnt what others said, and none played."""


class Society(Agents):
    """The senders and receivers of an experiment, and how they play.

    Args:
        experiment: Everything that the game and the society are made of.
        world: The world of the game.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: As `Agents` does; or if more are replaced than there are, or agents are frozen.
    """

    recent: Tensor

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> None:
        _refuse(experiment)
        super().__init__(experiment, world, dtype)
        if self.options.voting and not (self.task.scores_candidates and self.task.has_choices):
            raise ConfigError(f"society.voting: task {experiment.task.kind} has no candidates to vote for")
        if self.options.imitate_every is not None:
            require_symbols(self.channel, "society.imitate_every", experiment.channel.kind)
        self.register_buffer("recent", torch.zeros(len(self.senders)))  # accuracy of late, by sender
        self.generations = Generations(self, experiment)
        self.learns = self.generations.options.transmit or self.options.imitate_every is not None
        self.side_by_side = SideBySide(parts_are_own=bool(experiment.code))
        self.num_plays: Mapping[Role, Any] = {}

    def chance(self) -> Mapping[str, float]:
        """Chance level of each measure that has one; the lowest accuracy of a pair and that of a vote have its own."""
        levels = dict(self.task.chance())
        if len(self.schedule.pairs) > 1:
            levels["lowest_accuracy"] = levels["accuracy"]
        if self.options.voting:
            levels["voting_accuracy"] = levels["accuracy"]
        return levels

    def train_on(self, number: int, step: int, epoch: int) -> StepResult:
        """Play batch `number` of training at a step: each pair one of its own; or learn, where it is time to.

        The objective is the sum over pairs; see `scale_gradients`.
        """
        if (learning := self.generations.learning_step(step)) is not None:
            self.num_plays = {learning.role: (learning.index, np.ones(len(learning.index)))}
            if learning.role == "receiver" and self.generations.options.receivers_learn == "sender":
                return self._listen(learning.index.tolist(), number, step, epoch)
            noises = [self._noise(number, place) for place in range(len(learning.index))]
            return _of_learning(self.generations.learn(learning, noises))
        every = self.options.imitate_every
        if every is not None and step and step % every == 0:
            return _of_learning(self._imitate(number, step))
        pairs = self.schedule.of_step(step)
        self._count(pairs)
        played = self._play_pairs(pairs, number, step, epoch)
        self._note_accuracy(pairs, played)
        objective = torch.stack([each.objective for each in played]).sum()
        measures = means([each.measures for each in played])
        return StepResult(
            objective=objective,
            measures={**measures, LEARNING: torch.zeros_like(measures["loss"])} if self.learns else measures,
        )

    def means_by_kind(self, means: Mapping[str, float]) -> dict[str, float]:
        """Means over all steps, as means over the steps in which agents played and those in which they learnt."""
        share = means.get(LEARNING, 0.0)
        found = {}
        for name, value in means.items():
            steps = 1.0 if name == LEARNING else share if name == LEARNING_LOSS else 1.0 - share
            if steps > 0:
                found[name] = value / steps
        return found

    def play(self, batch: Batch, mode: Mode, generator: Noise | None = None, epoch: int = 0) -> PlayResult:
        """Play a batch with every pair that meets. See `Game.play`.

        Measures are of each pair, (num_pairs,), that of votes of each sender, (num_senders,): see `summary`.
        """
        played: list[PlayResult] = []
        extra: list[Tensor] = []
        for sender in range(len(self.senders)):
            partners = self.schedule.partners(sender)
            rounds = self.pair(sender, partners[0]).rounds(batch)
            speaker = self.pair(sender, partners[0])
            message = speaker.message(rounds.shown, rounds.num_positive, mode, generator, epoch)
            for receiver in partners:
                game = self.pair(sender, receiver)
                understood = game.understand(
                    message, rounds.candidates, rounds.truth, mode=mode, generator=generator
                )
                played.append(game.result(understood))
            if self.options.voting:
                voters = [self.pair(sender, each) for each in partners]
                extra.append(votes(voters, rounds, message, generator))
        measures = {
            name: torch.stack([each.measures[name] for each in played]) for name in played[0].measures
        }
        if extra:
            measures["voting_accuracy"] = torch.stack(extra)
        return replace(played[0], measures=measures)

    def summary(self, measures: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        """The figures of an evaluation from its measures by pair: means over pairs, and the lowest accuracy of one."""
        found = {name: float(values.mean()) for name, values in measures.items()}
        if len(self.schedule.pairs) > 1:
            found["lowest_accuracy"] = float(measures["accuracy"].min())
        return found

    def scale_gradients(self, step: int) -> None:
        """Make the gradient of each weight the mean over the pairs in which it learnt.

        A perception that an agent uses for both learns where it sends and where it receives. What learns in no pair,
        such as the weights of a slow agent, has no gradient, and is left as it is by the optimizer.
        """
        slow, plays = self._slow(step), Counter[nn.Parameter]()
        for role in ROLES:
            for index, count in zip(*self.num_plays.get(role, ((), ())), strict=True):
                for parameter in self.weights_of(role, index):
                    plays[parameter] += 0 if index in slow[role] else int(count)
        for parameter, count in plays.items():
            if parameter.grad is not None and count != 1:
                parameter.grad = parameter.grad.div_(count) if count else None

    def begin_step(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """Replace agents where a generation ends with this step."""
        self.generations.begin_step(step, optimizer)

    def _slow(self, step: int) -> dict[Role, set[int]]:
        """The agents whose weights do not change at a step."""
        rng = np.random.default_rng([self.seed, step, *b"speeds"])
        return {
            role: {
                index
                for index, draw in enumerate(rng.random(self.options.number(role)))
                if draw >= self.options.speed(role, index)
            }
            for role in ROLES
        }

    def _play_pairs(
        self, pairs: list[Pair], number: int, step: int, epoch: int, fixed: Collection[Role] = ()
    ) -> Sequence[StepResult]:
        """Play batches of training, one with each pair; weights of slow agents and of fixed roles do not learn."""
        slow = self._slow(step)
        unchanged = [
            {role for role in ROLES if role in fixed or getattr(pair, role) in slow[role]} for pair in pairs
        ]
        games = [self.pair(pair.sender, pair.receiver) for pair in pairs]
        batches = [self._batch(number, place) for place in range(len(pairs))]
        noises = [self._noise(number, place) for place in range(len(pairs))]
        return self.side_by_side.play(games, batches, noises, epoch, unchanged)

    def _listen(self, receivers: list[int], number: int, step: int, epoch: int) -> StepResult:
        """Receivers learn what senders say now; the weights of senders do not change."""
        pairs = self.schedule.with_receivers(receivers, step)
        played = self._play_pairs(pairs, number, step, epoch, fixed=["sender"])
        loss = torch.stack([each.measures["loss"] for each in played]).mean()
        objective = torch.stack([each.objective for each in played]).sum()
        return _of_learning(StepResult(objective=objective, measures={LEARNING_LOSS: loss}))

    def _imitate(self, number: int, step: int) -> StepResult:
        """All senders but the best of late learn its messages, or some of them (Chaabouni et al. 2022, section 2.3)."""
        drawn = np.arange(len(self.senders))
        if self.options.students is not None:
            rng = np.random.default_rng([self.seed, step, *b"students"])
            drawn = np.sort(rng.choice(drawn, 1 + self.options.students, replace=False))
        best = int(drawn[int(self.recent[torch.from_numpy(drawn)].argmax())])
        learners = [index for index in drawn.tolist() if index != best]
        self.num_plays = {"sender": (learners, np.ones(len(learners)))}
        batch = self._batch(number, 0)
        with torch.no_grad():
            self.eval()
            message = self.speakers()[best].generate_message(batch, "greedy", None)
            self.train()
        games = self.speakers()
        noises = [self._noise(number, place) for place in range(len(learners))]
        return learn_messages([games[index] for index in learners], batch, [message] * len(learners), noises)

    def _batch(self, number: int, place: int) -> Batch:
        """The batch of the pair at a place of a step: in an epoch, each place has every batch once."""
        size = -(-self.world.num_train // self.world.sizes.batch_size)
        epoch, within = divmod(number, size)
        return self.world.batch("train", epoch * size + (within + place) % size)

    def _noise(self, number: int, place: int) -> torch.Generator:
        purpose = "train" if place == 0 else f"train, pair {place}"
        return noise_generator(self.seed, purpose, number, self.device)

    def _count(self, pairs: list[Pair]) -> None:
        """Note how many pairs of the step each agent is in."""
        self.num_plays = {
            role: np.unique([getattr(pair, role) for pair in pairs], return_counts=True) for role in ROLES
        }

    @torch.no_grad()
    def _note_accuracy(self, pairs: list[Pair], played: Sequence[StepResult]) -> None:
        if self.options.imitate_every is None:
            return
        for pair, each in zip(pairs, played, strict=True):
            now = each.measures["accuracy"]
            self.recent[pair.sender] = RECENT * self.recent[pair.sender] + (1 - RECENT) * now


def means(measures: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each measure over pairs."""
    return {name: torch.stack([each[name] for each in measures]).mean() for name in measures[0]}


def make_players(experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> Game | Society:
    """The agents of an experiment, with the initial weights of its seed: a single pair, or a society."""
    with initial_weights(experiment.training.seed):
        return (Society if experiment.is_society else Game)(experiment, world, dtype)


def _of_learning(result: StepResult) -> StepResult:
    return replace(result, measures={**result.measures, LEARNING: torch.ones_like(result.objective.detach())})


def _refuse(experiment: Experiment) -> None:
    """Raise `ConfigError` for what a society can't do."""
    training = experiment.training
    for role in ROLES:
        if training.init_of(role) is not None or getattr(training, f"freeze_{role}"):
            raise ConfigError(
                f"training: the {role} is frozen or begins with another run's weights, which needs a single pair"
            )
