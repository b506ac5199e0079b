"""Agents are taught a language before they play: senders to say it, receivers to understand it.

A step of teaching is one of learning, as in generations (`ecsuite.games.players.learning`), of messages of a grammar or
a corpus. Everything follows from the number of the step and from what is in buffers, so that a run goes on from any of
its checkpoints.
"""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.agents.taught import NOTHING, Language
from ecsuite.games.config.sections import ROLES, Experiment, Role
from ecsuite.games.players.agent import Listener, Speaker
from ecsuite.games.players.agents import Agents
from ecsuite.games.players.learning import (
    LEARNING_LOSS,
    as_message,
    is_learning,
    learn_meanings,
    learn_messages,
    require_symbols,
)
from ecsuite.games.players.pair import StepResult
from ecsuite.games.players.taught_languages import TaughtLanguage
from ecsuite.games.worlds.world import Batch
from ecsuite.runtime.errors import ConfigError

STEPS, RIGHT, TOTAL, NEW_RIGHT, NEW_TOTAL = range(5)
"""What is kept of the teaching of a role: the steps that it took (0: it is not over), and rounds of all agents that are
right at its end, of those that were taught and of others."""
ALL_RIGHT = 1 - 1e-6
"""Accuracy of a round from which all of the answer is right."""


class Teaching:
    """What agents are taught, and how far they are.

    Args:
        players: Whose agents learn; what came of it is one of their buffers, `taught`.
        experiment: Says which agents are frozen, and the seed.

    Raises:
        ConfigError: If a language has no message for a meaning, or messages that the channel does not have, or agents
            are frozen.
    """

    def __init__(self, players: Agents, experiment: Experiment) -> None:
        self.players, self.seed = players, experiment.training.seed
        self.num_rounds = min(players.world.num_valid, players.world.num_train)
        self.languages: dict[Role, TaughtLanguage] = {}
        self.options: dict[Role, Language.Options] = {}
        for role in ROLES:
            part = players.sides(role)[0].taught
            if part == NOTHING:
                continue
            if experiment.training.is_frozen(role):
                raise ConfigError(
                    f"{role}.taught: the {role}s are frozen (training.freeze_{role}): teach them in a run of its "
                    f"own, and name that in training.init_{role}"
                )
            require_symbols(players.channel, f"{role}.taught", experiment.channel.kind)
            self.options[role] = options = part.options
            self.languages[role] = TaughtLanguage(
                f"{role}.taught", options, players.world, players.channel, self.seed
            )
        if self.languages:
            players.register_buffer("taught", torch.zeros(len(ROLES), 5, dtype=torch.long))
        self.ended: dict[Role, int] = {}
        """Steps that the teaching of a role took, where it is known to be over: a device is waited for until then."""

    @property
    def num_steps(self) -> int:
        """Steps before agents play: at most, as long as the teaching is not over."""
        return max((self._steps_of(role) for role in self.languages), default=0)

    def is_learning(self, role: Role, step: int) -> bool:
        """Whether agents of a role are taught at a step."""
        return role in self.languages and step < self._steps_of(role)

    def end_step(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """After a pass: see whether the teaching of a role is over; as it ends, agents begin to play.

        They play with an optimizer without a state, as agents that begin with the weights of another run do.

        Args:
            step: Steps that were made.
            optimizer: Trains them.
        """
        for role, options in self.options.items():
            is_last = step == options.epochs * self._per_pass(role)
            is_asked = is_last or options.until_accuracy is not None
            if step % self._per_pass(role) or step > self._steps_of(role) or not is_asked:
                continue
            found = self.counts(role)
            lowest = float((found[:, RIGHT] / found[:, TOTAL].clamp(min=1)).min())
            if is_last or lowest >= cast(float, options.until_accuracy):
                kept = found.sum(0)
                kept[STEPS] = step
                self.players.taught[ROLES.index(role)] = kept
        if step == self.num_steps:
            optimizer.state.clear()

    def learn(self, step: int) -> StepResult:
        """The loss of the agents of all roles that are taught at a step."""
        players = self.players
        results, num_plays = [], dict[Role, Any]()
        for role in ROLES:
            if not self.is_learning(role, step):
                continue
            agents = players.sides(role)
            batch, message = self._lesson(role, step)
            num_plays[role] = np.arange(len(agents)), np.ones(len(agents))
            noises = players.noises(step, range(role == "receiver", 2 * len(agents), 2))
            if not len(batch):
                continue
            messages = [message] * len(agents)
            if role == "sender":
                results.append(learn_messages(cast(list[Speaker], agents), batch, messages, noises))
            else:
                pairs = [players.pair(0, index) for index in range(len(agents))]
                results.append(learn_meanings(pairs, batch, messages, noises))
        players.num_plays = num_plays
        zero = torch.zeros((), device=players.device)
        objective = torch.stack([result.objective for result in results]).sum() if results else zero
        losses = [result.measures[LEARNING_LOSS] for result in results]
        measures = {LEARNING_LOSS: torch.stack(losses).mean() if losses else zero}
        return is_learning(StepResult(objective=objective, measures=measures))

    @torch.no_grad()
    def counts(self, role: Role, *, others: bool = True) -> Tensor:
        """Rounds that each agent of a role has right, as the language has it, (num_agents, 5).

        A message is right if the language has it for the meaning, an answer if the task takes it as one. Rounds are
        those of the first epoch of training that are taught and, if asked for, of validation that are not, at most as
        many as an evaluation has.
        """
        players, language, world = self.players, self.languages[role], self.players.world
        counts = torch.zeros(len(players.sides(role)), 5, dtype=torch.long)
        sizes = world.sizes.batch_size, world.sizes.evaluation_batch_size
        players.eval()
        for split, size, right in list(zip(("train", "valid"), sizes, (RIGHT, NEW_RIGHT), strict=True))[
            : 1 + others
        ]:
            for number in range(-(-self.num_rounds // size)):
                batch = world.batch(split, number).cut(self.num_rounds - number * size)
                batch, meanings = language.rounds(world, batch, is_taught=right == RIGHT)
                if not len(batch):
                    continue
                message = as_message(language.ids(meanings, 0).to(players.device))
                for index in range(len(counts)):
                    are_right = self._are_right(role, index, batch, meanings, message)
                    counts[index, right] += int(are_right.sum())
                    counts[index, right + 1] += len(batch)
        players.train()
        return counts

    def accuracies(self) -> dict[str, float]:
        """How well agents of each role know what they were taught, now: `taught_sender`, `taught_receiver`."""
        figures = {}
        for role in self.languages:
            found = self.counts(role, others=False).sum(0)
            figures[f"taught_{role}"] = int(found[RIGHT]) / max(int(found[TOTAL]), 1)
        return figures

    def described(self) -> dict[str, Any]:
        """What was taught, and what came of it, for the metadata of the run."""
        described: dict[str, Any] = {}
        for role, language in self.languages.items():
            steps, right, total, new_right, new_total = self.players.taught[ROLES.index(role)].tolist()
            described[role] = {
                **language.described(),
                "steps": steps,
                "accuracy": right / total if total else None,
                "accuracy_of_others": new_right / new_total if new_total else None,
            }
        return {"taught": described} if described else {}

    def _are_right(
        self, role: Role, index: int, batch: Batch, meanings: NDArray[np.int64], message: Message
    ) -> Tensor:
        """Which rounds an agent has right, (batch,)."""
        side = self.players.sides(role)[index]
        if isinstance(side, Speaker):
            said = side.generate_message(batch, "greedy", None)
            return self.languages[role].has(meanings, said.symbols)
        assert isinstance(side, Listener)
        pair = self.players.pair(0, index)
        understood = pair.understand(message, *pair.round_parts(batch), mode="greedy", generator=None)
        return understood.measures["accuracy"] > ALL_RIGHT

    def _lesson(self, role: Role, step: int) -> tuple[Batch, Message]:
        """The rounds of a step that are taught, and what is said in them."""
        world, language = self.players.world, self.languages[role]
        epoch, place = divmod(step, self._per_pass(role))
        size = self.options[role].batch_size or world.sizes.batch_size
        drawn = world.draw("train", step, size).cut(world.num_train - place * size)
        batch, meanings = language.rounds(world, world.as_asked(drawn, "train", step), is_taught=True)
        return batch, as_message(language.ids(meanings, epoch).to(self.players.device))

    def _per_pass(self, role: Role) -> int:
        """Steps of a pass over the training examples."""
        size = self.options[role].batch_size or self.players.world.sizes.batch_size
        return -(-self.players.world.num_train // size)

    def _steps_of(self, role: Role) -> int:
        """Steps of the teaching of a role; at most, if it is not over."""
        if role not in self.ended:
            done = int(self.players.taught[ROLES.index(role), STEPS].item())
            if not done:
                return self.options[role].epochs * self._per_pass(role)
            self.ended[role] = done
        return self.ended[role]
