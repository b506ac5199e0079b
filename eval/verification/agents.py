"""The agents of a run, asked again: figures of their last evaluation, and the corpus that they say."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import is_number
from ecsuite.eval.results.sources import Record
from ecsuite.eval.verification.circumstances import Circumstances
from ecsuite.eval.verification.rows import Row, compared, told
from ecsuite.files.tensor_files import read_tensors
from ecsuite.games.checkpoints import newest_step, weights_in
from ecsuite.games.language_metrics import LanguageMetrics
from ecsuite.games.plays.play import Play, make_play
from ecsuite.games.precision import has_small_products
from ecsuite.games.run_folder import EXTRA_CHANCE, METRICS
from ecsuite.games.run_identity import with_data
from ecsuite.games.sections import Experiment, with_training
from ecsuite.runtime.devices import default_products, deterministic_kernels, fixed_threads, routed_products
from ecsuite.runtime.errors import ConfigError, DamagedError

CHANCE = "chance level of "
"""Begins the name of a claimed chance level."""
REQUESTED = ("limit", "interrupt", "preempted", "pruned")
"""Why a training ends at any step but the last."""
LANGUAGE = "metrics."
"""Begins the name of a score that was measured at the end of the training."""


def made(experiment: Experiment, found: Circumstances) -> Play:
    """The play of a run before anything was learnt.

    Raises:
        ConfigError: If its data files or its parts are not there.
    """
    return make_play(with_data(with_training(experiment, precision=found.precision)), found.device)


def restore(play: Play, folder: Path, metadata: Mapping[str, Any]) -> None:
    """Give a play the weights of which the figures of a run are.

    Raises:
        ConfigError: If they are not there.
        DamagedError: If they can't be read, or do not fit the config.
    """
    training = metadata["training"]
    best = training.get("best_step")
    names = (
        [f"checkpoint-{training['step']:09d}"]
        if best is None
        else [f"best-{best:09d}", f"checkpoint-{best:09d}"]
    )
    files = [folder / f"{name}.safetensors" for name in names]
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        raise ConfigError(f"the agents can't be asked: {files[0].name} is not there")
    tensors = read_tensors(file)[0]
    try:
        play.restore(weights_in(tensors) if file.name.startswith("checkpoint") else tensors)
    except (RuntimeError, KeyError):
        raise DamagedError(f"{file.name}: its tensors do not fit the config") from None


def agent_rows(
    folder: Path,
    experiment: Experiment,
    metadata: Mapping[str, Any],
    records: list[Record],
    found: Circumstances,
    corpus: Corpus | None,
) -> Iterator[Row]:
    """A row a figure of the last evaluation, and one of the corpus.

    Args:
        folder: The run folder.
        experiment: Its config.
        metadata: What it claims.
        records: The claimed measures.
        found: Where the agents are asked.
        corpus: What they are said to have said; None: that can't be read.
    """
    with fixed_threads(found.num_threads):
        play = made(experiment, found)
        is_known = not play.steps_before  # how long agents are taught is known when they were
        if is_known:
            yield from ending_rows(folder, play, metadata["training"])
        restore(play, folder, metadata)
        if not is_known:
            yield from ending_rows(folder, play, metadata["training"])
        with (
            torch.no_grad(),
            routed_products(found.device, found.precision),
            default_products(found.device) if has_small_products(experiment) else nullcontext(),
            deterministic_kernels(found.device, is_asked=experiment.training.deterministic),
        ):
            measures = {("", name): value for name, value in play.evaluate().items()}
            language = LanguageMetrics(experiment)(play).values
            for rounds, others in play.other_evaluations().items():
                measures |= {(rounds, name): value for name, value in others.items()}
            chance = {("", name): level for name, level in play.chance().items()}
            for rounds, levels in play.other_chance().items():
                chance |= {(rounds, name): level for name, level in levels.items()}
            said = None if corpus is None else play.corpus(experiment.evaluation)
    for record in records:
        key = (str(record.unit.get("rounds", "")), record.score)
        yield _row(record.name, record.value, measures.get(key), found)
    for name, value in _mapping(metadata.get("chance")).items():
        yield _row(f"{CHANCE}{name}", value, chance.get(("", name)), found)
    for rounds, claimed in _mapping(metadata.get(EXTRA_CHANCE)).items():
        for name, value in _mapping(claimed).items():
            yield _row(f"{CHANCE}{name}, {rounds}", value, chance.get((rounds, name)), found)
    for name, value in _mapping(metadata.get(METRICS)).items():
        yield _row(f"{LANGUAGE}{name}", value, language.get(name), found)
    if corpus is not None and said is not None:
        yield corpus_row(corpus, said, found)


def ending_rows(folder: Path, play: Play, claimed: Mapping[str, Any]) -> Iterator[Row]:
    """A row of how long a training was and why it ended: what its settings, its play and its checkpoints allow.

    Args:
        folder: The run folder.
        play: Its play, as far as its steps are known.
        claimed: The training section of the metadata.
    """
    step, settings = claimed.get("step"), play.experiment.training
    num_steps = play.steps_before + play.steps_per_epoch * settings.num_epochs
    here: dict[str, Any] = {"step": newest_step(folder) or step, "num_steps": num_steps}
    if is_number(step):
        here["epoch"] = max(step - play.steps_before, 0) / play.steps_per_epoch
    is_possible = {
        "epochs": step == num_steps,
        "accuracy": settings.until_accuracy is not None,
        "patience": settings.patience is not None,
        "minutes": settings.max_minutes is not None,
    }
    possible = [reason for reason, is_so in is_possible.items() if is_so]
    if step != num_steps:
        possible += REQUESTED
    stopped = claimed.get("stopped")
    here["stopped"] = stopped if stopped in possible else " or ".join(possible)
    yield from told("evaluation", "end of the training", claimed, here)


def corpus_row(claimed: Corpus, said: Corpus, found: Circumstances) -> Row:
    """How many messages of a corpus the agents say again.

    Args:
        claimed: The corpus of the folder.
        said: What the agents say here.
        found: Where they were asked.
    """
    number = len(claimed.messages)
    if len(said.messages) != number:
        also = f"{len(said.messages):,} messages are said here"
        return compared("corpus", "messages", number, len(said.messages), found.bound, also=also)
    is_same = np.array([np.array_equal(claimed.messages[row], said.messages[row]) for row in range(number)])
    also = "" if _means_the_same(claimed, said) else "their meanings differ"
    also = also or ("" if _is_named_the_same(claimed, said) else "their names differ")
    same = int(is_same.sum())
    return compared("corpus", "messages said again", number, same, found.bound, why=found.why, also=also)


def _are_near(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether meanings are the same: names exactly, numbers but for rounding."""
    if one.dtype.kind in "US" or other.dtype.kind in "US":
        return np.array_equal(one, other)
    return bool(np.allclose(one, other))


def _means_the_same(claimed: Corpus, said: Corpus) -> bool:
    if claimed.meanings is None or said.meanings is None:
        return (claimed.meanings is None) == (said.meanings is None)
    return claimed.meanings.shape == said.meanings.shape and _are_near(claimed.meanings, said.meanings)


def _is_named_the_same(claimed: Corpus, said: Corpus) -> bool:
    """Whether symbols, attributes and concepts have the same names."""
    names = ("symbol_names", "attribute_names", "concept_names")
    return all((getattr(claimed, name) or ()) == (getattr(said, name) or ()) for name in names)


def _row(name: str, claimed: Any, here: Any, found: Circumstances) -> Row:
    also = "" if here is None or is_number(here) else "it is no number here"
    return compared("evaluation", name, claimed, here, found.bound, why=found.why, also=also)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
