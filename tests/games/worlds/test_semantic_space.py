"""The world of a semantic space: targets as often as they are needed, and a corpus that names meanings."""

import numpy as np
import pytest

from ecsuite.games.worlds.listed import SpaceWorld
from ecsuite.games.worlds.world import RoundSpec, RunSizes
from ecsuite.runtime.errors import ConfigError

SIZES = RunSizes(seed=0, num_train=6000, num_valid=100, batch_size=3000, evaluation_batch_size=100)


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "space.csv"
    file.write_text("m,need,a,b,c\ncup,0.7,1,0,0\nbowl,0.2,0,1,0\nplate,0.1,0,0,1\n")
    return str(file)


def world(table, **options):
    return SpaceWorld(
        SpaceWorld.Options(space=table, **options), rounds=RoundSpec(num_distractors=1), sizes=SIZES
    )


def test_meanings_are_targets_as_often_as_they_are_needed(table):
    made = world(table)
    batch = made.batch("train", 0)
    described = made.describe(batch)
    shares = [np.mean(described.meanings[:, 0] == name) for name in ("cup", "bowl", "plate")]
    assert shares == pytest.approx([0.7, 0.2, 0.1], abs=0.03)
    assert batch.objects.shape == (3, 3) and batch.objects.dtype == np.float32
    equal = world(table, need="uniform").describe(world(table, need="uniform").batch("train", 0))
    assert np.mean(equal.meanings[:, 0] == "cup") == pytest.approx(1 / 3, abs=0.03)


def test_the_corpus_names_every_meaning_once(table):
    made = world(table)
    [batch] = made.corpus_batches(10)
    assert made.describe(batch).meanings[:, 0].tolist() == ["cup", "bowl", "plate"]
    assert made.describe(batch).concept_names == ("meaning=cup", "meaning=bowl", "meaning=plate")


def test_a_space_of_a_corpus_is_no_world():
    with pytest.raises(ConfigError, match="need a corpus"):
        world("attributes")
