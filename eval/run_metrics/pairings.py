"""Cross-play: the accuracy of every sender of several runs with every receiver."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.eval.run_metrics.phrasebooks import PhrasebookOptions, with_phrasebook
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import CrossedMean, crossed_mean, joint_bound
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.sections import ROLES, Role
from ecsuite.games.players.pair import Pair
from ecsuite.games.runs.run import Run
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import FEWEST, INTERVAL, bounded, estimate, percent
from ecsuite.tables.table import Table, name_column, number_column, row_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Player:
    """Sender or receiver of a run."""

    name: str
    """Name: its run if there are several, and its number if the run has several agents."""
    run: int
    """Index of its run."""
    pair: Pair
    """The agent and a partner that it meets in its run."""
    met: frozenset[int]
    """Numbers of its partners in its run."""
    number: int
    """Number of the agent in its run."""
    does_both: bool = False
    """Whether the sender and the receiver with one number are the same agent."""
    has_book: bool = False
    """Whether it is made from the phrasebook of its run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairings:
    """Every sender with every receiver."""

    senders: Sequence[Player]
    receivers: Sequence[Player]
    accuracy: Floats
    """Mean accuracy over rounds, (num_senders, num_receivers)."""
    relabelled: Floats
    """Accuracy after renaming the symbols of each sender to the symbols of the receiver's partner; NaN for agents of
    one run."""
    num_rounds: int
    """Number of rounds per pair."""
    chance: float
    """Accuracy of guesses."""
    is_held_out_alike: bool = True
    """Whether all runs held out the same objects in training, so that the rounds are equally new to all agents."""

    def where(self, which: str) -> NDArray[np.bool_]:
        """Mask of some pairs, (num_senders, num_receivers).

        Args:
            which: `met` in training; `strangers`: agents of one run that never met; `across`: agents of two runs;
                `listens`: a trained sender and the phrasebook of its run; `speaks`: the phrasebook and a trained
                receiver.
        """
        pairs = [[(one, other) for other in self.receivers] for one in self.senders]
        same = np.array([[one.run == other.run for one, other in row] for row in pairs])
        met = np.array([[other.number in one.met for one, other in row] for row in pairs]) & same
        itself = np.array(
            [[one.does_both and one.number == other.number for one, other in row] for row in pairs]
        )
        speaks = np.array([[one.has_book for _ in self.receivers] for one in self.senders])
        listens = np.array([[other.has_book for other in self.receivers] for _ in self.senders])
        found: dict[str, NDArray[np.bool_]] = {
            "met": met,
            "strangers": same & ~met & ~itself & ~speaks & ~listens,
            "across": ~same & ~speaks & ~listens,
            "listens": same & ~speaks & listens,
            "speaks": same & speaks & ~listens,
        }
        return found[which]

    def mean(self, which: str, *, relabelled: bool = False) -> CrossedMean:
        """Mean accuracy of some pairs, with its standard error over agents, or over runs if pairs are across runs.

        Args:
            which: See `where`.
            relabelled: Whether symbols are renamed.
        """
        values = self.relabelled if relabelled else self.accuracy
        is_by_run = which not in ("met", "strangers")  # agents of a run learn together
        first, second = (
            [each.run if is_by_run else (each.run, each.number, each.does_both or role) for each in side]
            for role, side in zip(ROLES, (self.senders, self.receivers), strict=True)
        )
        return crossed_mean(values, self.where(which) & ~np.isnan(values), first, second)


def require_same_game(runs: Sequence[Run]) -> None:
    """Raise `ConfigError` if the agents of these runs can't play with each other."""
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("world", first.experiment.world, run.experiment.world),
            ("task", first.experiment.task, run.experiment.task),
            ("vocabulary size", first.pair.channel.symbol_size, run.pair.channel.symbol_size),
            ("longest message", first.pair.channel.max_len, run.pair.channel.max_len),
            ("end of messages", first.pair.channel.has_eos, run.pair.channel.has_eos),
            ("kind of words", first.pair.channel.num_levels, run.pair.channel.num_levels),
        ):
            if one != other:
                raise ConfigError(
                    f"{run.folder} and {first.folder} play different games: {what} differs; expected runs that differ "
                    "only in their agents, training or seed"
                )


def agents_of(runs: Sequence[Run]) -> tuple[list[Player], list[Player]]:
    """The senders and the receivers of runs, in order."""
    senders: list[Player] = []
    receivers: list[Player] = []
    short = [run.folder.name for run in runs]
    for index, run in enumerate(runs):
        name = short[index] if short.count(short[index]) == 1 else str(run.folder)
        players, does_both = run.players.eval(), run.experiment.society.agents is not None
        meetings = players.schedule.meetings
        met: dict[Role, dict[int, list[int]]] = {"sender": defaultdict(list), "receiver": defaultdict(list)}
        for meeting in meetings:
            met["sender"][meeting.sender].append(meeting.receiver)
            met["receiver"][meeting.receiver].append(meeting.sender)
        for role, agents in zip(ROLES, (senders, receivers), strict=True):
            for number, partners in sorted(met[role].items()):
                ends = (number, min(partners)) if role == "sender" else (min(partners), number)
                numbered = f"{name} {number}" if len(runs) > 1 else str(number)
                agents.append(
                    Player(
                        name=numbered if len(meetings) > 1 else name,
                        run=index,
                        pair=players.pair(*ends),
                        met=frozenset(partners),
                        number=number,
                        does_both=does_both,
                    )
                )
    return senders, receivers


@torch.inference_mode()
def every_pairing(runs: Sequence[Run], book: PhrasebookOptions | None = None) -> Pairings:
    """Play the rounds of evaluation of the first run with every sender and every receiver.

    No agent learns (zero-shot). A second accuracy is for renamed symbols: the one-to-one map of a sender's symbols that
    makes most symbols of its messages about the corpus, position by position, equal to the symbols of the receiver's
    partner.

    Args:
        runs: Runs of one game.
        book: Phrasebook options, with which each run gets one more sender and receiver; None: no phrasebooks.

    Raises:
        ConfigError: If the games differ, or a run has no phrasebook.
    """
    require_same_game(runs)
    senders, receivers = agents_of(runs)
    for index, run in enumerate(runs):
        if book is None:
            break
        pair, name = with_phrasebook(run, book).first_pair, f"{run.folder.name} {Path(book.inventory).stem}"
        for side in (senders, receivers):
            side.append(Player(name=name, run=index, pair=pair, met=frozenset(), number=-1, has_book=True))
    world, experiment = runs[0].pair.world, runs[0].experiment
    said = [_corpus_symbols(each.pair, experiment.evaluation.corpus_size, world) for each in senders]
    understood = [_corpus_symbols(each.pair, experiment.evaluation.corpus_size, world) for each in receivers]
    can_rename = not runs[0].pair.channel.is_of_values
    shape = (len(senders), len(receivers))
    accuracy, relabelled = np.zeros(shape), np.full(shape, np.nan)
    is_other = np.array([[one.run != other.run for other in receivers] for one in senders]) & can_rename
    relabelled[is_other] = 0.0
    names = {
        (i, j): best_names(said[i], understood[j], runs[0].pair.channel.symbol_size)
        for i, j in np.argwhere(is_other).tolist()
    }
    size, num_rounds = world.sizes.evaluation_batch_size, world.num_valid
    for number in range(-(-num_rounds // size)):
        batch = world.batch("valid", number)
        noise = noise_generator(experiment.training.seed, "valid", number * size, torch.device("cpu"))
        for i, sender in enumerate(senders):
            message = sender.pair.speaker.generate_message(batch, experiment.evaluation.mode, noise)
            for j, receiver in enumerate(receivers):
                accuracy[i, j] += _understood(receiver.pair, message, batch)
                if (i, j) in names:
                    renamed = _renamed(message, names[i, j])
                    relabelled[i, j] += _understood(receiver.pair, renamed, batch)
    return Pairings(
        senders=senders,
        receivers=receivers,
        accuracy=accuracy / num_rounds,
        relabelled=relabelled / num_rounds,
        num_rounds=num_rounds,
        chance=runs[0].players.chance()["accuracy"],
        is_held_out_alike=_is_held_out_alike(runs),
    )


def _is_held_out_alike(runs: Sequence[Run]) -> bool:
    """Whether all runs hold out the same meanings of the first run's corpus."""
    batches = list(runs[0].pair.world.corpus_batches(runs[0].experiment.evaluation.corpus_size))
    splits = [
        np.concatenate(
            [np.asarray(run.pair.world.describe(batch).columns.get("split", [])) for batch in batches]
        )
        for run in runs
    ]
    return all(np.array_equal(each, splits[0]) for each in splits)


def best_names(said: NDArray[np.int64], understood: NDArray[np.int64], num_symbols: int) -> NDArray[np.int64]:
    """One-to-one map of symbols under which two languages have most symbols in common.

    Args:
        said: Symbols of the first language about some meanings, (num_meanings, max_len), `PAD` after the end.
        understood: Symbols of the second language, in the same shape.
        num_symbols: Number of symbols, including EOS.

    Returns:
        Symbol of the other language for each symbol, (num_symbols,); EOS and `PAD` do not change.
    """
    width = min(said.shape[1], understood.shape[1])
    one, other = said[:, :width].ravel(), understood[:, :width].ravel()
    both = (one != PAD) & (other != PAD) & (one != EOS) & (other != EOS)
    table = np.bincount(one[both] * num_symbols + other[both], minlength=num_symbols**2)
    counts = table.reshape(num_symbols, num_symbols)
    free = np.array([symbol for symbol in range(num_symbols) if symbol != EOS])
    rows, columns = linear_sum_assignment(counts[np.ix_(free, free)], maximize=True)
    names = np.arange(num_symbols)
    names[free[rows]] = free[columns]
    return names


def _corpus_symbols(pair: Pair, number: int, world: Any) -> NDArray[np.int64]:
    """Most likely symbols of a sender about the meanings of the corpus, (num_meanings, max_len), then `PAD`."""
    rows = []
    for batch in world.corpus_batches(number):
        symbols = pair.speaker.generate_message(batch, "greedy", None).symbols
        if symbols.ndim > 2:  # words of values have no symbols
            return np.zeros((0, 0), np.int64)
        found = np.full((symbols.shape[1], pair.channel.max_len + 1), PAD)
        found[:, : len(symbols)] = symbols.t().cpu().numpy()
        rows.append(found)
    return np.concatenate(rows)


def _renamed(message: Message, names: NDArray[np.int64]) -> Message:
    symbols = message.symbols
    is_symbol = symbols != PAD
    named = torch.from_numpy(names)[torch.where(is_symbol, symbols, torch.zeros_like(symbols))]
    return Message(symbols=torch.where(is_symbol, named, symbols), ends=message.ends, length=message.length)


def _understood(pair: Pair, message: Message, batch: Any) -> float:
    """Number of rounds of a batch in which the receiver of a pair is right."""
    candidates, truth = pair.round_parts(batch)
    outcome = pair.understand(message, candidates, truth, mode="greedy", generator=None)
    return float(outcome.measures["accuracy"].double().sum())


GROUPS = {
    "met": "pairs that met in training",
    "strangers": "pairs of one run that never met",
    "across": "pairs of two runs",
    "listens": "trained senders and their phrasebook",
    "speaks": "phrasebooks and their trained receiver",
}
"""Groups of pairs with a mean."""


def report(pairings: Pairings) -> Report:
    """Accuracy of every sender with every receiver, means of groups of pairs, and chance level."""
    groups = {}
    for name in GROUPS:
        mask = pairings.where(name)
        if mask.any():
            groups[name] = _mean(pairings.mean(name), pairings.accuracy[mask])
    across = pairings.where("across") & ~np.isnan(pairings.relabelled)
    if across.any():
        groups["relabelled"] = _mean(pairings.mean("across", relabelled=True), pairings.relabelled[across])
    data = {
        "senders": [agent.name for agent in pairings.senders],
        "receivers": [agent.name for agent in pairings.receivers],
        "accuracy": pairings.accuracy.tolist(),
        "relabelled": [
            [None if np.isnan(each) else each for each in row] for row in pairings.relabelled.tolist()
        ],
        "groups": groups,
        "chance": pairings.chance,
        "num_rounds": pairings.num_rounds,
    }
    tables = [_table("accuracy", pairings, pairings.accuracy)]
    if across.any():
        tables.append(_table("accuracy, symbols renamed", pairings, pairings.relabelled))
    tables.append(_means(groups))
    notes = []
    if any(found["pairs"] >= FEWEST and found["half_width"] is not None for found in groups.values()):
        notes.append(
            "±: half of the 95 % interval of a mean over pairs, from a jackknife over agents, between runs over runs"
        )
    if any(found["pairs"] < FEWEST for found in groups.values()):
        notes.append(f"no interval with fewer than {FEWEST} pairs: train more seeds")
    notes.append(
        f"chance level: {pairings.chance:.1%}; {pairings.num_rounds:,} rounds per pair, no agent learns"
    )
    if not pairings.is_held_out_alike:
        notes.append(
            "objects are held out by the seed: the rounds are new to agents of the first run, and others were trained "
            "on some of these objects"
        )
    if across.any():
        notes.append("renamed: the one-to-one map of symbols with the best fit to the receiver's partner")
    return Report(tables=tables, notes=tuple(notes), data=data, draw=partial(_draw, pairings))


def _mean(found: CrossedMean, accuracies: Floats) -> dict[str, Any]:
    bound = joint_bound(measure_bound("accuracy", {"accuracy": each}) for each in accuracies.tolist())
    bounds = found.interval(0.0, 1.0)
    half_width = None if bounds is None else max(abs(end - found.mean) for end in bounds)
    mean = {"pairs": len(accuracies), "accuracy": found.mean, "half_width": half_width}
    return mean if bound is None else mean | {"bound": bound}


def _means(groups: Mapping[str, dict[str, Any]]) -> Table:
    """Table of the mean of each group of pairs."""
    names = GROUPS | {"relabelled": "pairs of two runs, symbols renamed"}
    rows = []
    for name, found in groups.items():
        half_width = found["half_width"] if found["pairs"] >= FEWEST else None
        mean = estimate(found["accuracy"], half_width, limits=(0.0, 1.0), as_percent=True)
        rows.append(row_of(names[name], found["pairs"], bounded(mean, found.get("bound"))))
    columns = (
        name_column("group", "means"),
        number_column("pairs"),
        number_column("accuracy", parts=INTERVAL),
    )
    return Table(columns=columns, rows=rows)


def _table(title: str, pairings: Pairings, values: Any) -> Table:
    columns = [name_column("sender", "sender \\ receiver")]
    columns += [number_column(agent.name, heading=agent.name) for agent in pairings.receivers]
    rows = [
        row_of(agent.name, *(percent(None if np.isnan(each) else each) for each in accuracies))
        for agent, accuracies in zip(pairings.senders, values.tolist(), strict=True)
    ]
    return Table(columns=columns, rows=rows, title=title)


def _draw(pairings: Pairings, *paths: Path) -> None:
    figure = heat_map(
        pairings.accuracy,
        [agent.name for agent in pairings.senders],
        [agent.name for agent in pairings.receivers],
        title=f"accuracy of every pair (chance {pairings.chance:.0%})",
        names=("sender", "receiver"),
        form=".0%",
        limits=(0.0, 1.0),
    )
    save(figure, *paths)
