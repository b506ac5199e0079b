"""The players of an experiment: agents, who speaks to whom at a step, and what is learnt from it.

A pair is two agents that meet; a society is more of them. Agents may be replaced, and may learn what others said.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.games.channels.channels import Mode
from ecsuite.games.channels.noise import Noise
from ecsuite.games.config.sections import ROLES, Experiment, Role
from ecsuite.games.players.agents import Agents
from ecsuite.games.players.contact import Contact
from ecsuite.games.players.generations import Generations
from ecsuite.games.players.learning import LEARNING, LEARNING_LOSS, Imitation, is_learning
from ecsuite.games.players.meetings import Meeting
from ecsuite.games.players.pair import Pair, PlayResult, RoundOutputs, StepResult
from ecsuite.games.players.side_by_side import SideBySide
from ecsuite.games.players.teaching import Teaching
from ecsuite.games.players.voting import votes
from ecsuite.games.tasks.views import SeenRounds, rendered
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.ahead import Ahead
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.randomness import initial_weights
from ecsuite.runtime.recording import Recorded

WITHIN, BETWEEN = "accuracy_within", "accuracy_between"
"""Accuracy of pairs of one community, and of two."""
OBJECTIVE = "objective"
"""Its name among measures."""
Differentiate = Callable[[Tensor], Sequence[Tensor | None]]
"""From an objective, a scalar, to the gradients of the weights."""


class Players(Agents):
    """Agents, their meetings, and how they play; for the arguments see `Agents`.

    Raises:
        ConfigError: As `Agents` does, or if more agents are replaced than there are.
    """

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> None:
        super().__init__(experiment, world, dtype)
        if self.options.voting and not (self.task.scores_candidates and self.task.has_choices):
            raise ConfigError(f"society.voting: task {experiment.task.kind} has no candidates to vote for")
        self.teaching = Teaching(self, experiment)
        self.imitation = Imitation(self, experiment)
        self.generations = Generations(self, experiment)
        self.contact = Contact(self, experiment.evaluation.corpus_size)
        self.learns = (
            self.generations.options.transmit
            or self.imitation.every is not None
            or bool(self.teaching.languages)
        )
        self.side_by_side = SideBySide(parts_are_own=bool(experiment.code))
        self.has_slow = bool(self.options.sender_speeds or self.options.receiver_speeds)
        self.met: _Met | None = None
        self.recorded, self.records = Recorded(), not experiment.code  # own code may decide by values
        self.train()

    def pairs(self) -> list[tuple[Meeting, Pair]]:
        """Each pair that meets, with the numbers of its agents."""
        return [(meeting, self.pair(meeting.sender, meeting.receiver)) for meeting in self.schedule.meetings]

    def chance(self, world: World | None = None, split: str = "valid") -> Mapping[str, float]:
        """Chance level of each measure that has one, also of the lowest accuracy of a pair and of a vote.

        Args:
            world: Has the rounds; None: the world of training.
            split: Which rounds.
        """
        levels = dict(self.task.chance() if world is None else self.task.chance_of(world, split))
        if "accuracy" not in levels:
            return levels
        if len(self.schedule.meetings) > 1:
            levels["lowest_accuracy"] = levels["accuracy"]
        if self.options.voting:
            levels["voting_accuracy"] = levels["accuracy"]
        if self.contact.epoch is not None:
            levels |= dict.fromkeys((WITHIN, BETWEEN), levels["accuracy"])
        return levels

    def train_on(
        self, number: int, step: int, epoch: int, differentiate: Differentiate | None = None
    ) -> StepResult:
        """Play batch `number` of training at a step: each pair one of its own; or learn, where it is time to.

        The objective is the sum over pairs; see `scale_gradients`.

        Args:
            number: Of the batch.
            step: Counted from 0.
            epoch: Passes over the training examples so far.
            differentiate: Gives the gradients of an objective, which the result then has; it must always be the same
                one. None: the objective has its graph.
        """
        for sender in self.senders:
            sender.channel.start_epoch(epoch)
        if not self.is_society:
            pair, (noise,) = self.first_pair, self.noises(number, [0])

            def play(rounds: Sequence[SeenRounds]) -> StepResult:
                return pair.play_rounds(rounds[0], "train", noise, epoch)

            return self._learnt((), play, self._rounds([pair], number), differentiate)
        result = self._learning(number, step, epoch)
        if result is not None:
            return result if differentiate is None else differentiated(result, differentiate)
        meetings = self.schedule.of_step(step, epoch)
        if self.met is None or self.met.meetings is not meetings or self.has_slow:
            self.met = self._meet(meetings, step)
        met, noises = self.met, self.noises(number, range(len(meetings)))
        self.num_plays = met.num_plays

        def play_together(rounds: Sequence[SeenRounds]) -> StepResult:
            pairs = met.pairs
            played = self.side_by_side.play(pairs, of_each(rounds, pairs), noises, epoch, met.unchanged)
            self.imitation.note(meetings, played)
            return self._summed(played)

        return self._learnt(met.form, play_together, self._rounds(met.pairs, number), differentiate)

    def taught_at(self, step: int, differentiate: Differentiate) -> StepResult:
        """Learn the languages that agents are taught before they play; see `train_on`."""
        return differentiated(self.teaching.learn(step), differentiate)

    def _learning(self, number: int, step: int, epoch: int) -> StepResult | None:
        """Learn messages, if that is what a step is for."""
        if (learning := self.generations.learning_step(step)) is not None:
            self.num_plays = {learning.role: (learning.index, np.ones(len(learning.index)))}
            if learning.role == "receiver" and self.generations.options.receivers_learn == "sender":
                return self._listen(learning.index.tolist(), number, step, epoch)
            noises = self.noises(number, range(len(learning.index)))
            accumulate = self.experiment.training.accumulate
            place = number % self.batches_per_epoch % accumulate  # of the batch among those of its step
            batch = learning.number * accumulate + place
            return is_learning(self.generations.learn(replace(learning, number=batch), noises))
        if self.imitation.is_due(step):
            return is_learning(self.imitation.learn(number, step))
        return None

    def _learnt(
        self,
        form: Hashable,
        play: Callable[[Sequence[SeenRounds]], StepResult],
        rounds: Sequence[SeenRounds],
        differentiate: Differentiate | None,
    ) -> StepResult:
        """Play rounds, with the gradients of what comes of them; often played ones of a form are recorded."""
        if differentiate is None:
            return play(self._rendered(rounds))
        if not self.records:
            return differentiated(play(rounds), differentiate)
        tensors = [each.tensors() for each in rounds]

        def played(*values: Tensor) -> Outputs:
            left = iter(values)
            given = [
                each.with_tensors({name: next(left) for name in names})
                for each, names in zip(rounds, tensors, strict=True)
            ]
            result = differentiated(play(self._rendered(given)), differentiate)
            assert result.gradients is not None
            return {OBJECTIVE: result.objective, **result.measures}, result.gradients

        forms = (form, *(each.form for each in rounds))
        inputs = [value for each in tensors for value in each.values()]
        found, gradients = self.recorded(forms, played, inputs)
        figures = dict(found)
        return StepResult(objective=figures.pop(OBJECTIVE), measures=figures, gradients=gradients)

    def _summed(self, played: Sequence[StepResult]) -> StepResult:
        """What pairs played: the sum of their objectives, the means of their measures."""
        measures = means([result.measures for result in played])
        return StepResult(
            objective=torch.stack([result.objective for result in played]).sum(),
            measures={**measures, LEARNING: torch.zeros_like(measures["loss"])} if self.learns else measures,
        )

    def means_by_kind(self, means: Mapping[str, float]) -> dict[str, float]:
        """Means over all steps, as means over the steps in which agents played and those in which they learnt."""
        share = means.get(LEARNING, 0.0)
        by_kind = {}
        for name, value in means.items():
            steps = 1.0 if name == LEARNING else share if name == LEARNING_LOSS else 1.0 - share
            if steps > 0:
                by_kind[name] = value / steps
        return by_kind

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

        Measures are of each pair, (num_pairs,), that of votes of each sender, (num_senders,): see `summary`.

        Args:
            rounds: The rounds.
            mode: See `Pair.play`, as for the next two.
            generator: Source of what is drawn.
            epoch: Passes over the training examples so far.
            messages: What each sender says, if it is known; None: it says it now.
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
        """What comes of rounds with every pair that meets, one pair after the other, and the numbers of its agents.

        A sender says one message of each meaning to all that it meets. See `play_rounds` for the arguments.
        """
        for number, sender in enumerate(self.senders):
            if messages is not None:
                message = messages[number]
            else:
                message = sender.message(rounds.shown, rounds.num_positive, mode, generator, epoch)
            for receiver in self.schedule.partners(number):
                pair = self.pair(number, receiver)
                outputs = pair.understand(
                    message, rounds.candidates, rounds.truth, mode=mode, generator=generator
                )
                yield (number, receiver), pair, outputs

    def summary(self, measures: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        """The figures of an evaluation from its measures by pair: means over pairs, and the lowest accuracy of one."""
        figures = {name: float(values.mean()) for name, values in measures.items()}
        if len(self.schedule.meetings) > 1:
            figures["lowest_accuracy"] = float(measures["accuracy"].min())
        if self.contact.epoch is not None:
            # In the order of `play`.
            order = [(i, j) for i in range(len(self.senders)) for j in self.schedule.partners(i)]
            is_within = np.array([self.schedule.is_within(Meeting(*pair)) for pair in order])
            for name, chosen in ((WITHIN, is_within), (BETWEEN, ~is_within)):
                if chosen.any():
                    figures[name] = float(measures["accuracy"][chosen].mean())
        return figures

    def scale_gradients(self, step: int) -> None:
        """Make the gradient of each weight the mean over the pairs in which it learnt.

        A perception that an agent uses for both learns where it sends and where it receives. What learns in no pair,
        such as the weights of a slow agent, has no gradient, and is left as it is by the optimizer.
        """
        if self.each_learns_once(step):
            return
        slow, plays = self._slow(step), Counter[nn.Parameter]()
        for role in ROLES:
            for index, count in zip(*self.num_plays.get(role, ((), ())), strict=True):
                for parameter in self.sides(role)[index].parameters():
                    plays[parameter] += 0 if index in slow[role] else int(count)
        for parameter, count in plays.items():
            if parameter.grad is not None and count != 1:
                parameter.grad = parameter.grad.div_(count) if count else None

    def each_learns_once(self, step: int) -> bool:
        """Whether all gradients are those of one pair: every agent that played did so once, and learns."""
        if not self.is_society:
            return True
        is_once = all((counts == 1).all() for _, counts in self.num_plays.values())
        return is_once and self.options.shares == "nothing" and not any(self._slow(step).values())

    def begin_step(self, step: int, optimizer: torch.optim.Optimizer, epoch: int | None = None) -> None:
        """Replace agents where a generation ends with this step; `epoch`: the one that begins with it, if one does."""
        if self.generations.has_begun(step):
            return
        if epoch is not None:
            self.contact.begin_epoch(epoch)
        self.generations.begin_step(step, optimizer)

    def _slow(self, step: int) -> dict[Role, set[int]]:
        """The agents whose weights do not change at a step."""
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

    def _meet(self, meetings: list[Meeting], step: int, fixed: Collection[Role] = ()) -> "_Met":
        """The pairs of meetings, where slow agents and some roles do not learn."""
        slow = self._slow(step)
        return _Met(
            meetings=meetings,
            pairs=[self.pair(meeting.sender, meeting.receiver) for meeting in meetings],
            unchanged=[
                {role for role in ROLES if role in fixed or getattr(meeting, role) in slow[role]}
                for meeting in meetings
            ],
        )

    def _rounds(self, pairs: Sequence[Pair], number: int) -> list[SeenRounds]:
        """A batch of rounds for each pair; or one of all, where they can be drawn at once."""
        batches = (self.draws_ahead or self._drawn)(number, len(pairs))
        return [pair.rounds(batch, self.source) for pair, batch in zip(pairs, batches, strict=False)]

    @cached_property
    def source(self) -> World:
        """The world of rounds of training: on CUDA, images that it renders are rendered there, as a part of a step."""
        in_step = self.device.type == "cuda" and self.records
        return (self.world.unrendered() if in_step else None) or self.world

    def _rendered(self, rounds: Sequence[SeenRounds]) -> Sequence[SeenRounds]:
        """Rounds of the source as agents see them."""
        if self.source is self.world:
            return rounds
        return rendered(rounds, self.world, self.task, self.dtype)

    def _drawn(self, number: int, num_pairs: int) -> Sequence[Batch]:
        """The batches of so many pairs; or one of all."""
        numbers = [self.batch_number(number, place) for place in range(num_pairs)]
        if num_pairs > 1 and (joined := self.source.batches("train", numbers)) is not None:
            return [joined]
        return [self.source.batch("train", each) for each in numbers]

    @cached_property
    def draws_ahead(self) -> Ahead[Sequence[Batch]] | None:
        """Draws batches while the device computes; None where it is the processor, or own code may not allow it."""
        return Ahead(self._drawn) if self.device.type == "cuda" and self.records else None

    def _listen(self, receivers: list[int], number: int, step: int, epoch: int) -> StepResult:
        """Receivers learn what senders say now; the weights of senders do not change."""
        meetings = self.schedule.with_receivers(receivers, step, epoch)
        met, noises = self._meet(meetings, step, fixed=["sender"]), self.noises(number, range(len(meetings)))
        rounds = of_each(self._rendered(self._rounds(met.pairs, number)), met.pairs)
        played = self.side_by_side.play(met.pairs, rounds, noises, epoch, met.unchanged)
        loss = torch.stack([result.measures["loss"] for result in played]).mean()
        objective = torch.stack([result.objective for result in played]).sum()
        return is_learning(StepResult(objective=objective, measures={LEARNING_LOSS: loss}))


@dataclass(kw_only=True, slots=True)
class _Met:
    """The pairs of a step."""

    meetings: list[Meeting]
    pairs: list[Pair]
    unchanged: list[set[Role]]
    """The roles of each that do not learn."""
    num_plays: Mapping[Role, Any] = field(init=False)
    """The agents of each role, and in how many pairs each is."""
    form: Hashable = field(init=False)
    """Who meets and learns."""

    def __post_init__(self) -> None:
        """Count."""
        self.num_plays = {
            role: np.unique([getattr(each, role) for each in self.meetings], return_counts=True)
            for role in ROLES
        }
        self.form = tuple(
            (meeting.sender, meeting.receiver, *sorted(roles))
            for meeting, roles in zip(self.meetings, self.unchanged, strict=True)
        )


def of_each(rounds: Sequence[SeenRounds], pairs: Sequence[Pair]) -> Sequence[SeenRounds]:
    """The rounds of each pair, of those of all or of each."""
    return rounds if len(rounds) == len(pairs) else rounds[0].parts(len(pairs))


def differentiated(result: StepResult, differentiate: Differentiate) -> StepResult:
    """A result with the gradients of its objective, in the place of its graph."""
    gradients = differentiate(result.objective)
    return StepResult(objective=result.objective.detach(), measures=result.measures, gradients=gradients)


def means(measures: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each measure over pairs."""
    return {name: torch.stack([each[name] for each in measures]).mean() for name in measures[0]}


def make_players(experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> Players:
    """The agents of an experiment, with the initial weights of its seed."""
    with initial_weights(experiment.training.seed):
        return Players(experiment, world, dtype)
