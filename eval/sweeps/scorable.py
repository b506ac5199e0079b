"""Whether metrics can score the corpora of a game at all: tried with a made-up language before anything is trained."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.games.corpus_generation import joined
from ecsuite.games.run_identity import with_data
from ecsuite.games.sections import SIGNALLING, Experiment, with_training
from ecsuite.games.world_making import make_world
from ecsuite.games.worlds.world import describe
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

NUM_MESSAGES = 24
"""Messages of the made-up language."""
NUM_ATTRIBUTES = 3
"""Most attributes of its meanings: the time of some metrics grows fast with them."""


def require_scorable(experiments: Iterable[Experiment], metrics: Sequence[str], source: str) -> None:
    """Check that what the corpora of games say about meanings is what each metric needs.

    A metric that has a value for messages about attributes, and none for the same messages about the objects of a
    game, cannot score this game.

    Args:
        experiments: The games; of those that differ in neither world nor task, the first is tried.
        metrics: Names of the metrics.
        source: Begins the message.

    Raises:
        ConfigError: If a metric cannot; the message has its reason.
    """
    experiments = list(experiments)
    for experiment in experiments:
        if experiment.play != SIGNALLING:
            of_agents = [name for name in metrics if find_metric(name).shared.needs_agents]
            if of_agents:
                raise ConfigError(
                    f"{source}: score: {of_agents[0]} asks senders and receivers, and play {experiment.play.kind} has "
                    "none"
                )
    experiments = [experiment for experiment in experiments if experiment.play == SIGNALLING]
    if not experiments:
        return
    if "generalisation" in metrics and not any(
        getattr(each.world.options, "held_out", 1)
        or getattr(each.world.options, "held_out_value", None)
        or getattr(each.world.options, "objects", None)  # a table may say it itself
        for each in experiments
    ):
        raise ConfigError(
            f"{source}: score: generalisation is about objects that were held out of training: set "
            "world.held_out=0.3 or so"
        )
    tried = [name for name in metrics if not find_metric(name).shared.is_asked_for]
    kinds = {(repr(each.world), repr(each.task)): each for each in reversed(experiments)}
    for experiment in kinds.values() if tried else ():
        about_objects, about_attributes = made_up(experiment)
        for name in tried:
            scores = find_metric(name)(about_objects, Options())
            if _has_no_value(scores) and not _has_no_value(find_metric(name)(about_attributes, Options())):
                game = f"{experiment.name} (world {experiment.world.kind})"
                raise ConfigError(f"{source}: score: {name} has no value for {game}: {scores[0].reason}")


def made_up(experiment: Experiment) -> tuple[Corpus, Corpus]:
    """The same messages about some objects of a game, and about these as combinations of attribute values."""
    world = make_world(with_data(with_training(experiment, batch_size=NUM_MESSAGES)))
    batches = itertools.islice(world.corpus_batches(NUM_MESSAGES), 1)
    about = joined([world.describe(batch) for batch in batches])
    # Some metrics read as many symbols as there are attributes.
    meanings = about.meanings[:, :NUM_ATTRIBUTES]
    values = np.stack([np.unique(column, return_inverse=True)[1] for column in meanings.T], 1)
    first = 1 + np.cumsum([0, *values.max(0)[:-1] + 1])
    names = [[f"attribute{a}={v}" for v in range(count + 1)] for a, count in enumerate(values.max(0))]
    attributes = describe(values, names)
    of_attributes = Corpus(
        messages=Ragged.from_rows((values + first).tolist()),
        eos=None,
        meanings=attributes.meanings,
        concepts=attributes.concepts,
        concept_names=attributes.concept_names,
    )
    of_objects = replace(
        of_attributes,
        meanings=meanings,
        concepts=about.concepts,
        concept_names=about.concept_names,
        columns=about.columns,
    )
    return of_objects, of_attributes


def _has_no_value(scores: Sequence[Score]) -> bool:
    return bool(scores) and all(score.value is None for score in scores)
