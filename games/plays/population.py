"""Populations: the agents of an experiment, the pairs of each step, and their training.

A pair is a sender and a receiver; a society has more agents. Agents may be replaced, and may learn others' messages.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.options import NOTHING
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.channels.noise import Noise, seeded
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.config.sections import ROLES, Experiment, Role
from ecsuite.games.config.society import GenerationOptions, SocietyOptions
from ecsuite.games.engine.engine import Differentiate, Engine, differentiated
from ecsuite.games.players.agent import Listener, Speaker
from ecsuite.games.players.learning import (
    LEARNING,
    LEARNING_LOSS,
    Contact,
    Generations,
    Imitation,
    is_learning,
)
from ecsuite.games.players.pair import Pair, PlayResult, RoundOutputs, StepResult, make_pair
from ecsuite.games.players.schedule import Meeting, Schedule
from ecsuite.games.players.teaching import Teaching
from ecsuite.games.tasks.losses import Loss
from ecsuite.games.tasks.tasks import Task, Truth, right_parts
from ecsuite.games.tasks.views import SeenRounds
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import initial_weights

WITHIN, BETWEEN = "accuracy_within", "accuracy_between"
"""Mean accuracy of pairs within a community, and of pairs of two communities."""
SHARED = {"perception": "perception", "symbols": "embedding of symbols"}
"""Modules that an agent may use both for speaking and listening."""
AgentWeights = Sequence[Mapping[str, Tensor] | None]
"""Weights of each agent of a role, by name; None: the agent's own initialisation."""


class Population(nn.Module):
    """Agents, the schedule of their meetings, and their training.

    Sender 0 and receiver 0 are initialised from the seed; every other agent is initialised from its own random stream,
    which depends on the seed, its role, its number and the step at which it enters.

    Args:
        make_pair: Makes a new speaker and a new listener, with weights from torch's global generator.
        world: The world.
        options: The section `society`.
        generations: The section `generations`.
        seed: Seed of the run.
        num_epochs: Epochs of the run.
        accumulate: Batches per step.
        corpus_size: Messages per speaker in the corpus.
        is_society: Whether there are several agents of a role, or agents are replaced.
        frozen: Roles whose weights are not trained.
        has_own_code: Whether parts of the game are user code.

    Raises:
        ConfigError: If a part does not fit the world or another part, an agent has no partner, or more agents are
            replaced than there are.
    """

    first_steps: Tensor
    recent: Tensor
    taught: Tensor
    written: Tensor
    before_contact: Tensor

    def __init__(
        self,
        make_pair: Callable[[], Pair],
        world: World,
        options: SocietyOptions,
        generations: GenerationOptions,
        *,
        seed: int,
        num_epochs: int,
        accumulate: int,
        corpus_size: int,
        is_society: bool,
        frozen: Collection[Role],
        has_own_code: bool,
    ) -> None:
        super().__init__()
        self.make_pair, self.world, self.options, self.seed = make_pair, world, options, seed
        self.is_society, self.accumulate, self.frozen = is_society, accumulate, frozen
        self.transmits = generations.sender_steps > 0
        num_epochs = max(num_epochs, 1)  # without epochs, agents are only taught
        self.schedule = Schedule(MEETINGS.make(options.meets), options, seed, num_epochs)
        self.senders, self.receivers = self._first_agents()
        speakers = [{"speaker": speaker} for speaker in self.senders]
        listeners = [{"listener": listener} for listener in self.receivers]
        agents: Sequence[Mapping[str, nn.Module]] = (
            [*speakers, *listeners]
            if options.agents is None
            else [{**one, **other} for one, other in zip(speakers, listeners, strict=True)]
        )
        self.agents = nn.ModuleList(map(nn.ModuleDict, agents))
        """Speaker, listener or both of each agent."""
        if is_society:
            num_senders, num_receivers = map(options.number, ROLES)
            # Steps at which agents entered, senders first; and the recent accuracy of each sender.
            self.register_buffer("first_steps", torch.zeros(num_senders + num_receivers, dtype=torch.long))
            self.register_buffer("recent", torch.zeros(num_senders))
        self.generators: dict[int, torch.Generator] = {}
        self.num_plays: Mapping[Role, Mapping[int, int]] = {}
        """Number of pairs in which an agent learns in a step, by role and agent index."""
        self.pairs_by_number: dict[tuple[int, int], Pair] = {}
        """Cache of pairs, by sender and receiver index."""
        self.engine = Engine(world, has_own_code=has_own_code)
        self._take_loss(self.first_pair.loss)
        if options.voting and not (self.task.scores_candidates and self.task.has_choices):
            raise ConfigError(
                f"society.voting: task {self.receivers[0].task_kind} has no choices to vote on: expected voting=false"
            )
        # Each is None unless the experiment asks for it.
        is_taught = any(side.taught != NOTHING for side in (self.senders[0], self.receivers[0]))
        self.teaching = Teaching(self) if is_taught else None
        self.imitation = None if options.imitate_every is None else Imitation(self, options.imitate_every)
        self.generations = None if generations.every is None else Generations(self, generations)
        contact = self.schedule.contact if is_society else None
        self.contact = None if contact is None else Contact(self, contact, corpus_size)
        self.learns = generations.transmit or self.imitation is not None or is_taught
        self.has_slow = bool(options.sender_speeds or options.receiver_speeds)
        self.train()

    @classmethod
    def from_experiment(
        cls, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32
    ) -> "Population":
        """Make the agents of an experiment, with weights of torch's global generator; see `make_population`."""
        training = experiment.training
        return cls(
            partial(make_pair, experiment, world, dtype),
            world,
            experiment.society,
            experiment.generations,
            seed=training.seed,
            num_epochs=training.num_epochs,
            accumulate=training.accumulate,
            corpus_size=experiment.evaluation.corpus_size,
            is_society=experiment.is_society,
            frozen=[role for role in ROLES if training.is_frozen(role)],
            has_own_code=bool(experiment.code),
        )

    def sides(self, role: Role) -> Sequence[Speaker | Listener]:
        """The speakers, or the listeners."""
        return self.senders if role == "sender" else self.receivers

    def modules_of(self, role: Role) -> list[nn.Module]:
        """The trainable modules of the agents of a role."""
        return [module for side in self.sides(role) for module in side.trainable_modules()]

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.receivers[0].device

    @property
    def task(self) -> Task:
        """Task of the first receiver; all receivers have the same task."""
        return self.receivers[0].task

    @property
    def channel(self) -> Channel:
        """Channel of the first sender; all channels are alike."""
        return self.senders[0].channel

    def pair(self, sender: int, receiver: int) -> Pair:
        """Get the pair of a sender and a receiver by their indices."""
        if (sender, receiver) not in self.pairs_by_number:
            self.pairs_by_number[sender, receiver] = Pair(self.senders[sender], self.receivers[receiver])
        return self.pairs_by_number[sender, receiver]

    @cached_property
    def first_pair(self) -> Pair:
        """First sender and the first receiver that it meets."""
        return self.pair(0, self.schedule.partners[0][0])

    def pairs(self) -> list[tuple[Meeting, Pair]]:
        """Pairs that meet, with their meetings."""
        return [(meeting, self.pair(meeting.sender, meeting.receiver)) for meeting in self.schedule.meetings]

    def chance(self, world: World | None = None, split: str = "valid") -> Mapping[str, float]:
        """Chance levels of the measures, including the lowest accuracy of a pair and the accuracy of votes.

        Args:
            world: Source of the rounds; None: the training world.
            split: Split of the rounds.
        """
        levels = dict(self.task.chance() if world is None else self.task.chance_of(world, split))
        if "accuracy" not in levels:
            return levels
        if len(self.schedule.meetings) > 1:
            levels["lowest_accuracy"] = levels["accuracy"]
        if self.options.voting:
            levels["voting_accuracy"] = levels["accuracy"]
        if self.contact is not None:
            levels |= dict.fromkeys((WITHIN, BETWEEN), levels["accuracy"])
        return levels

    def begin_step(self, step: int, optimizer: torch.optim.Optimizer, epoch: int | None = None) -> None:
        """Replace agents if a generation ends at this step; `epoch` is the epoch that begins with the step, if any."""
        if self.generations is not None and self.generations.has_begun(step):
            return
        if epoch is not None and self.contact is not None:
            self.contact.begin_epoch(epoch)
        if self.generations is not None:
            self.generations.begin_step(step, optimizer)

    def replace_agent(self, role: Role, index: int, step: int, optimizer: torch.optim.Optimizer) -> None:
        """Replace an agent by a new one with empty optimizer state; the state of other agents stays."""
        side, pair = self.sides(role)[index], self._newborn(role, index, step)
        new = pair.speaker if role == "sender" else pair.listener
        side.load_state_dict(new.state_dict())
        for parameter in side.parameters():
            optimizer.state.pop(parameter, None)
        self.first_steps[index + (0 if role == "sender" else len(self.senders))] = step
        if role == "sender":  # it has no accuracy yet
            self.recent[index] = 0

    def train_on(
        self, number: int, step: int, epoch: int, differentiate: Differentiate | None = None
    ) -> StepResult:
        """Play training batch `number`, a different one for each pair; or learn messages, if this is a learning step.

        The objective is the sum over pairs; see `scale_gradients`.

        Args:
            number: Number of the batch.
            step: Counted from 0.
            epoch: Passes over the training examples so far.
            differentiate: Computes the gradients of an objective for the result; it must be the same function in each
                call. None: the objective has its autograd graph.
        """
        for sender in self.senders:
            sender.channel.start_epoch(epoch)
        engine = self.engine
        if not self.is_society:
            pairs = [self.first_pair]
            noises = self.noises(number, [0])
            return engine.run_pairs(pairs, engine.rounds(pairs, number), noises, epoch, differentiate)
        result = self._learn(number, step, epoch)
        if result is not None:
            return result if differentiate is None else differentiated(result, differentiate)
        meetings = self.schedule.of_step(step, epoch)
        pairs, unchanged = self._meet(meetings, step)
        self.num_plays = {role: Counter(getattr(each, role) for each in meetings) for role in ROLES}

        def combine(played: Sequence[StepResult]) -> StepResult:
            if self.imitation is not None:
                self.imitation.note(meetings, played)
            names = played[0].measures
            means = {name: torch.stack([each.measures[name] for each in played]).mean() for name in names}
            if self.learns:
                means[LEARNING] = torch.zeros_like(means["loss"])
            loss = pairs[0].loss
            if loss.of_pairs == "several":
                return StepResult(objective=loss.over_pairs(played, meetings), measures=means)
            objective = torch.stack([result.objective for result in played]).sum()
            return StepResult(objective=objective, measures=means)

        return engine.run_pairs(
            pairs,
            engine.rounds(pairs, number),
            self.noises(number, range(len(pairs))),
            epoch,
            differentiate,
            unchanged=unchanged,
            combine=combine,
        )

    def _take_loss(self, loss: Loss) -> None:
        """Check that a loss is for as many pairs as play in a step; `ConfigError` if not."""
        has_several = self.is_society and self.schedule.pairs_per_step > 1
        if loss.of_pairs != "any" and (loss.of_pairs == "several") != has_several:
            expected = (
                "a society, such as society.senders=2" if loss.of_pairs == "several" else "one pair a step"
            )
            raise ConfigError(
                f"loss.kind: {type(loss).__name__} is of {loss.of_pairs} of the pairs of a step: expected {expected}"
            )
        self.engine.same_rounds = loss.same_rounds

    def _meet(
        self, meetings: Sequence[Meeting], step: int, fixed: Collection[Role] = ()
    ) -> tuple[list[Pair], list[set[Role]]]:
        """Pairs of the meetings, and the roles of each that do not learn: fixed roles and slow agents."""
        slow = self._slow(step)
        return [self.pair(meeting.sender, meeting.receiver) for meeting in meetings], [
            {role for role in ROLES if role in fixed or getattr(meeting, role) in slow[role]}
            for meeting in meetings
        ]

    def _learn(self, number: int, step: int, epoch: int) -> StepResult | None:
        """Learn messages if this is a learning step; None: agents play."""
        generations, imitation = self.generations, self.imitation
        if generations is not None and (learning := generations.learning_step(step)) is not None:
            indices = learning.index.tolist()
            self.num_plays = {learning.role: dict.fromkeys(indices, 1)}
            if learning.role == "receiver" and generations.options.receivers_learn == "sender":
                return self._listen(indices, number, step, epoch)
            place = (
                number % self.engine.batches_per_epoch % self.accumulate
            )  # index of the batch within its step
            batch = learning.number * self.accumulate + place
            noises = self.noises(number, range(len(indices)))
            return is_learning(generations.learn(replace(learning, number=batch), noises))
        if imitation is not None and step > 0 and step % imitation.every == 0:
            return is_learning(imitation.learn(number, step))
        return None

    def _listen(self, receivers: list[int], number: int, step: int, epoch: int) -> StepResult:
        """Receivers learn the current messages of senders, whose weights do not change."""
        meetings = self.schedule.with_receivers(receivers, step, epoch)
        pairs, unchanged = self._meet(meetings, step, fixed=["sender"])

        def combine(played: Sequence[StepResult]) -> StepResult:
            loss = torch.stack([result.measures["loss"] for result in played]).mean()
            objective = torch.stack([result.objective for result in played]).sum()
            return is_learning(StepResult(objective=objective, measures={LEARNING_LOSS: loss}))

        rounds, noises = self.engine.rounds(pairs, number), self.noises(number, range(len(pairs)))
        return self.engine.run_pairs(pairs, rounds, noises, epoch, unchanged=unchanged, combine=combine)

    def noises(self, number: int, places: Sequence[int]) -> list[torch.Generator]:
        """Noise generators of pairs, by their index in the step; on CUDA one generator for all."""
        device, generators = self.device, self.generators
        if device.type == "cuda":
            places = [places[0]] * len(places) if places else []
        for place in dict.fromkeys(places):
            if (generator := generators.get(place)) is None or generator.device != device:
                generators[place] = torch.Generator(device)
            purpose = "train" if place == 0 else f"train, pair {place}"
            seeded(generators[place], self.seed, purpose, number)
        return [generators[place] for place in places]

    def play(self, batch: Batch, mode: Mode, generator: Noise | None = None, epoch: int = 0) -> PlayResult:
        """Play a batch with every pair that meets; see `Pair.play`, and `play_rounds` for the result."""
        return self.play_rounds(self.first_pair.rounds(batch), mode, generator, epoch)

    def play_rounds(
        self,
        rounds: SeenRounds,
        mode: Mode,
        generator: Noise | None = None,
        epoch: int = 0,
        messages: Sequence[Message] | None = None,
    ) -> PlayResult:
        """Play the rounds of a batch with every pair that meets.

        Measures are per pair, (num_pairs,), and of votes per sender, (num_senders,); see `summary`.

        Args:
            rounds: The rounds.
            mode: Mode of the channel; see `Pair.play`.
            generator: Source of random draws.
            epoch: Passes over the training examples so far.
            messages: Messages of each sender; None: they are generated.
        """
        played: list[PlayResult] = []
        answers: list[list[Tensor]] = [[] for _ in self.senders]
        for (sender, _), pair, outputs in self.understood(rounds, mode, generator, epoch, messages):
            played.append(pair.result(outputs))
            answers[sender].append(outputs.answer)
        voted = [votes(self.task, each, rounds.truth) for each in answers if self.options.voting]
        measures = {
            name: torch.stack([result.measures[name] for result in played]) for name in played[0].measures
        }
        if voted:
            measures["voting_accuracy"] = torch.stack(voted)
        return replace(played[0], measures=measures)

    def understood(
        self,
        rounds: SeenRounds,
        mode: Mode,
        generator: Noise | None,
        epoch: int = 0,
        messages: Sequence[Message] | None = None,
    ) -> Iterator[tuple[tuple[int, int], Pair, RoundOutputs]]:
        """Iterate over the pairs that meet, with the indices of their agents and the outputs of their rounds.

        A sender sends one message about each meaning to all its receivers. See `play_rounds` for the arguments.
        """
        for number, sender in enumerate(self.senders):
            if messages is not None:
                message = messages[number]
            else:
                message = sender.message(rounds.shown, rounds.num_positive, mode, generator, epoch)
            for receiver in self.schedule.partners[number]:
                pair = self.pair(number, receiver)
                outputs = pair.understand(
                    message, rounds.candidates, rounds.truth, mode=mode, generator=generator
                )
                yield (number, receiver), pair, outputs

    def summary(self, measures: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        """Summarise measures per pair: means over pairs, and the lowest accuracy of a pair."""
        figures = {name: float(values.mean()) for name, values in measures.items()}
        if len(self.schedule.meetings) > 1:
            figures["lowest_accuracy"] = float(measures["accuracy"].min())
        if self.contact is not None:
            # In the order of `play`.
            order = [(i, j) for i in range(len(self.senders)) for j in self.schedule.partners[i]]
            is_within = np.array([self.schedule.is_within(Meeting(*pair)) for pair in order])
            for name, chosen in ((WITHIN, is_within), (BETWEEN, ~is_within)):
                if chosen.any():
                    figures[name] = float(measures["accuracy"][chosen].mean())
        return figures

    def means_by_kind(self, means: Mapping[str, float]) -> dict[str, float]:
        """Convert means over all steps to means over playing steps and means over learning steps."""
        share = means.get(LEARNING, 0.0)
        by_kind = {}
        for name, value in means.items():
            steps = 1.0 if name == LEARNING else share if name == LEARNING_LOSS else 1.0 - share
            if steps > 0:
                by_kind[name] = value / steps
        return by_kind

    def set_weights(self, role: Role, agents: AgentWeights, source: str) -> None:
        """Load weights of another run into the agents of a role: agent i gets the weights of agent i mod len(agents).

        Args:
            role: Role of the agents.
            agents: All weights of each agent of the other run. Of a channel, only trainable parameters are loaded, such
                as a temperature. Weights of a loss are not loaded: its baselines belong to the other game.
            source: Origin of the weights, for error messages; empty: the source of each member.

        Raises:
            ConfigError: If a weight has another shape, or exists in one run only; the message names one.
        """
        for index, side in enumerate(self.sides(role)):
            learnt = {name for name, _ in side.named_parameters()}
            own = {name: tensor for name, tensor in side.state_dict().items() if _is_kept(name, learnt)}
            other = agents[index % len(agents)]
            if other is None:
                continue
            given = {name: tensor for name, tensor in other.items() if name in own or _is_kept(name, learnt)}
            for name in sorted({*own, *given}):
                here, there = (tuple(each[name].shape) if name in each else None for each in (own, given))
                if here != there:
                    where = source or self.options.members_of(role)[index].source
                    raise ConfigError(
                        f"the {role} of {where} does not fit: {name} is {_shown(there)} there and {_shown(here)} here"
                    )
            side.load_state_dict(given, strict=False)

    def scale_gradients(self, step: int) -> None:
        """Make the gradient of each weight the mean over the pairs in which it learnt.

        A perception shared by speaking and listening learns in both. Weights that learn in no pair, such as the
        weights of a slow agent, have no gradient, so the optimizer does not change them.
        """
        if self.each_learns_once(step):
            return
        slow, plays = self._slow(step), Counter[nn.Parameter]()
        for role, numbers in self.num_plays.items():
            for index, count in numbers.items():
                for parameter in self.sides(role)[index].parameters():
                    plays[parameter] += 0 if index in slow[role] else count
        for parameter, count in plays.items():
            if parameter.grad is not None and count != 1:
                parameter.grad = parameter.grad.div_(count) if count else None

    def each_learns_once(self, step: int) -> bool:
        """Whether every agent that played did so in one pair, and learns."""
        if not self.is_society:
            return True
        is_once = all(count == 1 for numbers in self.num_plays.values() for count in numbers.values())
        return is_once and self.options.shares == "nothing" and not any(self._slow(step).values())

    def _slow(self, step: int) -> dict[Role, set[int]]:
        """Agents whose weights do not change at a step."""
        if not self.has_slow:
            return {role: set() for role in ROLES}
        rng = np.random.default_rng([self.seed, step, *b"speeds"])
        return {
            role: {
                index
                for index, draw in enumerate(rng.random(self.options.number(role)))
                if draw >= self.options.speed(role, index)
            }
            for role in ROLES
        }

    def _first_agents(self) -> tuple[list[Speaker], list[Listener]]:
        """Make the initial speakers and listeners."""
        first = self.make_pair()
        numbers = {role: range(1, self.options.number(role)) for role in ROLES}
        speakers = [first.speaker, *(self._newborn("sender", i, 0).speaker for i in numbers["sender"])]
        listeners = [first.listener, *(self._newborn("receiver", i, 0).listener for i in numbers["receiver"])]
        sides: dict[Role, Sequence[Speaker | Listener]] = {"sender": speakers, "receiver": listeners}
        for role in ROLES if self.options.members else ():
            for member, side in zip(self.options.members_of(role), sides[role], strict=False):
                side.is_frozen = side.is_frozen or member.is_frozen
                side.freeze()
        if listeners[0].reasoning.speaks:
            self._reason(speakers, listeners)
        if self.options.agents is not None:
            shares = [each for each in SHARED if self.options.shares in (each, "both")]
            for speaker, listener in zip(speakers, listeners, strict=True):
                _share(speaker, listener, shares)
        return speakers, listeners

    def _reason(self, speakers: Sequence[Speaker], listeners: Sequence[Listener]) -> None:
        """Let speakers reason with their own listening halves; `ConfigError` without one, or if they learn messages."""
        if self.options.agents is None and len(speakers) + len(listeners) > 2:
            raise ConfigError(
                "reasoning: only agents that also receive reason about what to send: expected society.agents, or one "
                "sender and one receiver"
            )
        if self.options.imitate_every or self.transmits or speakers[0].taught != NOTHING:
            raise ConfigError(
                "reasoning: senders that reason learn no messages: expected no society.imitate_every, "
                "generations.sender_steps or sender.taught"
            )
        for speaker, listener in zip(speakers, listeners, strict=True):
            speaker.minds = (listener,)

    def _newborn(self, role: Role, index: int, step: int) -> Pair:
        """Make the new speaker or listener of an agent that enters at a step, in a pair."""
        words = np.random.SeedSequence([self.seed, step, index, *f"{role} begins".encode()])
        with initial_weights(int(words.generate_state(1, np.uint64)[0] >> np.uint64(1))):
            return self.make_pair()


def _share(speaker: Speaker, listener: Listener, shares: Sequence[str]) -> None:
    """Let an agent listen with modules of its speaker; `shares`: keys of `SHARED`."""
    for name in shares:
        if speaker.is_frozen or listener.is_frozen:
            role = "sender" if speaker.is_frozen else "receiver"
            raise ConfigError(
                f"society.shares: a shared {SHARED[name]} learns in both roles: expected training.freeze_{role}=false"
            )
        if name == "symbols":
            own, other = (getattr(side.network, "embed", None) for side in (speaker, listener))
            words = "embeddings of symbols"
        else:
            own, other, words = speaker.perception, listener.perception, "perceptions"
        shapes = [
            {key: tuple(tensor.shape) for key, tensor in module.state_dict().items()}
            for module in (own, other)
            if isinstance(module, nn.Module)
        ]
        if len(shapes) < 2 or shapes[0] != shapes[1]:
            raise ConfigError(
                f"society.shares: expected {words} of sender and receiver with weights of the same shapes"
            )
        if name == "symbols":
            listener.network.embed = own
        else:
            listener.perception, listener.has_padding = speaker.perception, speaker.has_padding


def votes(task: Task, answers: Sequence[Tensor], truth: Truth) -> Tensor:
    """Accuracy of receivers that vote, a scalar: the share of correct choices.

    A choice has the highest mean probability over the receivers that a sender meets (Chaabouni et al. 2022,
    Emergent communication at scale, section 2.3).

    Args:
        task: Task of the receivers, with discrete choices.
        answers: Answers of each receiver that votes; see `Listener.response`.
        truth: Correct answers.
    """
    mean = torch.stack([task.choices(answer).softmax(-1) for answer in answers]).mean(0)
    return right_parts(mean.argmax(-1), truth).float().mean()


def make_population(experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> Population:
    """Make the agents of an experiment, with the initial weights of its seed."""
    with initial_weights(experiment.training.seed):
        return Population.from_experiment(experiment, world, dtype)


def _is_kept(name: str, learnt: Collection[str]) -> bool:
    """Whether a weight of this name is transferred: not of a loss, and of a channel only trainable parameters."""
    module = name.partition(".")[0]
    return module != "loss" and (module != "channel" or name in learnt)


def _shown(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "missing"
    return " x ".join(map(str, shape)) or "a single value"
