"""The naming game by acceptance: agents agree on signs for objects by a Metropolis-Hastings rule, without rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.config.sections import EvaluationOptions, Experiment
from ecsuite.games.config.society import EVERYONE
from ecsuite.games.players.schedule import drawn_pairs, meetings_of_agents
from ecsuite.games.plays.evaluation import corpus_of_signs, every_object
from ecsuite.games.plays.play import Measures, Play
from ecsuite.games.plays.words import letters
from ecsuite.parts.config import Count, Levels, Positive, Rate, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

Floats = NDArray[np.float64]
Signs = NDArray[np.int64]

MOST_OBJECTS = 2**16
MOST_VALUES = 2**26
"""Maximum number of components seen by all agents together, of parameters, of sign probabilities, or of features."""
SHAPE = 1.0
"""Shape of the gamma prior of a precision; its rate is the same, so that the prior mean is 1."""


class NamingByAcceptance(Play):
    """The Metropolis-Hastings naming game (Taniguchi et al. 2022, arXiv 2205.12392) of agents with Gaussian mixtures.

    Each agent sees a part of the features of an object, as principal components, and has a Gaussian p(seen | sign) with
    independent components for each sign. Both agents of a meeting attend to the same objects. The speaker draws a sign
    from its posterior p(sign | seen), all signs being equally probable a priori; the listener replaces its sign by it
    with probability min(1, p(seen | new sign) / p(seen | old sign)), with its own p and its own view. With two agents
    and fixed Gaussians the signs of a listener are samples of the posterior given both views. After a step both draw
    the parameters of their Gaussians from the posterior given their signs. In a step one pair names
    `training.batch_size` objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the game."""

        agents: Levels = 2
        """Number of agents."""
        meets: Annotated[Part, MEETINGS] = EVERYONE
        """Pairs of speakers and listeners."""
        signs: Levels = 10
        """Number of signs."""
        accepts: Literal["metropolis", "always", "never"] = "metropolis"
        """metropolis: by the ratio of probabilities. always: every proposal. never: without communication, both agents
        draw signs from their own posterior."""
        seen: Rate = 0.5
        """Share of the features of objects that an agent sees, drawn for each agent; at least one."""
        components: Count = 10
        """Number of principal components of an agent's view that its Gaussians describe; at most those available."""
        noise: Weight = 0.0
        """Standard deviation of the noise on the components, drawn once; they are scaled to 1 in the mean."""
        prior: Positive = 1.0
        """Weight, in objects, of the prior of a Gaussian's mean; the prior mean is the mean of all objects."""

    sections = ("world",)
    precisions = ("fp32",)
    plays_validation = False
    options: Options

    def __init__(self, options: Options, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.world, batch, self.described = every_object(experiment, MOST_OBJECTS)
        number, size = len(batch), experiment.training.batch_size
        if size > number:
            raise ConfigError(
                f"training.batch_size: expected at most the {number} objects of the world, got {size}"
            )
        objects = torch.as_tensor(batch.objects[batch.shown[:, 0]])
        features = self.world.features(objects, torch.float64).reshape(number, -1).numpy()
        num_seen = max(1, round(options.seen * features.shape[1]))
        num_components = min(options.components, num_seen, number)
        seen_by_all = options.agents * max(number, options.signs) * num_components
        if max(seen_by_all, number * options.signs, features.size) > MOST_VALUES:
            raise ConfigError(
                f"play.agents: too large: {options.agents} agents with {options.signs} signs and {num_components} "
                f"components of {number} objects with {features.shape[1]} features: choose fewer agents or objects"
            )
        self.meetings = meetings_of_agents(options.meets, options.agents, experiment.training.seed)
        rng = self.rng("perception", 0)
        chosen = [np.sort(rng.permutation(features.shape[1])[:num_seen]) for _ in range(options.agents)]
        seen = np.stack([principal_components(features[:, each], num_components) for each in chosen])
        self.seen: Floats = seen + options.noise * rng.standard_normal(seen.shape)
        """Components of the objects as each agent sees them, (num_agents, num_objects, num_components)."""
        self.signs: Signs = rng.integers(options.signs, size=(options.agents, number))
        drawn = [self.drawn_gaussians(agent, rng) for agent in range(options.agents)]
        self.sign_means, self.sign_precisions = (np.stack(each) for each in zip(*drawn, strict=True))

    def drawn_gaussians(self, agent: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw means and precisions from the posterior of an agent given its signs.

        The prior is normal-gamma: precision ~ Gamma(`SHAPE`, rate `SHAPE`), mean ~ N(0, 1 / (`prior` precision)); see
        Murphy 2007, Conjugate Bayesian analysis of the Gaussian distribution, section 3.

        Returns:
            Means and precisions, (num_signs, num_components) each.
        """
        is_named = np.eye(self.options.signs)[self.signs[agent]].T  # (signs, objects)
        count, seen = is_named.sum(1)[:, None], self.seen[agent]
        total, squares = is_named @ seen, is_named @ seen**2
        weight = self.options.prior + count
        means = total / weight
        rate = SHAPE + (squares - weight * means**2).clip(0) / 2
        precisions = rng.standard_gamma(np.broadcast_to(SHAPE + count / 2, rate.shape)) / rate
        return means + rng.standard_normal(means.shape) / np.sqrt(weight * precisions), precisions

    def log_probabilities(self, agent: int, objects: Signs) -> Floats:
        """Compute ln p(seen | sign) of an agent up to a constant, (num_objects, num_signs)."""
        seen = self.seen[agent, objects]
        means, precisions = self.sign_means[agent], self.sign_precisions[agent]
        constant = (np.log(precisions) - precisions * means**2).sum(1)
        found: Floats = (constant + 2 * seen @ (means * precisions).T - seen**2 @ precisions.T) / 2
        return found

    def name(self, speaker: int, listener: int, objects: Signs, rng: np.random.Generator) -> float:
        """Let a speaker propose signs for objects to a listener; returns the share that it accepted."""
        accepts, rows = self.options.accepts, np.arange(len(objects))
        proposed = drawn_signs(self.log_probabilities(speaker, objects), rng)
        heard = self.log_probabilities(listener, objects)
        if accepts == "never":
            self.signs[speaker, objects] = proposed
            self.signs[listener, objects] = drawn_signs(heard, rng)
            return 0.0
        ratio = heard[rows, proposed] - heard[rows, self.signs[listener, objects]]
        accepted = np.log1p(-rng.random(len(objects))) <= (ratio if accepts == "metropolis" else np.inf)
        self.signs[listener, objects[accepted]] = proposed[accepted]
        return float(accepted.mean())

    def train_step(self, step: int) -> Measures:
        """Let one pair name objects, and both draw new Gaussians; returns the share of proposals accepted."""
        rng, size = self.rng("naming", step), self.experiment.training.batch_size
        epoch, place = divmod(step, self.steps_per_epoch)
        (speaker,), (listener,) = drawn_pairs(self.meetings, self.options.agents, rng, 1, epoch)
        objects = rng.permutation(self.seen.shape[1])[: min(size, self.num_rounds - place * size)]
        share = self.name(speaker, listener, objects, rng)
        for agent in (speaker, listener):
            self.sign_means[agent], self.sign_precisions[agent] = self.drawn_gaussians(agent, rng)
        return {"accepted": share}

    def chance(self) -> Mapping[str, float]:
        """Agreement of signs that are drawn uniformly, and of independent signs."""
        return {"accuracy": 1 / self.options.signs, "kappa": 0.0}

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures of an evaluation."""
        return ("accuracy", "kappa", *(("ari",) if self._classes is not None else ()))

    @property
    def _classes(self) -> Signs | None:
        """Class of each object by its values; None if all objects have different values, or all have equal values."""
        values = self.world.objects.values(np.arange(self.world.objects.number))
        found, classes = np.unique(values, axis=0, return_inverse=True)
        return classes.reshape(-1) if 1 < len(found) < len(classes) else None

    def evaluate(self) -> dict[str, float]:
        """Agreement of agents on signs, and of signs with the values of objects.

        `accuracy` is the share of objects for which two agents have the same sign, `kappa` the same corrected for
        chance (Cohen 1960), both averaged over pairs of agents. `ari` is the adjusted Rand index of signs and values
        (Hubert & Arabie 1985), averaged over agents, where several objects have the same values.
        """
        from sklearn.metrics import adjusted_rand_score, cohen_kappa_score  # half a second

        pairs = list(combinations(self.signs, 2))
        agreement = [(one == other).mean() for one, other in pairs]
        kappas = [1 if (one == other).all() else cohen_kappa_score(one, other) for one, other in pairs]
        figures = {"accuracy": float(np.mean(agreement)), "kappa": float(np.mean(kappas))}
        if (classes := self._classes) is not None:
            figures["ari"] = float(np.mean([adjusted_rand_score(classes, each) for each in self.signs]))
        return figures

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Corpus of the sign of each agent for each object."""
        names = letters(self.options.signs)
        return corpus_of_signs(self.signs, names, self.world, self.described, evaluation.corpus_size)

    def state(self) -> dict[str, Tensor]:
        """Signs, means and precisions."""
        arrays = {"signs": self.signs, "means": self.sign_means, "precisions": self.sign_precisions}
        return {name: torch.from_numpy(each) for name, each in arrays.items()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore signs, means and precisions from a state."""
        signs, means, precisions = (state[name].numpy().copy() for name in ("signs", "means", "precisions"))
        if signs.shape != self.signs.shape or means.shape != self.sign_means.shape:
            raise RuntimeError("signs of another game")
        self.signs, self.sign_means, self.sign_precisions = signs, means, precisions

    def lines(self) -> list[str]:
        """Describe the agents, for the user."""
        agents, number, components = self.seen.shape
        return [
            f"{self.experiment.name}: {agents} agents with {self.options.signs} signs for {number} objects, seen as "
            f"{components} components; accepts: {self.options.accepts}"
        ]


def principal_components(features: Floats, number: int) -> Floats:
    """Project features, (num_objects, num_features), on their first components, (num_objects, number), scaled to 1."""
    left, sizes, _ = np.linalg.svd(features - features.mean(0), full_matrices=False)
    found: Floats = left[:, :number] * sizes[:number]
    return found / (found.std() or 1.0)


def drawn_signs(log_probabilities: Floats, rng: np.random.Generator) -> Signs:
    """Draw a sign for each object in proportion to its probability, (num_objects,), from (num_objects, num_signs)."""
    found: Signs = (log_probabilities + rng.gumbel(size=log_probabilities.shape)).argmax(1)
    return found
