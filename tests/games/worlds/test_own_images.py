"""Games about a user's images: the folder is the game, and the corpus says which image each message is about."""

import json
import shutil

import numpy as np
import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = (
    "training.num_examples=64", "training.num_epochs=1", "training.batch_size=32", "evaluation.num_valid=32",
    "task.num_distractors=2", "sender.hidden_size=8", "receiver.hidden_size=8",
)  # fmt: skip
LINE = [part for setting in SMALL for part in ("--set", setting)]
TINY = ["--set", "world.size=16"]


@pytest.fixture
def photos(image_folder, tmp_path):
    """A copy of the folder of images, in the present folder."""
    return shutil.copytree(image_folder, tmp_path / "photos")


@pytest.mark.slow
def test_a_folder_is_a_game(ecsuite, photos):
    code, out, err = ecsuite("train-game", "photos/", *LINE, *TINY, "--set", "world.held_out_value=class=cat")
    assert code == 0 and "Corpus in runs/photos;" in out, err
    assert "16 of 16 images are not square" in err and "seen objects" in out
    assert "photos/: 16 images of 2 classes\nphotos/: 8 of 16 objects are held out from training\n" in err
    corpus = read_corpus("runs/photos")
    files = corpus.columns["file"].tolist()
    assert files == sorted(file.relative_to(photos).as_posix() for file in photos.glob("*/*.png"))
    for file, phrase, split in zip(files, corpus.concepts, corpus.columns["split"].tolist(), strict=True):
        name = file.split("/")[0]
        assert [corpus.concept_names[each] for each in phrase] == [f"class={name}"]
        assert split == ("held_out" if name == "cat" else "train")
    shutil.copytree(photos / "bird", "other/bird")
    code, out, err = ecsuite("evaluate", "runs/photos", "--objects", "other", "--json")
    assert code == 0 and list(json.loads(out)["evaluations"]) == ["valid"], err
    shutil.rmtree(photos / "cat")
    code, _, err = ecsuite("evaluate", "runs/photos")
    assert code == 2 and "world.objects: photos/ has other content than when this config was written" in err
    code, _, err = ecsuite("train-game", "photos", *LINE, *TINY)
    assert code == 2 and err.splitlines()[-1].startswith("runs/photos holds another run (")


def test_classes_of_other_images_have_the_numbers_of_training(image_folder, photos):
    settings = [*SMALL[:-3], "task=reconstruction", "world.size=16"]
    trained = make_world(load_experiment(image_folder, settings))
    shutil.rmtree(photos / "bird")
    world = make_world(load_experiment(str(photos), settings), trained)
    assert set(world.objects.values_table.ravel()) == {1} and world.num_values == (2,)
    (photos / "cat").rename(photos / "cow")
    with pytest.raises(ConfigError, match=r"expected images of the training classes \(bird, cat\), got cow"):
        make_world(load_experiment(str(photos), settings), trained)


def test_images_of_a_batch_are_few(image_folder):
    settings = [*SMALL, "world.size=16", "world.images_per_batch=5"]
    world = make_world(load_experiment(image_folder, settings))
    batches = [world.batch("train", number) for number in (0, 1)]
    assert [len(batch.objects) for batch in batches] == [5, 5]
    assert not np.array_equal(*(batch.objects for batch in batches))
