"""Agents that act and speak in an environment, as a play."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.corpus import Corpus
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.channels.noise import seeded
from ecsuite.games.config.registry import ACTORS, CHANNELS, ENVIRONMENTS, LEARNERS
from ecsuite.games.config.sections import EvaluationOptions, Experiment
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.environments.agents import ActingAgents, AgentsOptions, ScriptedAgents
from ecsuite.games.environments.broadcast import Broadcast, Broadcasts
from ecsuite.games.environments.environment import PURPOSES, Environment, Floats
from ecsuite.games.environments.episodes import (
    Deliver,
    Episodes,
    Policies,
    TensorEpisodes,
    Watch,
    as_arrays,
    play_episodes,
)
from ecsuite.games.environments.fitting import require_described
from ecsuite.games.environments.landmarks import SpeakerListener
from ecsuite.games.environments.learners import Learner, PolicyGradient
from ecsuite.games.plays.acting_records import corpus_of, interactions_of
from ecsuite.games.plays.interactions import PROBABILITIES, keep_interactions, require_pyarrow
from ecsuite.games.plays.notes import agent_text, words_text
from ecsuite.games.plays.play import Measures, TrainedPlay, sums
from ecsuite.parts.config import Weight
from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.operations import Arrays
from ecsuite.runtime.recording import Recorded, external_call

SPEAKER_LISTENER = Part("speaker_listener", SpeakerListener.Options())
OBJECTIVE = "loss"
"""Name of the objective among the measures."""
RECURRENT = Part("recurrent", AgentsOptions())
POLICY_GRADIENT = Part("policy_gradient", PolicyGradient.Options())


def severed(step: int, said: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
    """Remove all messages, as a control; see `Deliver`."""
    return said, torch.full_like(heard, -1)


class Acting(TrainedPlay):
    """Agents that act and speak in an environment, and learn from its rewards.

    Messages arrive one step later. Training episodes are generated without end, and none is repeated.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of agents that act."""

        environment: Annotated[Part, ENVIRONMENTS] = SPEAKER_LISTENER
        """The environment."""
        learner: Annotated[Part, LEARNERS] = POLICY_GRADIENT
        """The learning algorithm."""
        agents: Annotated[Part, ACTORS] = RECURRENT
        """The agents."""
        is_severed: bool = False
        """No message arrives: a control."""
        broadcasts: Broadcasts = "nothing"
        """Observations that replace messages. heard: observation and action of each speaker, at the time when its
        message would be heard (intent broadcast). all: observations of all agents (an oracle). nothing: agents hear
        messages."""
        share_rewards: bool = False
        """Each agent learns from the mean of all agents' rewards; its own reward may depend more on the actions of
        others."""
        length_cost: Weight = 0.0
        """Cost of each symbol, without EOS, subtracted from the speaker's reward at that step; agents can be silent if
        channel.length=variable."""

        def __post_init__(self) -> None:
            """Check that controls are not combined; `ConfigError` if they are."""
            if self.is_severed and self.broadcasts != "nothing":
                raise ConfigError(
                    f"is_severed: no message arrives with broadcasts={self.broadcasts}: expected false"
                )

    sections = (*TrainedPlay.sections, "channel")
    options_read = ("training.noise", "evaluation.noise", "evaluation.keep")
    accumulates = True

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.environment: Environment = ENVIRONMENTS.make(options.environment)
        require_described(self.environment)
        if options.broadcasts != "nothing":
            self.environment = Broadcast(self.environment, options.broadcasts)
        self.channel: Channel = CHANNELS.make(experiment.channel)
        require_fitting_lengths(self.channel, options.length_cost)
        require_symbols(self.environment, self.channel)
        require_read(self.channel, experiment)
        self.agents: ActingAgents = ACTORS.make(
            options.agents, environment=self.environment, channel=self.channel
        )
        self.learner: Learner = LEARNERS.make(options.learner, agents=self.agents, channel=self.channel)
        self.module: nn.Module = nn.ModuleDict(
            {"agents": self.agents, "channel": self.channel, "learner": self.learner}
        ).to(device)
        self.generator, self.recorded = torch.Generator(device), Recorded()
        self.records = device.type == "cpu" and not experiment.code  # own code may branch on values

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures: accuracy, if defined; reward per agent, before costs; steps; and cost."""
        accuracy = () if self.environment.right_reward is None else ("accuracy",)
        return (*accuracy, "reward", "steps", *(("cost",) if self.options.length_cost else ()))

    def chance(self) -> Mapping[str, float]:
        """Accuracy without messages, if defined."""
        known = self.environment.silent_accuracy
        return {} if known is None else {"accuracy": known}

    def update(self, step: int, optimise: Optimise) -> Measures:
        """Play batches of episodes, and update the weights."""
        training, measures, again = self.experiment.training, dict[str, Any](), self.learner.num_updates
        size, epoch = training.batch_size, step // self.steps_per_epoch
        batches = [
            torch.arange(number * size, (number + 1) * size)
            for number in range(step * training.accumulate, (step + 1) * training.accumulate)
        ]
        self.channel.start_epoch(epoch)
        self.learner.begin_step(step, self.agents)

        def practise(numbers: Tensor) -> Outputs:
            objective, figures = self._objective(self.practised(numbers, epoch), step)
            return {OBJECTIVE: objective.detach(), **figures}, optimise.gradients(objective)

        played: list[TensorEpisodes] = []
        if again is not None:
            with torch.no_grad():
                played = [self.practised(numbers, epoch) for numbers in batches]
        for _ in range(again or 1):
            optimise.begin()
            for place, numbers in enumerate(batches):
                if again is None and self.records:
                    found, gradients = self.recorded((), practise, [numbers])
                    optimise.add(found[OBJECTIVE], gradients, training.accumulate)
                else:
                    episodes = self.practised(numbers, epoch) if again is None else played[place]
                    objective, found = self._objective(episodes, step)
                    optimise.backward(objective, training.accumulate)
                    found[OBJECTIVE] = objective.detach()
                measures = sums(measures, found)
            optimise.step()
        return {name: value / (len(batches) * (again or 1)) for name, value in measures.items()}

    def practised(self, numbers: Tensor, epoch: int) -> TensorEpisodes:
        """Play a batch of training episodes with these numbers."""
        external_call(self._begin_noise, numbers)
        has_all = self.learner.needs_all or bool(self.experiment.code)  # own learners may read all
        return self._play_numbers(numbers, "train", self.generator, epoch=epoch, has_all=has_all)

    def _begin_noise(self, numbers: NDArray[np.int64]) -> Arrays:
        """Seed the training generator for a batch."""
        training = self.experiment.training
        seeded(self.generator, training.seed, "train", int(numbers[0]) // training.batch_size)
        return ()

    def _objective(self, episodes: TensorEpisodes, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Objective to minimise, and figures for the log."""
        costs = self.costs(episodes)
        rewards, figures = episodes.rewards - costs, {}
        if self.options.share_rewards:
            rewards = external_call(_shared, rewards)[0]
        objective, of_learner = self.learner.objective(replace(episodes, rewards=rewards), step, self.agents)
        if not self.channel.has_policy_gradient:
            objective = objective + self._of_channel(episodes)
        figures["reward"] = external_call(_mean_return, episodes.rewards)[0]
        if self.options.length_cost:
            figures["cost"] = external_call(lambda each: (each.sum(0).mean(),), costs)[0]
        return objective, figures | dict(of_learner)

    def costs(self, episodes: Episodes | TensorEpisodes) -> Tensor:
        """Costs of the messages, (steps, batch, num_agents)."""
        if not self.options.length_cost:
            return torch.zeros_like(torch.as_tensor(episodes.rewards))
        costs: Tensor = self.options.length_cost * episodes.num_symbols.double()
        return costs

    def _of_channel(self, episodes: TensorEpisodes) -> Tensor | float:
        """Objective of the channel itself, such as a divergence: the mean over messages that count."""
        costs, counted = list[Tensor](), list[Tensor]()
        for of_step, speaking in zip(episodes.messages, episodes.speaking, strict=True):
            for agent, message in enumerate(of_step):
                if message is not None:
                    zeros, counts = torch.zeros_like(message.length), speaking[:, agent].to(message.length)
                    own = {name: getattr(message, name) for name in ("divergence", "distortion")}
                    masked = {name: value * counts for name, value in own.items() if value is not None}
                    costs.append(self.channel.objective(zeros, zeros, replace(message, **masked)))
                    counted.append(counts.mean())
        share = torch.stack(counted).mean().clamp(min=torch.finfo(counted[0].dtype).tiny)
        return torch.stack(costs).mean() / share

    def play(
        self,
        numbers: Any,
        mode: Mode,
        generator: torch.Generator,
        *,
        purpose: str = "train",
        epoch: int = 0,
        agents: Policies | None = None,
        deliver: Deliver | None = None,
        watch: Watch | None = None,
    ) -> Episodes:
        """Play the episodes of a purpose with these numbers, in evaluation mode unless `mode` is train.

        See `play_episodes`.

        Args:
            numbers: Episode numbers within the purpose, (batch,).
            mode: Mode in which messages are chosen; actions are the best ones if greedy, else the learner's.
            generator: Random numbers for samples and noise.
            purpose: A key of `PURPOSES`.
            epoch: Passes over the training episodes so far.
            agents: Policies of the agents; None: the agents of this play.
            deliver: Intervention on messages; None: only that of `is_severed`.
            watch: Callback before each decision.
        """
        module = agents if isinstance(agents, nn.Module) else self.module
        module.train(mode == "train")
        try:
            episodes = self._play_numbers(
                torch.from_numpy(numbers + PURPOSES[purpose]),
                mode,
                generator,
                epoch=epoch,
                agents=agents,
                deliver=deliver,
                watch=watch,
            )
        finally:
            module.train()
        return as_arrays(episodes)

    def _play_numbers(
        self,
        numbers: Tensor,
        mode: Mode,
        generator: torch.Generator,
        *,
        epoch: int,
        agents: Policies | None = None,
        deliver: Deliver | None = None,
        watch: Watch | None = None,
        has_all: bool = True,
    ) -> TensorEpisodes:
        """Play the episodes with these numbers, which include the offset of the purpose; see `play`."""
        experiment = self.experiment
        training_choice = self.learner.chooser(generator)
        noise = experiment.training.noise if mode == "train" else experiment.evaluation.noise
        return play_episodes(
            self.environment,
            agents or self.agents,
            self.channel,
            experiment.training.seed,
            numbers,
            mode=mode,
            choose=training_choice if mode != "greedy" else lambda scores: scores.argmax(-1),
            generator=generator,
            device=self.device,
            epoch=epoch,
            is_noisy=noise,
            deliver=severed if deliver is None and self.options.is_severed else deliver,
            watch=watch,
            has_all=has_all,
        )

    @torch.no_grad()
    def batches(
        self, purpose: str, number: int | None = None, agents: Policies | None = None
    ) -> Iterator[Episodes]:
        """Batches of `number` evaluation episodes of a purpose; None: without end."""
        evaluation, first = self.experiment.evaluation, 0
        size = evaluation.batch_size or self.experiment.training.batch_size
        while number is None or first < number:
            last = first + size if number is None else min(first + size, number)
            generator = self.noise(purpose, first)
            yield self.play(
                np.arange(first, last), evaluation.mode, generator, purpose=purpose, agents=agents
            )
            first = last

    def evaluate(self) -> dict[str, float]:
        """Figures of the validation episodes."""
        return self._figures()

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Figures of the environment's other purposes, such as episodes about training objects."""
        purposes = self.environment.other_purposes
        return {name: self._figures(purpose=purpose) for name, purpose in purposes.items()}

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Accuracy without messages, equal for all purposes."""
        return dict.fromkeys(self.environment.other_purposes, self.chance())

    def _figures(self, agents: Policies | None = None, purpose: str = "valid") -> dict[str, float]:
        played = list(self.batches(purpose, self.experiment.evaluation.num_valid, agents))
        right = self.environment.right_reward
        figures: dict[str, list[np.ndarray[Any, Any]]] = {
            "accuracy": [episodes.returns > (right or 0) - 1e-9 for episodes in played],
            "reward": [episodes.returns for episodes in played],
            "steps": [episodes.alive.sum(0) for episodes in played],
            "cost": [self.costs(episodes).numpy().sum(0).mean(1) for episodes in played],
        }
        return {name: float(np.concatenate(figures[name]).mean()) for name in self.figures}

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Messages of each speaker in episodes, step by step, with meanings, actions, and rewards."""
        seed, size = self.experiment.training.seed, evaluation.corpus_size
        return corpus_of(self.batches("corpus"), self.environment, self.channel, seed, size)

    def check(self, folder: Path, note: Any) -> None:
        """Raise `ConfigError` if pyarrow is needed and missing; try user code on two episodes."""
        super().check(folder, note)
        for line in self.environment.notes(self.experiment.training.seed):
            note(line)
        options = self.options
        if any(map(is_foreign, (options.environment.kind, options.agents.kind, options.learner.kind))):
            self.learner.begin_step(0, self.agents)
            self._objective(self.practised(torch.arange(2), 0), 0)
        if self.experiment.evaluation.keeps_interactions:
            require_pyarrow()

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write the validation episodes, a row per agent and step, if `evaluation.keep` requests them."""
        evaluation = self.experiment.evaluation

        def table() -> Any:
            return interactions_of(self.batches("valid", evaluation.num_valid), self.environment)

        return keep_interactions(folder, table if evaluation.keeps_interactions else None)

    def lines(self) -> list[str]:
        """Describe the environment, the agents, and the reference rewards, for the user."""
        specs, options = self.environment.agents, self.options
        said = "; no message is delivered" if options.is_severed else ""
        if options.broadcasts != "nothing":
            whose = (
                "all others see"
                if options.broadcasts == "all"
                else "speakers saw and did, in place of messages"
            )
            said = f"; agents see what {whose}"
        number = sum(each.numel() for each in self.agents.parameters())
        known = self.references()
        reached = "; ".join(f"{name}: {value:.3g} an episode" for name, value in known.items())
        return [
            f"{self.experiment.name}: {options.environment.kind}, {', '.join(spec.name for spec in specs)}; up to "
            f"{self.environment.max_steps} steps; channel {self.experiment.channel.kind} "
            f"({words_text(self.channel, self.experiment.training, self.experiment.evaluation)}){said}",
            f"{options.learner.kind}; {agent_text(options.agents)}, {number:,} weights",
            *([f"to compare with: {reached}"] if reached else []),
        ]

    def references(self) -> Mapping[str, float]:
        """Reference rewards by name: scripted agents, and the best policies without messages and with full view."""
        known = {}
        try:
            figures = self._figures(ScriptedAgents(self.environment, self.channel))
        except ConfigError:
            pass
        else:
            known["scripted agents"] = figures["reward"]
            if self.options.length_cost:
                known["scripted agents, less the cost of messages"] = figures["reward"] - figures["cost"]
        if self.environment.silent_reward is not None:
            known["without messages"] = self.environment.silent_reward
        if self.environment.oracle_reward is not None:
            known["agents that see everything"] = self.environment.oracle_reward
        return known


def _shared(rewards: Floats) -> Arrays:
    """Replace each reward by the mean over agents."""
    return (np.broadcast_to(rewards.mean(2, keepdims=True), rewards.shape),)


def _mean_return(rewards: Floats) -> Arrays:
    """Mean return over episodes and agents."""
    return (rewards.sum(0).mean(1).mean(),)


def require_fitting_lengths(channel: Channel, length_cost: float) -> None:
    """Raise `ConfigError` if agents can't learn to end messages, or if the length has a cost and is fixed."""
    if channel.has_eos and not channel.has_policy_gradient:
        raise ConfigError(
            "channel.length: in play acting, messages of variable length need channel reinforce: expected fixed"
        )
    if length_cost and not channel.has_eos:
        raise ConfigError(
            f"play.length_cost: messages of this channel have one length: expected 0, got {length_cost}"
        )


def require_read(channel: Channel, experiment: Experiment) -> None:
    """Raise `ConfigError` if a setting of channel, noise or `evaluation.keep` has no effect on agents that act."""
    part, evaluation = experiment.channel, experiment.evaluation
    for name in channel.options_of_games:
        if getattr(part.options, name) != (expected := getattr(type(part.options)(), name)):
            raise ConfigError(
                f"channel.{name}: agents that act learn from play.learner and do not read it: expected {expected}, "
                f"got {getattr(part.options, name)}"
            )
    channel.require_noise(part.kind, training=experiment.training.noise, evaluation=evaluation.noise)
    if PROBABILITIES in evaluation.keep:
        raise ConfigError(
            "evaluation.keep: episodes of agents that act have no probabilities of answers: expected interactions"
        )


def require_symbols(environment: Environment, channel: Channel) -> None:
    """Raise `ConfigError` if an agent needs more symbols than the channel has, or messages are real-valued."""
    most = max(spec.num_symbols or 0 for spec in environment.agents)
    if most and (channel.is_of_values or most > channel.vocab_size):
        has = "values" if channel.is_of_values else f"{channel.vocab_size} symbols"
        raise ConfigError(
            f"play.environment: an agent has {most} symbols: expected channel.vocab_size of at least {most}, got {has}"
        )
