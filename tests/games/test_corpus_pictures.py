"""Pictures of a corpus are those of the objects that its messages are about."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import WORLDS
from ecsuite.games.pictures.corpora import DRAWN, GAP, LISTED, SIDE, corpus_pictures
from ecsuite.games.plays.evaluation import joined
from ecsuite.games.runs.identity import RunContext, check_data
from ecsuite.games.worlds.world import make_world
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

SMALL = (
    "training.batch_size=8", "training.num_examples=16", "evaluation.corpus_size=12", "evaluation.num_valid=8",
)  # fmt: skip


@pytest.fixture
def written(tmp_path):
    """Writes the config of a run; its world, and a corpus of as many messages as it has rounds."""

    def written(name, *settings):
        experiment = load_experiment(name, [*SMALL, *settings])
        tree = RunContext.of(experiment, data=check_data(experiment)).to_tree()
        (tmp_path / "config.yaml").write_text(f"format: 1\n{as_yaml(tree)}")
        world = make_world(experiment)
        about = joined([world.describe(batch) for batch in world.corpus_batches(12)])
        messages = Ragged.from_rows([[1]] * len(about.meanings))
        return world, Corpus(messages=messages, meanings=about.meanings, columns=about.columns)

    return written


def test_worlds_of_images_are_known():
    seen = [name for name in WORLDS.parts if "conv" in WORLDS.load(name).default_perceptions[0]]
    assert {*seen} <= {*LISTED, *DRAWN}


@pytest.mark.parametrize("name", ["shape_gs", "mu_shapeworld_ref"])
def test_drawn_images_are_those_that_the_sender_saw(written, tmp_path, name):
    world, corpus = written(name, "task.num_targets=5")
    found = corpus_pictures(tmp_path, corpus, [9, 2])
    _, second = world.corpus_batches(12)  # 8 rounds, then 4
    pixels, words = found[9]
    targets = second.objects[second.shown[1, :3]]
    assert [*found] == [2, 9] and words == "3 of 5 targets"
    assert pixels.shape == (64, 3 * 64 + 2 * GAP, 3)
    for place, target in enumerate(targets):
        assert np.array_equal(pixels[:, place * (64 + GAP) :][:, :64], target)
    changed = replace(corpus, meanings=corpus.meanings[::-1])
    with pytest.raises(ConfigError, match="gives other objects than in its corpus"):
        corpus_pictures(tmp_path, changed, [2])


def test_images_of_the_user_are_found_by_name(written, tmp_path, image_folder):
    photos = shutil.copytree(image_folder, tmp_path / "photos")
    _, corpus = written(str(photos), "world.size=16", "task.num_distractors=2")
    found = corpus_pictures(tmp_path, corpus, [3])
    pixels, words = found[3]
    assert words == corpus.columns["file"][3] and pixels.shape == (SIDE, SIDE, 3)
    next(Path(photos).rglob("*.png")).unlink()
    with pytest.raises(ConfigError, match="has other content than when this config was written"):
        corpus_pictures(tmp_path, corpus, [3])
