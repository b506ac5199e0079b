"""The column `split` beside a corpus: what a message is about was in training, or was held out."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world

SETS = ("task.kind=concept", "task.num_targets=2", "task.num_distractors=2")
CASES = {
    "objects": ("world.kind=objects", "world.held_out=0.3"),
    "image_features": ("world.kind=image_features", "world.held_out=0.3"),
    "attributes": ("world.held_out=0.3", "evaluation.corpus_size=100"),
    "thing": (
        "world.kind=thing",
        "world.num_attributes=3",
        "world.rule_length=2",
        "world.held_out=0.5",
        *SETS,
    ),
    "shapeworld": ("world.kind=shapeworld", "world.images_per_label=2", *SETS),
    "features": ("world.kind=features", *SETS),
    "features, one image": ("world.kind=features", "task.num_distractors=3"),
}
EVALUATED = ("thing",)
"""Worlds whose corpora are about what is held out alone."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", CASES)
def test_the_split_of_every_message(case, feature_file, object_table, image_folder):
    files = {
        "features": [f"world.features={feature_file}"],
        "objects": [f"world.objects={object_table}"],
        "image_features": [f"world.objects={image_folder}"],
    }
    settings = [*CASES[case], "training.batch_size=4", *files.get(case.split(",")[0], [])]
    experiment = load_experiment("disc_tiny", settings)
    world = make_world(experiment)
    torch.manual_seed(0)
    corpus = record_corpus(Population.from_experiment(experiment, world), experiment)
    split, meanings = corpus.columns["split"], corpus.meanings.tolist()
    trained, held_out = (
        {
            str(row)
            for number in range(40)
            for row in world.describe(world.draw(name, number, 16)).meanings.tolist()
        }
        for name in ("train", "test")
    )
    assert set(split) == ({"held_out"} if case in EVALUATED else {"train", "held_out"})
    if case == "image_features":  # the meaning is the class, of which some images are held out
        return
    for name, others in (("train", held_out), ("held_out", trained)):
        said = {str(row) for row, of in zip(meanings, split, strict=True) if of == name}
        assert not said & others, name


def test_nothing_is_held_out():
    experiment = load_experiment("disc_tiny", ["world.held_out=0"])
    world = make_world(experiment)
    assert not record_corpus(Population.from_experiment(experiment, world), experiment).columns
    assert np.array_equal(world.describe(world.draw("valid", 0, 2)).meanings.shape, (2, 2))


def test_a_target_that_the_training_file_does_not_have(tmp_path):
    (tmp_path / "train.txt").write_text("0 1\n2 3\n")
    (tmp_path / "valid.txt").write_text("2 3\n3 3\n")
    files = {f"world.{split}_data": str(tmp_path / f"{split}.txt") for split in ("train", "valid")}
    experiment = load_experiment("disc_tiny", ["task=reconstruction"], files)
    corpus = record_corpus(Population.from_experiment(experiment, make_world(experiment)), experiment)
    assert corpus.meanings.tolist() == [[2, 3], [3, 3], [0, 1]]
    assert corpus.columns["split"].tolist() == ["train", "held_out", "train"]
