"""A game that is small enough for many trials of a part."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.games.channels.channels import Mode
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.config.registry import LOSSES, PLAYS
from ecsuite.games.config.sections import ROLES, EvaluationOptions, Experiment
from ecsuite.games.players.pair import Pair, PlayResult, make_pair
from ecsuite.games.plays.play import Play, make_play
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training.train import train
from ecsuite.games.worlds.world import Batch, World, make_world
from ecsuite.jobs.signals import StopRequest
from ecsuite.parts.registry import Part
from ecsuite.runtime.randomness import initial_weights

SMALL = (
    "training.num_examples=48",
    "training.batch_size=16",
    "training.num_epochs=2",
    "training.evaluate_every=2",
    "training.checkpoint_every=1",
    "training.precision=fp32",
    "evaluation.num_valid=16",
    "evaluation.corpus_size=8",
)
"""Settings of a training of six steps."""
SHARED = ("society.agents=3", "society.shares=perception")
SOCIETIES = (
    (
        "society.senders=3", "society.receivers=2", "generations.every=3", "generations.transmit=true",
        "generations.size=8", "generations.sender_steps=1", "generations.receiver_steps=1",
    ),
    ("society.senders=3", "society.receivers=2", "society.meets=[groups until 1,all]"),
    SHARED,
)  # fmt: skip
"""Societies in which a part is checked: learning generations, meeting communities, and shared parts."""
SECTIONS = {
    "perception": "sender.perception",
    "noise": "channel.noise",
    "meeting": "society.meets",
    "participant": "play.participant",
    "backend": "play.participant.backend",
    "reward": "loss.reward",
    "frequencies": "world.frequencies",
    "learner": "play.learner",
    "actor": "play.agents",
}
"""Section by kind of part, if their names differ."""
OF_ROUNDS = {"evaluation.num_valid": EvaluationOptions().num_valid}
"""Settings of plays of rounds, which have no validation rounds."""
ROUNDS = {"play.kind": "naming", **OF_ROUNDS}
ACTING = {"play.kind": "acting", "channel.kind": "reinforce", "channel.length": "fixed"}
OTHER_GAMES: Mapping[str, Mapping[str, Any]] = {
    "participant": ROUNDS,
    "backend": {**ROUNDS, "play.participant.kind": "language_model"},
    "reward": {"loss.kind": "reward", "channel.kind": "reinforce"},
    "learner": ACTING,
    "actor": ACTING,
}
"""Settings of the game for kinds of parts that the default game does not use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """A part in a small game."""

    kind: str
    """Kind of the part."""
    experiment: Experiment
    """The game; all its other parts are built in."""

    @classmethod
    def of(cls, kind: str, name: str, settings: Sequence[str] = ()) -> "Trial":
        """Build the small game with a part.

        Args:
            kind: Kind of the part.
            name: Its name, with options after commas.
            settings: Further settings, `section.key=value` each.
        """
        section = SECTIONS.get(kind, kind)
        has_no_rounds = kind == "play" and not PLAYS.load(name.partition(",")[0]).plays_validation
        others = OF_ROUNDS if has_no_rounds else OTHER_GAMES.get(kind, {})
        if kind == "loss" and LOSSES.load(name.partition(",")[0]).of_pairs == "several":
            others = {"society.senders": 2, "society.receivers": 2}
        changes = {**others, section if kind in SECTIONS else f"{kind}.kind": name}
        return cls(kind=kind, experiment=load_experiment("disc_tiny", [*SMALL, *settings], changes))

    @property
    def section(self) -> str:
        """The section of the experiment with the part."""
        return SECTIONS.get(self.kind, self.kind).partition(".")[0]

    @property
    def part(self) -> Part:
        """The part with its options."""
        first, *below = SECTIONS.get(self.kind, self.kind).split(".")
        found: Part = getattr(self.experiment, first)
        for name in below:
            found = getattr(found.options, name)
        return found

    def with_options(self, options: Any) -> "Trial":
        """Copy with other options of the part."""
        part = replace(self.part, options=options)
        if self.section != self.kind:
            outer: Part = getattr(self.experiment, self.section)
            option = SECTIONS[self.kind].rpartition(".")[2]
            part = replace(outer, options=replace(outer.options, **{option: part}))
        changed: dict[str, Any] = {self.section: part}
        return replace(self, experiment=replace(self.experiment, **changed))

    def in_society(self, settings: Sequence[str]) -> "Trial":
        """Copy with several agents; agents that share a perception use the part, or an MLP for other kinds of parts."""
        trial = self
        if settings == SHARED and self.kind == "perception":
            receiver = self.experiment.receiver
            receiver = replace(receiver, options=replace(receiver.options, perception=self.part))
            trial = replace(self, experiment=replace(self.experiment, receiver=receiver))
        elif settings == SHARED:
            settings = (*settings, *(f"{role}.perception=mlp,size=8" for role in ROLES))
        return replace(trial, experiment=override(trial.experiment, settings))

    def world(self) -> World:
        """The world of the game."""
        return make_world(self.experiment)

    def game(self, world: World, *, dtype: torch.dtype = torch.float32, seed: int = 1) -> Pair:
        """The game, with the initial weights of a seed."""
        with initial_weights(seed):
            return make_pair(self.experiment, world, dtype)

    def module(self, game: Pair) -> nn.Module | None:
        """The part in a game; None if it is not a module."""
        parts = {
            "sender": game.speaker.network,
            "perception": game.speaker.perception,
            "channel": game.channel,
            "loss": game.loss,
            "receiver": game.listener.network,
            "task": game.task,
        }
        part = parts.get(self.kind)
        return part if isinstance(part, nn.Module) else None

    def play(self) -> Play:
        """The play at its beginning."""
        return make_play(self.experiment, torch.device("cpu"))

    def train(self, folder: Path, *, stop_after: int | None = None, **how: Any) -> RunResult:
        """Train the game; `stop_after`: number of steps before an interrupt; for `how` see `train`."""
        steps = 0

        def should_stop() -> StopRequest | None:
            nonlocal steps
            steps += 1
            return "preempted" if steps == stop_after else None

        return train(
            self.experiment,
            folder,
            device="cpu",
            scorer=LanguageMetrics,
            progress=lambda *_: None,
            note=lambda _: None,
            should_stop=should_stop,
            **how,
        )


def play(game: Pair, batch: Batch, mode: Mode, *, seed: int = 0) -> PlayResult:
    """Play a batch with the noise of a seed; the game is in training mode only if the mode is train.

    As in a run, torch's global generators are seeded in training only, so that dropout repeats.
    """
    game.train(mode == "train")
    seeding = initial_weights(seed) if mode == "train" else nullcontext()
    generator = None if mode == "greedy" else noise_generator(seed, "check", 0, game.device)
    with seeding, torch.set_grad_enabled(mode == "train"):
        return game.play(batch, mode, generator)


def gradients(game: Pair, batch: Batch) -> dict[str, Tensor]:
    """Gradients of the parameters after a batch, by name; parameters without a gradient are left out."""
    game.zero_grad(set_to_none=True)
    play(game, batch, "train").objective.backward()
    return {name: each.grad for name, each in game.named_parameters() if each.grad is not None}


def same(first: Any, second: Any) -> bool:
    """Whether two messages, tensors, arrays or mappings of them are equal to the last bit."""
    if isinstance(first, Message):
        return same(first.symbols, second.symbols) and same(first.length, second.length)
    if isinstance(first, Tensor):
        return torch.equal(first, second)
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    return bool(first == second)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder that is removed at the end."""
    with TemporaryDirectory(prefix="ecsuite-check-") as folder:
        yield Path(folder)
