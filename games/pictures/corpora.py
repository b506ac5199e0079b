"""Pictures of the meanings of a corpus, regenerated from the config of its run; for worlds of images only."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import ConfigError

LISTED, DRAWN = ("images", "image_features"), ("shape", "shapeworld")
"""Kinds of worlds whose objects are images: listed in the user's data, or rendered for each round."""
SIDE = 64
"""Width and height of a picture of user data, in pixels; rendered images have the size that agents see."""
MOST_TARGETS = 3
"""Maximum number of targets of a round that are shown next to each other."""

GAP, GREY = 4, 128
"""Width of the line between targets, in pixels, and its grey level, 0-255."""

Pictures = dict[int, tuple[NDArray[np.uint8], str]]
"""Pixels, uint8 (height, width, 3), and their caption, by row of the corpus."""


def corpus_pictures(folder: Path, corpus: Corpus, rows: Collection[int]) -> Pictures:
    """Make pictures of the targets of some messages; empty if the world has no images.

    Args:
        folder: Run folder, unchanged since the corpus was written.
        corpus: Corpus of the run.
        rows: Rows of the messages in the corpus.

    Raises:
        ConfigError: If the config can't be used, names foreign parts, or gives other objects than in the corpus.
    """
    from ecsuite.games.runs.identity import check_data
    from ecsuite.games.runs.run_folder import RunFolder

    experiment = RunFolder(folder).experiment()
    check_data(experiment)
    if experiment.world.kind in LISTED:
        return _listed(experiment.world.options, corpus, rows)
    return _drawn(experiment, corpus, rows) if experiment.world.kind in DRAWN else {}


def _listed(options: Any, corpus: Corpus, rows: Collection[int]) -> Pictures:
    """Images of the user's data, looked up by the file name in the corpus."""
    from ecsuite.games.worlds.images import read_images

    found = read_images(options.objects, SIDE, options.fit)
    places = {name: place for place, name in enumerate(found.files)}
    names = corpus.columns.get("file", ())
    return {
        row: (found.images[places[name]], str(name))
        for row in rows
        for name in names[row : row + 1]
        if name in places
    }


def _drawn(experiment: Any, corpus: Corpus, rows: Collection[int]) -> Pictures:
    """Images of the rounds of the corpus, rendered again from the seed of the world."""
    from ecsuite.games.worlds.world import make_world

    world, wanted, first = make_world(experiment), sorted(rows), 0
    made: Pictures = {}
    for batch in world.corpus_batches(experiment.evaluation.corpus_size):
        here = [row - first for row in wanted if first <= row < first + len(batch)]
        if corpus.meanings is None or not np.array_equal(
            world.describe(batch).meanings, corpus.meanings[first : first + len(batch)]
        ):
            raise ConfigError("its config gives other objects than in its corpus")
        for place in here:
            targets = batch.objects[batch.shown[place, : min(batch.num_positive, MOST_TARGETS)]]
            several = f"{len(targets)} of {batch.num_positive} targets"
            about = "target" if batch.num_positive == 1 else several
            made[first + place] = (_side_by_side(targets), about)
        first += len(batch)
        if len(made) == len(wanted):
            break
    return made


def _side_by_side(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Concatenate images, (number, height, width, 3), horizontally."""
    padded = np.pad(images, ((0, 0), (0, 0), (0, GAP), (0, 0)), constant_values=GREY)
    return np.concatenate(list(padded), axis=1)[:, :-GAP]
