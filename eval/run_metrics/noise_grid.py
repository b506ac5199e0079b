"""Rounds of evaluation that agents play, and accuracies under kinds and rates of noise."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.eval.statistics.estimates import Bound, mean_of_shares
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.games.channels.channels import Channel
from ecsuite.games.channels.noise import NO_NOISE, MessageNoise, noise_generator
from ecsuite.games.config.registry import NOISES
from ecsuite.games.config.sections import Experiment
from ecsuite.games.plays.evaluation import SpokenRounds, spoken_rounds
from ecsuite.games.plays.population import Population
from ecsuite.games.runs.run import Run
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.games.worlds.world import Batch, Description, World
from ecsuite.parts.config import parse_value
from ecsuite.parts.registry import KIND, Part, option_types, pieces_of, read_options, split_names
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import bounded, estimate, percent, text
from ecsuite.tables.table import Table, name_column, number_column, row_of

TRAINED, HELD_OUT = "train", "held_out"
"""Values of the column `split`: in training, and held out of training."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluatedRounds:
    """Rounds of all evaluations of a run, concatenated."""

    meanings: NDArray[np.generic]
    """The meaning of each round, (num_rounds, num_attributes)."""
    split: NDArray[np.str_]
    """Split of each round, (num_rounds,): `train`, or the reason for not being in training; default `train`."""
    accuracy: NDArray[np.float64]
    """Share of pairs of agents that understood each other, (num_rounds,)."""


@torch.inference_mode()
def played(run: Run, evaluations: Iterable[tuple[World, str]] | None = None) -> EvaluatedRounds:
    """Play rounds of evaluation of a run, each with every pair of agents that meets.

    Args:
        run: The run with the agents.
        evaluations: Pairs of world and split; None: all evaluations of the run.
    """
    world = run.pair.world
    described: list[Description] = []
    accuracy: list[NDArray[np.float64]] = []
    if evaluations is None:
        evaluations = [(world, "valid"), *world.extra_evaluations().values()]
    for place, split in evaluations:
        for batch, found in each_batch(run.players, place, split, run.experiment):
            described.append(place.describe(batch))
            accuracy.append(found)
    return EvaluatedRounds(
        meanings=np.concatenate([each.meanings.reshape(len(each.meanings), -1) for each in described]),
        split=np.concatenate(
            [each.columns.get("split", np.full(len(each.meanings), TRAINED)) for each in described]
        ),
        accuracy=np.concatenate(accuracy),
    )


def each_batch(
    players: Population, world: World, split: str, experiment: Experiment
) -> Iterator[tuple[Batch, NDArray[np.float64]]]:
    """Play the batches of a split with every pair that meets; yield batches and success rates, (batch,)."""
    for spoken in spoken_rounds(players.eval(), world, split, experiment.evaluation.mode):
        yield spoken.batch, understood(players, spoken, split, experiment)


def understood(
    players: Population, spoken: SpokenRounds, split: str, experiment: Experiment
) -> NDArray[np.float64]:
    """Share of the meeting pairs that understood each other in each round of a batch, (batch,)."""
    mode, rounds = experiment.evaluation.mode, spoken.rounds
    noise = noise_generator(experiment.training.seed, split, spoken.first, players.device)
    # In the order in which an evaluation draws noise.
    accuracy = {
        numbers: outputs.measures["accuracy"].double().cpu().numpy()
        for numbers, _, outputs in players.understood(rounds, mode, noise, messages=spoken.messages)
    }
    found = [accuracy[meeting.sender, meeting.receiver] for meeting, _ in players.pairs()]
    return np.asarray(np.mean(found, axis=0))


RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Default rates of a grid."""
RATE = "probability"
"""Option that a rate sets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisePoint:
    """Accuracy under a noise."""

    noise: str
    rate: float
    position: int | None
    """Only position of symbols with noise, from 1; None: all positions."""
    accuracy: float
    """Mean over rounds; for a society also over pairs that meet."""
    ci95: tuple[float, float] | None
    """Student's 95 % interval over rounds."""

    @property
    def bound(self) -> Bound | None:
        """Whether the accuracy is a bound of the true one, as an accuracy of 1 is."""
        return measure_bound("accuracy", {"accuracy": self.accuracy})

    def to_json(self) -> dict[str, Any]:
        """The point as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseGrid:
    """Accuracies of a grid of noises and rates."""

    points: Sequence[NoisePoint]
    """Points of every noise: each rate, then each position with noise on all of its symbols."""
    chance: float
    """Accuracy of the best answer without reading messages."""
    num_rounds: int


def rates_in(given: str | None) -> tuple[float, ...]:
    """Parse a list of rates such as `0,0.1,0.2`; None: `RATES`; `ConfigError` if one is not a share."""
    if given is None:
        return RATES
    rates = [parse_value(each, "--rates") for each in pieces_of(given)]
    for rate in rates:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise ConfigError(f"--rates: expected shares from 0 to 1, separated by commas, got {rate!r}")
    return tuple(sorted({float(rate) for rate in rates}))


@torch.inference_mode()
def noise_grid(
    experiment: Experiment, world: World, players: Population, noises: str, rates: Iterable[float] = RATES
) -> NoiseGrid:
    """Play the rounds of validation under every noise, at every rate and at every single position.

    Args:
        experiment: Sets the seed, and the mode of choosing messages.
        world: World with the rounds.
        players: The agents.
        noises: Names of noises with options, separated by commas.
        rates: Values of the noise's option `probability`.

    Raises:
        ConfigError: If a noise is unknown, has no option `probability`, or does not fit messages of this channel.
    """
    channel = players.channel
    if channel.noise is None or type(channel).received is not Channel.received:
        raise ConfigError("--noise: this channel has built-in noise: expected one with the option noise")
    grid = [(name, *each) for name in split_names(noises) for each in _noises_of(channel, name, tuple(rates))]
    found: list[list[float]] = [[] for _ in grid]
    for spoken in spoken_rounds(players.eval(), world, "valid", experiment.evaluation.mode):
        for (_, noise, _, position), accuracies in zip(grid, found, strict=True):
            noise.position = position
            with _noisy(players, noise):
                accuracies += understood(players, spoken, "valid", experiment).tolist()
    points = []
    for (name, _, rate, position), accuracies in zip(grid, found, strict=True):
        mean, ci95 = mean_of_shares(accuracies)
        points.append(
            NoisePoint(
                noise=name,
                rate=rate,
                position=None if position is None else position + 1,
                accuracy=mean,
                ci95=ci95,
            )
        )
    return NoiseGrid(points=points, chance=players.chance()["accuracy"], num_rounds=world.num_valid)


def _noises_of(
    channel: Channel, name: str, rates: Sequence[float]
) -> list[tuple[MessageNoise, float, int | None]]:
    """A noise at each rate, and at each position, from 0, with noise on all symbols there."""
    section = NOISES.section(name, "--noise")
    kind = section.pop(KIND)
    if RATE not in option_types(NOISES.load(kind).Options):
        raise ConfigError(f"--noise: {kind} has no rate: expected a noise with the option {RATE}")

    def made(rate: float) -> MessageNoise:
        if rate == 0:
            return channel.make_noise(NO_NOISE)
        options = read_options(NOISES.load(kind).Options, {**section, RATE: rate}, f"--noise: {kind}")
        return channel.make_noise(Part(kind, options))

    of_rates = [(made(rate), rate, None) for rate in rates]
    return [*of_rates, *((made(1.0), 1.0, position) for position in range(channel.max_len))]


@contextmanager
def _noisy(players: Population, noise: MessageNoise) -> Iterator[None]:
    """Context in which messages meet only this noise in evaluations."""
    before = [(speaker.channel.noise, speaker.has_noise) for speaker in players.senders]
    try:
        for speaker in players.senders:
            speaker.channel.noise, speaker.has_noise = noise, (False, True)
        yield
    finally:
        for speaker, (own, has_noise) in zip(players.senders, before, strict=True):
            speaker.channel.noise, speaker.has_noise = own, has_noise


def report(grid: NoiseGrid) -> Report:
    """Tables of accuracy by rate and by position, JSON data, and curves."""
    by_rate = [point for point in grid.points if point.position is None]
    by_position = [point for point in grid.points if point.position is not None]
    tables = [_table("rate", by_rate, lambda point: point.rate)]
    tables.append(_table("position", by_position, lambda point: point.position))
    notes = (
        f"chance level: {grid.chance:.1%}; {grid.num_rounds:,} rounds per point, no agent learns; ±: 95 % interval",
        "position: noise on every symbol at this position, and on no other",
    )
    data = {
        "points": [point.to_json() for point in grid.points],
        "chance": grid.chance,
        "num_rounds": grid.num_rounds,
    }
    return Report(tables=tables, notes=notes, data=data, draw=partial(_draw, grid))


def _table(where: str, points: Sequence[NoisePoint], place: Any) -> Table:
    """Table of the accuracy of each noise at each rate, or at each position."""
    names = list(dict.fromkeys(point.noise for point in points))
    columns = [name_column(where), *(number_column(name, heading=name) for name in names)]
    found = {(point.noise, place(point)): point for point in points}
    places = list(dict.fromkeys(map(place, points)))
    rows = [row_of(text(each), *(_cell(found[name, each]) for name in names)) for each in places]
    return Table(columns=columns, rows=rows, title=f"accuracy by {where} of noise")


def _cell(point: NoisePoint) -> Any:
    if point.ci95 is None:
        return bounded(percent(point.accuracy), point.bound)
    # an interval that is cut at 0 or 1 has its width on the other side
    half_width = max(abs(end - point.accuracy) for end in point.ci95)
    return bounded(estimate(point.accuracy, half_width, limits=(0.0, 1.0), as_percent=True), point.bound)


def _draw(grid: NoiseGrid, *paths: Path) -> None:
    panels = {"rate": "rate of noise", "position": "position of noise"}
    lines = []
    for name in dict.fromkeys(point.noise for point in grid.points):
        for panel in panels:
            chosen = [
                point
                for point in grid.points
                if point.noise == name and (point.position is None) == (panel == "rate")
            ]
            bounds = [point.ci95 or (None, None) for point in chosen]
            lines.append(
                Curve(
                    x=[point.rate if point.position is None else point.position for point in chosen],
                    y=[point.accuracy for point in chosen],
                    low=[low for low, _ in bounds],
                    high=[high for _, high in bounds],
                    name=name,
                    panel=panels[panel],
                    bounds=[point.bound for point in chosen],
                )
            )
    figure = curves(
        lines,
        x={panel: panel for panel in panels.values()},
        y="accuracy",
        levels={f"chance {grid.chance:.3g}": grid.chance},
        limits=(0, 1.02),
        title="accuracy under noise",
    )
    save(figure, *paths)
