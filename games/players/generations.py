"""Generations: which agents are replaced when, what is written down before, and what new agents learn from it.

Everything follows from the number of the step, so that a run goes on from any of its checkpoints. A generation begins
with replacing agents; then new senders learn messages, then new receivers learn what they mean, then all play.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import PAD
from ecsuite.games.channels.channels import Mode
from ecsuite.games.channels.noise import Noise, noise_generator
from ecsuite.games.config.sections import ROLES, Experiment, Role
from ecsuite.games.players.agents import Agents
from ecsuite.games.players.learning import as_message, filled, learn_meanings, learn_messages, require_symbols
from ecsuite.games.players.options import GenerationOptions
from ecsuite.games.players.pair import StepResult
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LearningStep:
    """A step in which agents learn what was written down."""

    role: Role
    index: NDArray[np.int64]
    """The agents that learn."""
    generation: int
    number: int
    """Of the step among those in which its role learns in this generation, from 0; of a step of several batches, of the
    batch."""


class Generations:
    """The generations of players.

    Args:
        players: Whose agents are replaced; what was written down is one of its buffers, `written`.
        experiment: Has the section `generations`.

    Raises:
        ConfigError: If more are to be replaced than there are, or more is to be written down than there are examples,
            or the channel has no symbols.
    """

    def __init__(self, players: Agents, experiment: Experiment) -> None:
        self.players, self.options = players, experiment.generations
        self.seed = experiment.training.seed
        # The last bottleneck that was drawn: every step of learning is about some of its rounds.
        self._drawn: tuple[int, Batch] | None = None
        _check(self.options, experiment)
        if self.options.transmit:
            require_symbols(players.channel, "generations.transmit", experiment.channel.kind)
            num_symbols = players.channel.max_len + players.channel.has_eos
            shape = (len(players.senders), self.options.size, num_symbols)
            players.register_buffer("written", torch.full(shape, PAD))

    def _begins(self, step: int) -> int | None:
        """The generation that begins with a step, counted from 1; None: none does."""
        every = self.options.every
        return None if every is None or step == 0 or step % every else step // every

    def has_begun(self, step: int) -> bool:
        """Whether a step was begun before: the run goes on from the state in which its first update diverged.

        Nothing is left to do then: the messages were written down by agents that are there no more.
        """
        if (generation := self._begins(step)) is None or self.options.which == "none":
            return False
        players = self.players
        begun = [
            players.first_steps[self.replaced(role, generation) + first]
            for role, first in zip(ROLES, (0, len(players.senders)), strict=True)
        ]
        return bool((torch.cat(begun) == step).any())

    def begin_step(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """Where a generation ends with this step: write messages down, and replace agents."""
        if (generation := self._begins(step)) is None:
            return
        if self.options.transmit:
            self._write_down(generation)
        for role in ROLES:
            for index in self.replaced(role, generation).tolist() if self.options.which != "none" else ():
                self.players.replace_agent(role, index, step, optimizer)

    def replaced(self, role: Role, generation: int) -> NDArray[np.int64]:
        """The agents of a role that are new in a generation, counted from 1; where none is replaced, those that learn.

        The oldest are those that began first; of the same age, those of the lowest numbers. Frozen ones stay.
        """
        chosen = self._chosen(role, generation)
        return chosen[[not self.players.sides(role)[number].is_frozen for number in chosen.tolist()]]

    def _chosen(self, role: Role, generation: int) -> NDArray[np.int64]:
        """The same with frozen ones."""
        number = self.players.options.number(role)
        if self.options.roles not in ("both", f"{role}s"):
            return np.zeros(0, dtype=np.int64)
        if self.options.which in ("all", "none"):
            return np.arange(number)
        if self.options.which == "oldest":  # in turn: who was replaced is the youngest
            return np.sort((np.arange(self.options.number) + (generation - 1) * self.options.number) % number)
        together = self.players.options.agents is not None
        name = "agents" if together else role
        rng = np.random.default_rng([self.seed, generation, *f"{name} replaced".encode()])
        return np.sort(rng.choice(number, self.options.number, replace=False))

    def learning_step(self, step: int) -> LearningStep | None:
        """What is learnt in a step; None: agents play."""
        options = self.options
        if options.every is None or step < options.every or not options.transmit:
            return None
        generation, within = divmod(step, options.every)
        for role in ROLES:
            num_steps = options.sender_steps if role == "sender" else options.receiver_steps
            if within < num_steps:
                return LearningStep(role, self.replaced(role, generation), generation, within)
            within -= num_steps
        return None

    def learn(self, learning: LearningStep, noises: Sequence[Noise]) -> StepResult:
        """The loss of a learning, with the noise of each agent that learns.

        A new sender learns the messages of the one whose place it takes, a receiver those of the sender of its number;
        receivers of which there are more than senders take the senders in turn.
        """
        players = self.players
        batch, rows = self._examples(learning)
        num_senders = len(players.senders)
        index = learning.index.tolist()
        messages = [as_message(players.written[number % num_senders, rows].t()) for number in index]
        if learning.role == "sender":
            return learn_messages([players.senders[number] for number in index], batch, messages, noises)
        return learn_meanings([players.pair(0, number) for number in index], batch, messages, noises)

    def _examples(self, learning: LearningStep) -> tuple[Batch, Tensor]:
        """The rounds of a step of learning, and their places among those that were written down."""
        size = self.options.batch_size or min(self.players.world.sizes.batch_size, self.options.size)
        per_pass = self.options.size // size
        rows = _order(self.seed, learning.generation, learning.number // per_pass, self.options.size)
        rows = rows[learning.number % per_pass * size :][:size]
        return self._rounds(learning.generation).take(rows), torch.from_numpy(rows).to(self.players.device)

    def _rounds(self, generation: int) -> Batch:
        """The rounds about which messages are written down before a generation: some of training."""
        if self._drawn is not None and self._drawn[0] == generation:
            return self._drawn[1]
        world, size = self.players.world, self.options.size
        epoch, place = divmod(generation, world.num_train // size)  # the last rounds of an epoch may be fewer
        number = epoch * -(-world.num_train // size) + place
        batch = world.as_asked(world.draw("train", number, size), "train", number)
        self._drawn = generation, batch
        return batch

    @torch.no_grad()
    def _write_down(self, generation: int) -> None:
        """Keep what each sender says of these rounds."""
        players, batch = self.players, self._rounds(generation)
        mode: Mode = "sample" if self.options.sampled and players.channel.has_samples else "greedy"
        players.eval()
        for index, speaker in enumerate(players.senders):
            noise = noise_generator(self.seed, f"written by {index}", generation, players.device)
            message = speaker.generate_message(batch, mode, noise)
            players.written[index] = filled(message.symbols, players.written.shape[2]).t()
        players.train()


def bottleneck_note(options: GenerationOptions, world: World) -> str | None:
    """What to say where more examples are written down than there are meanings, so that nothing is left out."""
    if not options.transmit or world.num_values is None:
        return None
    num_meanings = prod(world.num_values)
    if options.size <= num_meanings:
        return None
    return (
        f"generations.size: {options.size:,} examples of {num_meanings:,} meanings are written down, so most meanings "
        "several times: that is no bottleneck; fewer than the meanings are one"
    )


def _check(options: GenerationOptions, experiment: Experiment) -> None:
    """Raise `ConfigError` where a section asks for more than there is."""
    society = experiment.society
    if options.every is None:
        return
    for role in ROLES:
        if experiment.training.is_frozen(role):
            if options.roles == f"{role}s" or getattr(options, f"{role}_steps"):
                key = "roles" if options.roles == f"{role}s" else f"{role}_steps"
                raise ConfigError(f"generations.{key}: the {role}s are frozen, so they are not replaced")
            continue
        number = society.number(role)
        if options.which in ("oldest", "random") and options.roles in ("both", f"{role}s"):
            if options.number > number:
                raise ConfigError(
                    f"generations.number: {options.number} {role}s are to be replaced, and there "
                    f"{'is' if number == 1 else 'are'} {number}"
                )
    if society.agents is not None and options.roles != "both":
        raise ConfigError("generations.roles: agents that send and receive are replaced whole, expected both")
    if options.transmit and options.size > experiment.training.num_examples:
        raise ConfigError(
            f"generations.size: expected at most the {experiment.training.num_examples:,} examples of training "
            f"(training.num_examples), got {options.size:,}"
        )


def _order(seed: int, generation: int, number: int, size: int) -> NDArray[np.int64]:
    """The order of what was written down in a pass over it."""
    return np.random.default_rng([seed, generation, number, *b"learning"]).permutation(size)
