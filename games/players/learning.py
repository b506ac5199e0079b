"""Agents that learn given messages: imitation, generations with a bottleneck, and languages in contact."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_sender
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.senders import MessageBuilder
from ecsuite.agents.shared_states import IdBuilder
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.channels.message_builders import SymbolOptions, without_eos
from ecsuite.games.channels.noise import Noise, noise_generator
from ecsuite.games.config.sections import ROLES, Role
from ecsuite.games.config.society import GenerationOptions, SocietyOptions
from ecsuite.games.players.agent import Listener, Speaker
from ecsuite.games.players.pair import Pair, StepResult
from ecsuite.games.players.schedule import Meeting, Schedule
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError

LEARNING = "learning"
"""Measure of training: share of the steps in which agents learnt given messages instead of playing."""
LEARNING_LOSS = "learning_loss"
"""Measure of training: mean loss of agents that learn messages, in nats."""


class Learners(Protocol):
    """Methods of a `Population` that learning, teaching and generations use."""

    options: SocietyOptions
    world: World
    schedule: Schedule
    seed: int
    frozen: Collection[Role]
    senders: list[Speaker]
    num_plays: Mapping[Role, Mapping[int, int]]
    first_steps: Tensor
    recent: Tensor
    taught: Tensor
    written: Tensor
    before_contact: Tensor

    @property
    def device(self) -> torch.device: ...  # noqa: D102

    @property
    def channel(self) -> Channel: ...  # noqa: D102

    def sides(self, role: Role) -> Sequence[Speaker | Listener]: ...  # noqa: D102

    def pair(self, sender: int, receiver: int) -> Pair: ...  # noqa: D102

    def noises(self, number: int, places: Sequence[int]) -> list[torch.Generator]: ...  # noqa: D102

    def replace_agent(  # noqa: D102
        self, role: Role, index: int, step: int, optimizer: torch.optim.Optimizer
    ) -> None: ...

    def register_buffer(self, name: str, tensor: Tensor | None) -> None: ...  # noqa: D102

    def train(self, mode: bool = True) -> Any: ...  # noqa: D102

    def eval(self) -> Any: ...  # noqa: D102


class GivenMessages(IdBuilder):
    """A message builder that returns given symbols, whatever the logits, and records their log-probabilities."""

    def __init__(self, options: SymbolOptions, ids: Tensor) -> None:
        self.options, self.ids = options, ids
        self.log_probabilities: list[Tensor] = []
        self.agreements: list[Tensor] = []
        """Whether the given symbol is the most likely one, (batch,) for each step."""

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.log_probabilities) == self.options.max_len

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to the given ids (batch,), PAD after the end."""
        given = self.ids[len(self.log_probabilities)]
        logits = logits.float()
        if self.options.length == "fixed":
            logits = without_eos(logits)
        own = logits.log_softmax(-1).gather(-1, given.clamp(min=EOS)[:, None])[:, 0]
        self.log_probabilities.append(own.masked_fill(given == PAD, 0.0))
        self.agreements.append(logits.argmax(-1) == given)
        return given

    def message(self) -> Message:
        """The given message, with the sum of the log-probabilities of its symbols."""
        total = torch.stack(self.log_probabilities).sum(0)
        return as_message(self.ids, log_probability=total)


def as_message(ids: Tensor, log_probability: Tensor | None = None) -> Message:
    """Make a message from ids, (num_steps, batch), with PAD after the end."""
    length = (ids != PAD).sum(0).float()
    return Message(symbols=ids, ends=None, length=length, log_probability=log_probability)


def filled(ids: Tensor, num_steps: int) -> Tensor:
    """Pad ids, (steps, batch), with PAD to `num_steps` steps."""
    missing = num_steps - len(ids)
    return torch.cat([ids, ids.new_full((missing, ids.shape[1]), PAD)]) if missing > 0 else ids


def require_symbols(speaker: Speaker, setting: str) -> None:
    """Raise `ConfigError` if the channel of a speaker has real-valued words, which have no learnable probabilities.

    Args:
        speaker: The speaker.
        setting: Setting that makes agents learn messages.
    """
    if speaker.channel.is_of_values:
        raise ConfigError(
            f"{setting}: the words of channel {speaker.channel_kind} are real-valued: expected a channel of symbols"
        )


def learn_messages(
    speakers: Sequence[Speaker], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """Compute the loss of senders that learn messages: cross-entropy, mean over messages, sum over senders.

    Args:
        speakers: The senders.
        batch: The rounds, the same for all senders.
        messages: Target messages of each sender.
        noises: Noise of each sender.
    """
    losses = []
    for speaker, message, noise in zip(speakers, messages, noises, strict=True):
        options = cast(SymbolOptions, speaker.channel.options)
        ids = filled(message.symbols, options.max_len)
        builder = GivenMessages(options, ids)
        meanings = speaker.meanings(speaker.shown(batch), batch.num_positive, noise)
        said = call_sender(speaker.network, meanings, cast(MessageBuilder, builder))
        assert said.log_probability is not None
        losses.append(-said.log_probability.mean())
    return _sum_losses(losses)


def learn_meanings(
    pairs: Sequence[Pair], batch: Batch, messages: Sequence[Message], noises: Sequence[Noise]
) -> StepResult:
    """Compute the loss of receivers that learn the meanings of messages: loss of the task, sum over receivers.

    Args:
        pairs: A pair for each receiver.
        batch: The rounds, the same for all receivers.
        messages: Messages that each receiver gets.
        noises: Noise of each receiver.
    """
    losses = []
    for pair, message, noise in zip(pairs, messages, noises, strict=True):
        candidates, truth = pair.round_parts(batch)
        understood = pair.understand(message, candidates, truth, mode="train", generator=noise)
        losses.append(understood.loss.mean())
    return _sum_losses(losses)


def _sum_losses(losses: list[Tensor]) -> StepResult:
    objective = torch.stack(losses)
    return StepResult(objective=objective.sum(), measures={LEARNING_LOSS: objective.detach().mean()})


def is_learning(result: StepResult) -> StepResult:
    """Mark the result of a step in which agents learnt and did not play."""
    return replace(result, measures={**result.measures, LEARNING: torch.ones_like(result.objective.detach())})


RECENT = 0.99
"""Weight of the past in the running accuracy of a sender, by which the imitated sender is chosen (Chaabouni et al.
2022, table 3)."""


class Imitation:
    """Senders learn the messages of the sender with the best recent accuracy (Chaabouni et al. 2022, section 2.3).

    Args:
        population: The senders, and the buffer `recent` of their recent accuracies.
        every: Steps divisible by this number, except step 0, are learning steps.

    Raises:
        ConfigError: If the channel has no symbols, or the senders are frozen.
    """

    def __init__(self, population: Learners, every: int) -> None:
        self.population, self.seed = population, population.seed
        self.every, self.students = every, population.options.students
        require_symbols(population.senders[0], "society.imitate_every")
        if any(sender.is_frozen for sender in population.senders):
            raise ConfigError("society.imitate_every: the senders are frozen: expected null")

    def learn(self, number: int, step: int) -> StepResult:
        """Compute the loss of senders that learn the messages of the best one: all other senders, or some of them."""
        population = self.population
        drawn = np.arange(len(population.senders))
        if self.students is not None:
            rng = np.random.default_rng([self.seed, step, *b"students"])
            drawn = np.sort(rng.choice(drawn, 1 + self.students, replace=False))
        best = int(drawn[int(population.recent[torch.from_numpy(drawn)].argmax())])
        learners = [index for index in drawn.tolist() if index != best]
        population.num_plays = {"sender": dict.fromkeys(learners, 1)}
        batch = population.world.batch("train", number)
        with torch.no_grad():
            population.eval()
            message = population.senders[best].generate_message(batch, "greedy", None)
            population.train()
        speakers = [population.senders[index] for index in learners]
        noises = population.noises(number, range(len(learners)))
        return learn_messages(speakers, batch, [message] * len(learners), noises)

    @torch.no_grad()
    def note(self, meetings: Sequence[Meeting], played: Sequence[StepResult]) -> None:
        """Update the recent accuracies with a step."""
        recent = self.population.recent
        for meeting, result in zip(meetings, played, strict=True):
            now = result.measures["accuracy"]
            recent[meeting.sender] = RECENT * recent[meeting.sender] + (1 - RECENT) * now


@dataclass(frozen=True, slots=True)
class LearningStep:
    """A step in which agents learn recorded messages."""

    role: Role
    index: NDArray[np.int64]
    """Indices of the agents that learn."""
    generation: int
    number: int
    """Index, from 0, of the batch among all batches of the steps in which its role learns in this generation."""


class Generations:
    """The generations of a population.

    Args:
        population: The agents, and the buffer `written` of recorded messages.
        options: The section `generations`.

    Raises:
        ConfigError: If more agents are replaced, or more messages recorded, than there are,
            or the channel has no symbols.
    """

    def __init__(self, population: Learners, options: GenerationOptions) -> None:
        assert options.every is not None
        self.population, self.options, self.every = population, options, options.every
        self.seed = population.seed
        # The last bottleneck: every learning step uses some of its rounds.
        self._drawn: tuple[int, Batch] | None = None
        _check(options, population)
        if self.options.transmit:
            require_symbols(population.senders[0], "generations.transmit")
            num_symbols = population.channel.max_len + population.channel.has_eos
            shape = (len(population.senders), self.options.size, num_symbols)
            population.register_buffer("written", torch.full(shape, PAD))

    def _generation_at(self, step: int) -> int | None:
        """The generation that begins with a step, counted from 1; None: no generation begins."""
        return None if step == 0 or step % self.every else step // self.every

    def has_begun(self, step: int) -> bool:
        """Whether the step had already begun when the run resumed from the state before a diverged update.

        Then nothing is left to do: the agents that wrote the messages are already replaced.
        """
        if (generation := self._generation_at(step)) is None or self.options.which == "none":
            return False
        population = self.population
        begun = [
            population.first_steps[self.replaced(role, generation) + first]
            for role, first in zip(ROLES, (0, len(population.senders)), strict=True)
        ]
        return bool((torch.cat(begun) == step).any())

    def begin_step(self, step: int, optimizer: torch.optim.Optimizer) -> None:
        """Record messages and replace agents if a generation ends at this step."""
        if (generation := self._generation_at(step)) is None:
            return
        if self.options.transmit:
            self._write_down(generation)
        for role in ROLES:
            for index in self.replaced(role, generation).tolist() if self.options.which != "none" else ():
                self.population.replace_agent(role, index, step, optimizer)

    def replaced(self, role: Role, generation: int) -> NDArray[np.int64]:
        """Agents of a role that are new in a generation, counted from 1; if none is replaced, the agents that learn.

        The oldest agents entered first; agents of the same age are ordered by index. Frozen agents stay.
        """
        chosen = self._choose_agents(role, generation)
        return chosen[[not self.population.sides(role)[number].is_frozen for number in chosen.tolist()]]

    def _choose_agents(self, role: Role, generation: int) -> NDArray[np.int64]:
        """Agents to replace, including frozen ones."""
        number = self.population.options.number(role)
        if self.options.roles not in ("both", f"{role}s"):
            return np.zeros(0, dtype=np.int64)
        if self.options.which in ("all", "none"):
            return np.arange(number)
        if self.options.which == "oldest":  # in rotation: replaced agents are the youngest
            return np.sort((np.arange(self.options.number) + (generation - 1) * self.options.number) % number)
        together = self.population.options.agents is not None
        name = "agents" if together else role
        rng = np.random.default_rng([self.seed, generation, *f"{name} replaced".encode()])
        return np.sort(rng.choice(number, self.options.number, replace=False))

    def learning_step(self, step: int) -> LearningStep | None:
        """Learning of a step; None: agents play."""
        options = self.options
        if step < self.every or not options.transmit:
            return None
        generation, within = divmod(step, self.every)
        for role in ROLES:
            num_steps = options.sender_steps if role == "sender" else options.receiver_steps
            if within < num_steps:
                return LearningStep(role, self.replaced(role, generation), generation, within)
            within -= num_steps
        return None

    def bottleneck_note(self) -> str | None:
        """Note for a bottleneck that has more examples than there are meanings, so that no meaning is left out."""
        options, num_values = self.options, self.population.world.num_values
        if not options.transmit or num_values is None or options.size <= (num_meanings := prod(num_values)):
            return None
        return (
            f"generations.size: {options.size:,} examples of {num_meanings:,} meanings are recorded, most "
            "meanings several times: for a bottleneck, set a size below the number of meanings"
        )

    def learn(self, learning: LearningStep, noises: Sequence[Noise]) -> StepResult:
        """Compute the loss of a learning step, with the noise of each agent that learns.

        A new sender learns the messages of the sender that it replaces, receiver i those of sender i mod num_senders.
        """
        population = self.population
        batch, rows = self._examples(learning)
        num_senders = len(population.senders)
        index = learning.index.tolist()
        messages = [as_message(population.written[number % num_senders, rows].t()) for number in index]
        if learning.role == "sender":
            return learn_messages([population.senders[number] for number in index], batch, messages, noises)
        return learn_meanings([population.pair(0, number) for number in index], batch, messages, noises)

    def _examples(self, learning: LearningStep) -> tuple[Batch, Tensor]:
        """Rounds of a learning step, and their indices among the recorded rounds."""
        size = self.options.batch_size or min(self.population.world.sizes.batch_size, self.options.size)
        per_pass = self.options.size // size
        rows = _order(self.seed, learning.generation, learning.number // per_pass, self.options.size)
        rows = rows[learning.number % per_pass * size :][:size]
        return self._rounds(learning.generation).take(rows), torch.from_numpy(rows).to(self.population.device)

    def _rounds(self, generation: int) -> Batch:
        """Training rounds about which messages are recorded before a generation."""
        if self._drawn is not None and self._drawn[0] == generation:
            return self._drawn[1]
        world, size = self.population.world, self.options.size
        epoch, place = divmod(generation, world.num_train // size)  # an incomplete last part is left out
        number = epoch * -(-world.num_train // size) + place
        batch = world.as_asked(world.draw("train", number, size), "train", number)
        self._drawn = generation, batch
        return batch

    @torch.no_grad()
    def _write_down(self, generation: int) -> None:
        """Record the messages of each sender about these rounds."""
        population, batch = self.population, self._rounds(generation)
        mode: Mode = "sample" if self.options.sampled and population.channel.has_samples else "greedy"
        population.eval()
        for index, speaker in enumerate(population.senders):
            noise = noise_generator(self.seed, f"written by {index}", generation, population.device)
            message = speaker.generate_message(batch, mode, noise)
            population.written[index] = filled(message.symbols, population.written.shape[2]).t()
        population.train()


def _check(options: GenerationOptions, population: Learners) -> None:
    """Raise `ConfigError` if the section asks for more agents or examples than there are."""
    society, num_examples = population.options, population.world.sizes.num_train
    for role in ROLES:
        if role in population.frozen:
            if options.roles == f"{role}s" or getattr(options, f"{role}_steps"):
                key = "roles" if options.roles == f"{role}s" else f"{role}_steps"
                raise ConfigError(f"generations.{key}: the {role}s are frozen and can't be replaced")
            continue
        number = society.number(role)
        if options.which in ("oldest", "random") and options.roles in ("both", f"{role}s"):
            if options.number > number:
                raise ConfigError(
                    f"generations.number: {options.number} {role}s are to be replaced, but there "
                    f"{'is' if number == 1 else 'are'} {number}"
                )
    if society.agents is not None and options.roles != "both":
        raise ConfigError("generations.roles: agents that send and receive are replaced whole: expected both")
    if options.transmit and options.size > num_examples:
        raise ConfigError(
            f"generations.size: expected at most the {num_examples:,} training examples "
            f"(training.num_examples), got {options.size:,}"
        )


def _order(seed: int, generation: int, number: int, size: int) -> NDArray[np.int64]:
    """Order of the recorded messages in a pass over them."""
    return np.random.default_rng([seed, generation, number, *b"learning"]).permutation(size)


MOST_MEANINGS = 500
"""Maximum number of meanings whose messages are stored."""
COMMUNITY, BEFORE = "community", "before"
"""Columns of a corpus: community of the speaker, and its message about the meaning before contact."""


class Contact:
    """Messages of each speaker about meanings of the corpus at the start of the epoch of the first contact.

    Args:
        population: The speakers, and the buffer `before_contact` of these messages.
        epoch: Epoch of the first contact.
        corpus_size: Messages per speaker in the corpus of the run.
    """

    def __init__(self, population: Learners, epoch: int, corpus_size: int) -> None:
        self.population, self.epoch = population, epoch
        self.keeps = not population.channel.is_of_values
        self.batches: list[Batch] = []
        if not self.keeps:
            return
        self.batches = list(population.world.corpus_batches(min(corpus_size, MOST_MEANINGS)))
        shape = (len(population.senders), sum(map(len, self.batches)), population.channel.max_len + 1)
        population.register_buffer("before_contact", torch.full(shape, PAD))

    @torch.no_grad()
    def begin_epoch(self, epoch: int) -> None:
        """Record the messages of each speaker if this is the epoch of the first contact."""
        if not self.keeps or epoch != self.epoch:
            return
        population = self.population
        population.eval()
        for number, speaker in enumerate(population.senders):
            said = [
                filled(
                    speaker.generate_message(batch, "greedy", None).symbols, population.channel.max_len + 1
                ).t()
                for batch in self.batches
            ]
            population.before_contact[number] = torch.cat(said)
        population.train()

    def columns(self, speaker: int, described: Any) -> Mapping[str, Any]:
        """Columns `community` and `before` for messages of a speaker; empty without contact.

        Args:
            speaker: Index of the speaker.
            described: Meanings of the messages, a `Description`.
        """
        if not self.keeps:
            return {}
        kept = self.population.before_contact[speaker].cpu().numpy()
        world = self.population.world
        texts: dict[bytes, str] = {}
        keys = [key for batch in self.batches for key in _keys(world.describe(batch).meanings)]
        for key, row in zip(keys, kept, strict=True):
            texts.setdefault(key, " ".join(str(symbol) for symbol in row if symbol != PAD))
        # With EOS, so that an empty message differs from a missing one.
        found = [texts.get(key, "") for key in _keys(described.meanings)]
        community = self.population.schedule.communities[0][speaker]
        return {COMMUNITY: np.full(len(found), community), BEFORE: np.array(found, dtype=np.str_)}


def _keys(meanings: Any) -> list[bytes]:
    """Dictionary keys of meanings."""
    return [np.ascontiguousarray(meaning).tobytes() for meaning in meanings]
