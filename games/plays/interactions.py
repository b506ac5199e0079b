"""Evaluation interactions as a table in a Parquet file: observations, messages and answers, one row per round.

Tables are `pyarrow.Table`; pyarrow is imported when one is made or read. Columns of several values are plain lists.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, Message
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats.directory import BESIDE, INTERACTIONS_KEY, METADATA
from ecsuite.formats.frames import read_parquet
from ecsuite.formats.strict_json import read_json
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.sections import ROLES, Experiment
from ecsuite.games.players.pair import Pair, RoundOutputs
from ecsuite.games.plays.evaluation import SpokenRounds, spoken_rounds
from ecsuite.games.plays.population import Population
from ecsuite.games.tasks.tasks import Truth
from ecsuite.games.worlds.world import Batch, ObjectNumbers, World
from ecsuite.runtime.errors import ConfigError, DamagedError, missing_extra
from ecsuite.runtime.ragged import Ragged

FILE = BESIDE[INTERACTIONS_KEY]
"""Name of the file in a run folder."""
PROBABILITIES = "probabilities"
"""Column with the probabilities of the receiver's answers."""
Evaluations = Mapping[str, tuple[World, str]]
"""World and split of each evaluation, by name."""


def require_pyarrow() -> None:
    """Raise `ConfigError` if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise missing_extra("interactions are stored as Parquet, which needs pyarrow", "data") from None


def require_choices(players: Population, experiment: Experiment, place: str) -> None:
    """Raise `ConfigError` if the task has no discrete answers, and so no probabilities of answers.

    Args:
        players: The agents.
        experiment: Names the task.
        place: Option that requests the probabilities; prefix of the message.
    """
    if not players.task.has_choices:
        raise ConfigError(
            f"{place}: task {experiment.task.kind} has no probabilities of answers: leave out this option"
        )


def keep_interactions(folder: Path, make: Callable[[], Any] | None) -> dict[str, Any]:
    """Write the interactions of a run to its folder, or remove an outdated file.

    Args:
        folder: The run folder.
        make: Creates the table; None: interactions are not stored.

    Returns:
        Metadata entry with the checksum and the number of rounds; empty without a file.
    """
    if make is None:
        (folder / FILE).unlink(missing_ok=True)
        return {}
    table = make()
    content = as_parquet(table)
    write_atomically(folder / FILE, content)
    return {INTERACTIONS_KEY: {"sha256": hashlib.sha256(content).hexdigest(), "num_rounds": table.num_rows}}


def read_interactions(folder: Path) -> Any:
    """Read the stored interactions of a run; None if there are none.

    Raises:
        ConfigError: If pyarrow is not installed.
        DamagedError: If the file is not the one that the run wrote, or the metadata are not JSON.
    """
    metadata, file = folder / METADATA, folder / FILE
    try:
        found = read_json(metadata) if metadata.is_file() else {}
    except ConfigError as error:
        raise DamagedError(str(error)) from None
    if not isinstance(found, dict) or INTERACTIONS_KEY not in found:
        return None
    expected = found[INTERACTIONS_KEY].get("sha256") if isinstance(found[INTERACTIONS_KEY], dict) else None
    if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
        raise DamagedError(f"{file}: it is not the file that the run wrote: its checksum differs")
    require_pyarrow()
    return read_parquet(file)


def as_parquet(table: Any) -> bytes:
    """Serialise a table as Parquet."""
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@torch.no_grad()
def record_interactions(
    players: Population, evaluations: Evaluations, experiment: Experiment, *, probabilities: bool = False
) -> Any:
    """Replay the rounds of evaluations with the same order and noise, and tabulate them.

    Args:
        players: The trained agents, which are in training mode afterwards.
        evaluations: World and split of each evaluation to play.
        experiment: Sets the seed, and whether symbols are the most likely ones or sampled.
        probabilities: Whether to add a column with the probabilities of the answers.

    Returns:
        A `pyarrow.Table` with a row for each round; docs/agents.md has its columns.

    Raises:
        ConfigError: If pyarrow is not installed, or the task has no probabilities of answers.
    """
    require_pyarrow()
    import pyarrow

    if probabilities:
        require_choices(players, experiment, PROBABILITIES)
    players.eval()
    tables, numbers = [], ObjectNumbers()
    for name, (world, split) in evaluations.items():
        for spoken in spoken_rounds(players, world, split, experiment.evaluation.mode):
            noise = noise_generator(experiment.training.seed, split, spoken.first, players.device)
            num_rounds, pairs = len(spoken.batch), players.pairs()
            # In the order in which an evaluation draws its noise.
            mode = experiment.evaluation.mode
            understood = players.understood(spoken.rounds, mode, noise, messages=spoken.messages)
            outcomes = {numbers_of_pair: outcome for numbers_of_pair, _, outcome in understood}
            for meeting, pair in pairs:
                outcome = outcomes[meeting.sender, meeting.receiver]
                columns = _batch_columns(pair, world, spoken, outcome, numbers, probabilities)
                place = {
                    "evaluation": pyarrow.array([name] * num_rounds),
                    "round": pyarrow.array(np.arange(spoken.first, spoken.first + num_rounds)),
                }
                for role in ROLES if len(pairs) > 1 else ():
                    place[role] = pyarrow.array([getattr(meeting, role)] * num_rounds)
                tables.append(pyarrow.table(place | columns))
    players.train()
    return pyarrow.concat_tables(tables)


def _batch_columns(
    pair: Pair,
    world: World,
    spoken: SpokenRounds,
    outcome: RoundOutputs,
    numbers: ObjectNumbers,
    probabilities: bool,
) -> dict[str, Any]:
    """Table columns of one evaluated batch."""
    batch, rounds = spoken.batch, spoken.rounds
    about = _description(world, batch)
    columns: dict[str, Any] = {}
    ids = numbers.of(batch)
    columns["seen"] = _lists(ids[batch.shown])
    if pair.task.scores_candidates:
        seen = batch.candidate_indices()
        columns["candidates"] = _lists(ids[seen], batch.present)
        if batch.values is not None:
            columns["candidate_values"] = _lists(batch.values[seen], batch.present)
    columns["message"] = _messages(outcome.message, is_of_values=pair.channel.is_of_values)
    right, chosen, likely = _answers(pair, outcome.answer, rounds.truth)
    if batch.present is not None:
        right = _present_indices(batch.present, right)
        chosen = None if chosen is None else _present_indices(batch.present, chosen)
    columns["right"] = _lists(right)
    if chosen is not None:
        columns["answer"] = _lists(chosen)
        is_right: NDArray[Any] = np.asarray(chosen == right)
        columns["correct"] = _lists(is_right.reshape(len(is_right), -1).min(1))
    if probabilities:
        assert likely is not None
        columns[PROBABILITIES] = _lists(likely, batch.present)
    measures = {"loss": outcome.loss, **outcome.measures}
    columns |= {name: _lists(_numbers(value.float())) for name, value in measures.items()}
    return _rename_taken(about, {*columns, "evaluation", "round", *ROLES}) | columns


def _rename_taken(columns: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Rename columns whose names are taken to `NAME (kept)`."""
    return {f"{name} (kept)" if name in taken else name: cells for name, cells in columns.items()}


def _description(world: World, batch: Batch) -> dict[str, Any]:
    """Columns that describe the targets: meaning, concepts, and further columns of the world."""
    described = world.describe(batch)
    columns = {"meaning": _lists(described.meanings)}
    if described.concepts is not None:
        names = np.array(described.concept_names, dtype=object)
        columns["concepts"] = _ragged(described.concepts, lambda ids: names[ids])
    return columns | {
        name: _lists(values) for name, values in _rename_taken(described.columns, columns).items()
    }


def _answers(
    pair: Pair, answer: Tensor, truth: Truth
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Correct answers, the receiver's choices, and probabilities of the options; the last two None without choices.

    One target among candidates: its index, (batch,), and the probability of each candidate, (batch, num_candidates).
    Candidates that are accepted or rejected: decisions, (batch, num_candidates), and probabilities of acceptance.
    Attributes: their values, (batch, num_attributes), and the probability of each value.
    """
    choices = pair.task.choices(answer).float() if pair.task.has_choices else None
    if truth.values is not None:
        right = _numbers(truth.values)
    elif choices is None or choices.dim() == 2:
        right = _numbers(truth.labels.int().argmax(-1))
    else:
        right = _numbers(truth.labels)
    if choices is None:
        return right, None, None
    likely, chosen = choices.softmax(-1), choices.argmax(-1)
    if truth.values is None and choices.dim() == 3:
        return right, _numbers(chosen.bool()), _numbers(likely[..., 1])
    return right, _numbers(chosen), _numbers(likely)


def _messages(message: Message, *, is_of_values: bool) -> Any:
    """Messages as a column: lists of content symbols, or of real-valued words."""
    symbols = _numbers(message.symbols.transpose(0, 1).float() if is_of_values else message.symbols.t())
    if is_of_values:
        return _lists(symbols)
    is_content = symbols > EOS
    return _ragged(Ragged.from_lengths(symbols[is_content].astype(np.int32), is_content.sum(1)))


def _numbers(values: Tensor) -> NDArray[Any]:
    numbers: NDArray[Any] = values.cpu().numpy()
    return numbers


def _present_indices(present: NDArray[np.bool_], places: NDArray[Any]) -> NDArray[Any]:
    """Map candidate indices, (batch,), to indices among the present candidates; `present`: (batch, num_candidates)."""
    counted: NDArray[Any] = np.cumsum(present, axis=1)[np.arange(len(places)), places] - 1
    return counted


def _lists(values: NDArray[Any], present: NDArray[np.bool_] | None = None) -> Any:
    """Convert an array to a column of numbers, lists or nested lists; `present` masks the elements of lists."""
    import pyarrow

    if present is not None:
        offsets = np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int32)
        return pyarrow.ListArray.from_arrays(offsets, _lists(values[present]))
    if values.ndim == 1:
        return pyarrow.array(values)
    length, width = values.shape[:2]
    offsets = np.arange(0, length * width + 1, width or 1, dtype=np.int32)
    offsets = offsets if width else np.zeros(length + 1, dtype=np.int32)
    return pyarrow.ListArray.from_arrays(offsets, _lists(values.reshape(-1, *values.shape[2:])))


def _ragged(rows: Ragged, named: Callable[[NDArray[Any]], NDArray[Any]] = lambda ids: ids) -> Any:
    """Convert rows of different lengths to a column of lists."""
    import pyarrow

    return pyarrow.ListArray.from_arrays(rows.offsets.astype(np.int32), pyarrow.array(named(rows.values)))
