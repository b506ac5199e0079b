"""Agents that act and speak in a world with steps, as a play."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.corpus import SPEAKER, Corpus, Ragged
from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.channels import Channel, Mode
from ecsuite.games.environments.agents import ActingAgents, AgentsOptions, ScriptedAgents
from ecsuite.games.environments.environment import Environment
from ecsuite.games.environments.episodes import PURPOSES, Agents, Deliver, Episodes, Watch, play_episodes
from ecsuite.games.environments.landmarks import SpeakerListener
from ecsuite.games.environments.learners import Learner, PolicyGradient
from ecsuite.games.interactions import FILE, KEY, as_parquet, require_pyarrow
from ecsuite.games.optimizers import Optimise
from ecsuite.games.plays.play import Measures, TrainedPlay
from ecsuite.games.registry import ACTORS, CHANNELS, ENVIRONMENTS, LEARNERS
from ecsuite.games.sections import EvaluationOptions, Experiment
from ecsuite.games.train_state import sums
from ecsuite.games.training_notes import agent_text, words_text
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import initial_weights

SPEAKER_LISTENER = Part("speaker_listener", SpeakerListener.Options())
RECURRENT = Part("recurrent", AgentsOptions())
POLICY_GRADIENT = Part("policy_gradient", PolicyGradient.Options())


def severed(step: int, said: Tensor, heard: Tensor) -> tuple[Tensor, Tensor]:
    """Nobody hears anything; see `Deliver`."""
    return said, torch.full_like(heard, -1)


class Acting(TrainedPlay):
    """Agents that act and speak in a world with steps, and learn from its rewards.

    What is said at a step is heard at the next one. Episodes of training are drawn without end, and none comes again.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of agents that act."""

        environment: Annotated[Part, ENVIRONMENTS] = SPEAKER_LISTENER
        """The world with steps."""
        learner: Annotated[Part, LEARNERS] = POLICY_GRADIENT
        """What agents learn from episodes."""
        agents: Annotated[Part, ACTORS] = RECURRENT
        """The agents."""
        is_severed: bool = False
        """Messages arrive at nobody: a control."""

    sections = (*TrainedPlay.sections, "channel")
    options_read = ("training.noise", "evaluation.noise", "evaluation.keep")

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.environment: Environment = ENVIRONMENTS.make(options.environment)
        with initial_weights(experiment.training.seed):
            self.channel: Channel = CHANNELS.make(experiment.channel)
            require_fixed_length(self.channel)
            self.agents: ActingAgents = ACTORS.make(
                options.agents, environment=self.environment, channel=self.channel
            )
            self.learner: Learner = LEARNERS.make(options.learner, agents=self.agents, channel=self.channel)
        self.module: nn.Module = nn.ModuleDict(
            {"agents": self.agents, "channel": self.channel, "learner": self.learner}
        ).to(device)

    @property
    def figures(self) -> Sequence[str]:
        """Reward of an episode, the mean of its agents; and its steps."""
        return ("reward", "steps")

    def update(self, step: int, optimise: Optimise) -> Measures:
        """Play batches of episodes, and learn from them."""
        training, measures = self.experiment.training, dict[str, Any]()
        optimise.begin()
        for number in range(step * training.accumulate, (step + 1) * training.accumulate):
            generator = self.noise("train", number)
            epoch = step // self.steps_per_epoch
            self.channel.start_epoch(epoch)
            episodes = self.play(
                np.arange(number * training.batch_size, (number + 1) * training.batch_size),
                "train",
                generator,
                epoch=epoch,
            )
            objective, figures = self.learner.objective(episodes, step, self.agents)
            if not self.channel.has_policy_gradient:
                objective = objective + self._cost(episodes)
            optimise.backward(objective, training.accumulate)
            reward = float(episodes.returns.mean())
            measures = sums(measures, {"reward": reward, "loss": objective.detach(), **figures})
        optimise.step()
        return {name: value / training.accumulate for name, value in measures.items()}

    def _cost(self, episodes: Episodes) -> Tensor | float:
        """What the channel itself adds to the objective, such as a divergence, of a message."""
        messages = [message for step in episodes.messages for message in step if message is not None]
        zeros = torch.zeros_like(messages[0].length)
        costs = [self.channel.objective(zeros, zeros, message) for message in messages]
        return torch.stack(costs).mean()

    def play(
        self,
        numbers: Any,
        mode: Mode,
        generator: torch.Generator,
        *,
        purpose: str = "train",
        epoch: int = 0,
        agents: Agents | None = None,
        deliver: Deliver | None = None,
        watch: Watch | None = None,
    ) -> Episodes:
        """Play episodes of a purpose by their numbers; see `play_episodes`.

        Args:
            numbers: Of the episodes, (batch,).
            mode: How messages and, but in training, actions are chosen.
            generator: Where draws come from.
            purpose: A key of `PURPOSES`.
            epoch: Passes over the training episodes so far.
            agents: Who plays; None: those of this play.
            deliver: Changes what is heard; None: nothing does, but `is_severed`.
            watch: Is told before each decision.
        """
        experiment = self.experiment
        training_choice = self.learner.chooser(generator)
        noise = experiment.training.noise if mode == "train" else experiment.evaluation.noise
        return play_episodes(
            self.environment,
            agents or self.agents,
            self.channel,
            experiment.training.seed,
            numbers + PURPOSES[purpose],
            mode=mode,
            choose=training_choice if mode != "greedy" else lambda scores: scores.argmax(-1),
            generator=generator,
            device=self.device,
            epoch=epoch,
            is_noisy=noise,
            deliver=severed if deliver is None and self.options.is_severed else deliver,
            watch=watch,
        )

    @torch.no_grad()
    def batches(
        self, purpose: str, number: int | None = None, agents: Agents | None = None
    ) -> Iterator[Episodes]:
        """Batches of episodes of a purpose, as evaluations play them: so many, or without end."""
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
        """Mean reward and steps of the episodes of validation."""
        return self._figures(self.agents)

    def _figures(self, agents: Agents) -> dict[str, float]:
        played = list(self.batches("valid", self.experiment.evaluation.num_valid, agents))
        rewards = np.concatenate([episodes.returns for episodes in played])
        steps = np.concatenate([episodes.alive.sum(0) for episodes in played])
        return {"reward": float(rewards.mean()), "steps": float(steps.mean())}

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """What each speaker says in episodes, step by step, with what it is about, its action, and its reward."""
        specs = self.environment.agents
        speakers = [number for number, spec in enumerate(specs) if spec.speaks]
        rows, words, first = list[Any](), list[Any](), 0
        missing = dict.fromkeys(speakers, evaluation.corpus_size)
        for batch in self.batches("corpus"):
            counts = batch.counts.transpose(1, 0, 2)[:, :, speakers]  # (batch, steps, num_speakers)
            episode, step, place = np.nonzero(counts)
            speaker = np.array(speakers)[place]
            kept = np.zeros(len(episode), bool)
            for each in speakers:
                own = np.flatnonzero(speaker == each)[: missing[each]]
                kept[own] = True
                missing[each] -= len(own)
            episode, step, speaker = episode[kept], step[kept], speaker[kept]
            at = step, episode, speaker
            rows.append(
                (first + episode, step, speaker, batch.actions[at], batch.rewards[at], batch.meanings[at])
            )
            words.append(batch.words.cpu().numpy()[at])
            first += batch.alive.shape[1]
            if not any(missing.values()) or first > 10 * evaluation.corpus_size:
                break
        episodes, steps, who, actions, rewards, meanings = map(np.concatenate, zip(*rows, strict=True))
        said = np.concatenate(words)
        if self.channel.is_of_values:
            messages, symbol_names = self.channel.as_symbols(torch.from_numpy(said))
        else:
            messages = Ragged.from_lengths(said.astype(np.int32).ravel(), np.full(len(said), said.shape[1]))
            symbol_names = None
        names = np.array([spec.name for spec in specs])
        return Corpus(
            messages=messages,
            symbol_names=symbol_names,
            meanings=meanings,
            attribute_names=self.environment.attribute_names,
            columns={
                "episode": episodes, "step": steps, SPEAKER: names[who], "action": actions, "reward": rewards
            },
            metadata={"vocab_size": self.channel.vocab_size, "max_len": self.channel.max_len},
        )  # fmt: skip

    def check(self, folder: Path, note: Any) -> None:
        """Refuse interactions where pyarrow is missing."""
        super().check(folder, note)
        if self.experiment.evaluation.keep:
            require_pyarrow()

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write the episodes of validation where `evaluation.keep` asks for them, a row an agent and step."""
        if not self.experiment.evaluation.keep:
            (folder / FILE).unlink(missing_ok=True)
            return {}
        table = self.interactions()
        content = as_parquet(table)
        write_atomically(folder / FILE, content)
        return {KEY: {"sha256": hashlib.sha256(content).hexdigest(), "num_rounds": table.num_rows}}

    def interactions(self) -> Any:
        """The episodes of validation as a `pyarrow.Table`: what each agent saw, heard, said, did, and got."""
        import pyarrow

        specs, tables, first = self.environment.agents, [], 0
        for batch in self.batches("valid", self.experiment.evaluation.num_valid):
            for number, spec in enumerate(specs):
                episode, step = np.nonzero(batch.alive.T)
                at = step, episode
                said = batch.words[:, :, number].cpu().numpy()[at] if spec.speaks else [None] * len(step)
                columns = {
                    "episode": first + episode,
                    "step": step,
                    "agent": [spec.name] * len(step),
                    "seen": batch.seen[number].cpu().numpy()[at].tolist(),
                    "heard": batch.heard[number].flatten(2).cpu().numpy()[at].tolist(),
                    "message": [None if each is None else each.tolist() for each in said],
                    "action": batch.actions[..., number][at],
                    "reward": batch.rewards[..., number][at],
                    "counts": batch.counts[..., number][at],
                }
                tables.append(
                    pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
                )
            first += batch.alive.shape[1]
        return pyarrow.concat_tables(tables, promote_options="permissive").sort_by(
            [("episode", "ascending"), ("step", "ascending")]
        )

    def lines(self) -> list[str]:
        """What is played, by whom, and what others reach."""
        specs, options = self.environment.agents, self.options
        said = "; messages arrive at nobody" if options.is_severed else ""
        number = sum(each.numel() for each in self.agents.parameters())
        known = self.references()
        reached = "; ".join(f"{name}: {value:.3g} an episode" for name, value in known.items())
        return [
            f"{self.experiment.name}: {options.environment.kind}, {', '.join(spec.name for spec in specs)}; up to "
            f"{self.environment.max_steps} steps; channel {self.experiment.channel.kind} "
            f"({words_text(self.channel, self.experiment)}){said}",
            f"{options.learner.kind}; {agent_text(options.agents)}, {number:,} weights",
            *([f"to compare with: {reached}"] if reached else []),
        ]

    def references(self) -> Mapping[str, float]:
        """Rewards to compare with, by who gets them: scripted agents, and the best that is known without messages."""
        known = {}
        try:
            known["scripted agents"] = self._figures(ScriptedAgents(self.environment, self.channel))["reward"]
        except ConfigError:
            pass
        if self.environment.silent_reward is not None:
            known["without messages"] = self.environment.silent_reward
        return known


def require_fixed_length(channel: Channel) -> None:
    """Raise `ConfigError` if messages may end early: what an agent hears at a step has one width."""
    if channel.has_eos:
        raise ConfigError("channel.length: agents that act hear messages of one length: expected fixed")
