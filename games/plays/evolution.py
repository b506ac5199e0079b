"""Lewis signalling games without networks: pairs that reinforce successful choices, and populations that replicate.

Many independent repetitions are played in parallel, as arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.games.config.sections import EvaluationOptions, Experiment
from ecsuite.games.plays.evaluation import corpus_of_signs, every_object
from ecsuite.games.plays.play import Measures, Play
from ecsuite.games.plays.words import letters
from ecsuite.parts.config import Count, Levels, Positive, require_defaults
from ecsuite.runtime.errors import ConfigError

Floats = NDArray[np.float64]

MOST_STRATEGIES = 4096
"""Maximum number of pure strategies of senders, or of receivers."""
MOST_WEIGHTS = 2**27
"""Maximum number of weights of urns, or of strategies, over all repetitions."""
SIDES = ("senders", "receivers")
"""Names of the tensors of a state."""
ALMOST = 1e-9
"""Tolerance for the best possible success."""


class Evolution(Play):
    """Lewis signalling game: a sender maps states to signals, a receiver signals to acts; a fitting act pays both 1.

    States are the objects of the world, with the frequencies of targets; one act fits each state. `roth_erev`: a sender
    has an urn per state, a receiver an urn per signal; they draw from urns, and a success adds 1 to the weights of both
    choices (Roth & Erev 1995; Argiento et al. 2009). `replicator`: in infinite populations of senders and of receivers,
    the share of each pure strategy is multiplied by its mean payoff divided by the population's mean payoff (Taylor &
    Jonker 1978 in discrete time; Huttegger et al. 2010, doi 10.1007/s11229-009-9477-0); initial shares are uniformly
    distributed over the simplex. A step has `training.batch_size` rounds or generations in each repetition.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of evolution."""

        dynamics: Literal["roth_erev", "replicator"] = "roth_erev"
        """roth_erev: pairs that reinforce successful choices. replicator: populations in which strategies reproduce."""
        repeats: Count = 100
        """Number of independent repetitions: pairs, or pairs of populations. The corpus has all of them."""
        signals: Levels | None = None
        """Number of signals; null: the number of objects in the world."""
        initial: Positive = 1.0
        """roth_erev: weight of each choice in an urn at the beginning."""

        def __post_init__(self) -> None:
            """Raise `ConfigError` if an option is set that is not used."""
            if self.dynamics != "roth_erev":
                require_defaults(self, ("initial",), f"with dynamics={self.dynamics}")

    sections = ("world",)
    precisions = ("fp32",)
    plays_validation = False
    options: Options

    def __init__(self, options: Options, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.world, _, self.described = every_object(experiment, MOST_STRATEGIES)
        self.num_states = number = self.world.objects.number
        if number < 2:
            raise ConfigError("world: for play evolution, expected at least 2 objects, got 1")
        needed = self.world.probabilities
        self.frequencies = np.full(number, 1 / number) if needed is None else needed / needed.sum()
        self.num_signals = options.signals or number
        shapes = (number, self.num_signals), (self.num_signals, number)
        if options.dynamics == "replicator":
            # Logarithms, as the numbers of strategies may be too large to compute.
            if max(rows * np.log(choices) for rows, choices in shapes) > np.log(MOST_STRATEGIES) + ALMOST:
                raise ConfigError(
                    f"play.dynamics: replicator: expected at most {MOST_STRATEGIES:,} strategies, got "
                    f"{self.num_signals}^{number} and {number}^{self.num_signals}: fewer objects or play.signals"
                )
            self._strategies = [np.array(list(product(range(many), repeat=rows))) for rows, many in shapes]
            senders, receivers = self._strategies
            fits = (receivers[:, senders[:, state]].T == state for state in range(number))
            self.payoffs: Floats = sum(each * p for each, p in zip(fits, self.frequencies, strict=True))
        sizes = self.payoffs.shape if options.dynamics == "replicator" else (number * self.num_signals,)
        if options.repeats > MOST_WEIGHTS // max(sizes):
            most = f"{MOST_WEIGHTS // max(sizes):,} for {number} objects and {self.num_signals} signals"
            raise ConfigError(f"play.repeats: expected at most {most}, got {options.repeats:,}")
        if options.dynamics == "replicator":
            rng = self.rng("populations", 0)
            self.weights = [rng.dirichlet(np.ones(size), options.repeats) for size in sizes]
        else:
            self.weights = [np.full((options.repeats, *shape), options.initial) for shape in shapes]

    def chance(self) -> Mapping[str, float]:
        """Chance level: success of acts that are drawn uniformly."""
        return {"accuracy": 1 / self.num_states}

    def train_step(self, step: int) -> Measures:
        """Play the rounds, or the generations, of a step; returns the mean success in them."""
        size = self.experiment.training.batch_size
        size = min(size, self.num_rounds - step % self.steps_per_epoch * size)
        if self.options.dynamics == "replicator":
            return {"accuracy": sum(self._generation() for _ in range(size)) / size}
        rng, repeats = self.rng("rounds", step), self.options.repeats
        return {"accuracy": sum(self._round(*rng.random((3, repeats))) for _ in range(size)) / size}

    def _generation(self) -> float:
        """Replace both populations by their offspring; returns the mean payoff before."""
        senders, receivers = self.weights
        fitness = receivers @ self.payoffs.T, senders @ self.payoffs
        means = (senders * fitness[0]).sum(1, keepdims=True)
        self.weights = [normalised(old * each) for old, each in zip(self.weights, fitness, strict=True)]
        return float(means.mean())

    def _round(self, state: Floats, signal: Floats, act: Floats) -> float:
        """Play a round of each pair with uniform random numbers, (num_repeats,) each; returns the mean success."""
        # Views in which each row is an urn.
        senders, receivers = (each.reshape(-1, each.shape[-1]) for each in self.weights)
        pairs = np.arange(len(state))
        states = self.frequencies[:-1].cumsum().searchsorted(state, side="right")
        urns = pairs * self.num_states + states
        signals = drawn_choices(senders.take(urns, 0), signal)
        heard = pairs * self.num_signals + signals
        acts = drawn_choices(receivers.take(heard, 0), act)
        gain = np.flatnonzero(acts == states)
        senders[urns[gain], signals[gain]] += 1
        receivers[heard[gain], acts[gain]] += 1
        return len(gain) / len(pairs)

    def probabilities(self) -> tuple[Floats, Floats]:
        """Probabilities of signals and of acts.

        Returns:
            p(signal | state), (num_repeats, num_states, num_signals), and p(act | signal), (num_repeats, num_signals,
            num_states).
        """
        if self.options.dynamics == "roth_erev":
            senders, receivers = map(normalised, self.weights)
            return senders, receivers
        sizes = self.num_signals, self.num_states
        senders, receivers = (
            np.einsum("rs,sck->rck", shares, np.eye(size)[strategies])
            for shares, strategies, size in zip(self.weights, self._strategies, sizes, strict=True)
        )
        return senders, receivers

    def evaluate(self) -> dict[str, float]:
        """Mean expected success, and the share of repetitions without a signalling system.

        `accuracy` is the sum of p(state) p(signal | state) p(act | signal) over acts that fit. `pooling` is the share
        of repetitions whose most probable signals and acts succeed less often than the best ones for this number of
        signals: states share a signal while another signal is not used, or is a synonym.
        """
        senders, receivers = self.probabilities()
        success = np.einsum("s,rsk,rks->r", self.frequencies, senders, receivers)
        acts = np.take_along_axis(receivers.argmax(2), senders.argmax(2), 1)
        likely = (acts == np.arange(self.num_states)) @ self.frequencies
        best = np.sort(self.frequencies)[::-1][: self.num_signals].sum()
        return {"accuracy": float(success.mean()), "pooling": float((likely < best - ALMOST).mean())}

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures of an evaluation."""
        return ("accuracy", "pooling")

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Corpus of the most probable signal for each state; each repetition is a speaker."""
        signals, names = self.probabilities()[0].argmax(2), letters(self.num_signals)
        return corpus_of_signs(signals, names, self.world, self.described, evaluation.corpus_size)

    def state(self) -> dict[str, Tensor]:
        """Weights of urns, or shares of strategies."""
        return {name: torch.from_numpy(each) for name, each in zip(SIDES, self.weights, strict=True)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore weights from a state."""
        found = [state[name].numpy().copy() for name in SIDES]
        if [each.shape for each in found] != [each.shape for each in self.weights]:
            raise RuntimeError("weights of another game")
        self.weights = found

    def lines(self) -> list[str]:
        """Describe the game, for the user."""
        what = f"{self.options.dynamics} in {self.options.repeats:,} repetitions"
        return [f"{self.experiment.name}: {what}; {self.num_states} states, {self.num_signals} signals"]


def normalised(weights: NDArray[Any]) -> Floats:
    """Divide weights by their sum over the last axis."""
    found: Floats = weights / weights.sum(-1, keepdims=True)
    return found


def drawn_choices(weights: Floats, uniform: Floats) -> NDArray[np.int64]:
    """Draw choices in proportion to weights, (num_draws, num_choices), by numbers from 0 to 1, (num_draws,)."""
    total = weights.T.cumsum(0)
    drawn, chosen = uniform * total[-1], np.zeros(len(uniform), dtype=np.int64)
    for each in total[:-1]:  # choices are few, and draws many
        chosen += drawn >= each
    return chosen
