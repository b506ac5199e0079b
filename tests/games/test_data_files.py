"""Data files belong to a run by their content: another file of the same name is another run, another path is not."""

import shutil

import pytest
import torch
import yaml

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import TrainingJob
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.runtime.errors import ConfigError

TEXT = {"train": "0 1 . 2 3 . 0\n1 1 . 3 3 . 1\n", "other": "0 2 . 2 3 . 0\n1 1 . 3 3 . 1\n"}
SIZES = ("training.batch_size=2", "sender.hidden_size=4", "receiver.hidden_size=4", "training.precision=fp32")


@pytest.fixture
def files(tmp_path):
    """A folder with two text files and a function that loads the experiment on them."""
    for name in ("train", "valid"):
        (tmp_path / f"{name}.txt").write_text(TEXT["train"])

    def load(train="train.txt", epochs=1):
        flags = {"world.train_data": str(tmp_path / train), "world.valid_data": str(tmp_path / "valid.txt")}
        return load_experiment("disc_tiny", [*SIZES, f"training.num_epochs={epochs}"], flags)

    return tmp_path, load


def test_the_checksums_are_in_the_config_and_the_metadata(files, run):
    folder, load = files
    run(load(), folder / "run")
    data = yaml.safe_load((folder / "run" / "config.yaml").read_text())["data"]
    assert list(data) == ["train_data", "valid_data"] and all(len(digest) == 64 for digest in data.values())
    metadata = yaml.safe_load((folder / "run" / "metadata.json").read_text())
    assert metadata["config"]["data"] == data


@pytest.mark.parametrize("resume", [False, True])
def test_another_content_is_another_run(files, run, resume):
    folder, load = files
    run(load(), folder / "run")
    (folder / "train.txt").write_text(TEXT["other"])
    with pytest.raises(ConfigError, match=r"holds another run \(the content of world.train_data differs\)"):
        run(load(epochs=2), folder / "run", resume=resume)


def test_another_path_is_the_same_run(files, run):
    folder, load = files
    run(load(), folder / "run")
    shutil.copy(folder / "train.txt", folder / "copy.txt")
    assert run(load("copy.txt"), folder / "run").was_done


def test_a_written_config_asks_for_the_same_content(files, run):
    folder, load = files
    run(load(), folder / "run")
    config = str(folder / "run" / "config.yaml")
    run(load_experiment(config), folder / "again")
    assert (folder / "again" / "corpus.jsonl").read_bytes() == (folder / "run" / "corpus.jsonl").read_bytes()
    (folder / "train.txt").write_text(TEXT["other"])
    with pytest.raises(
        ConfigError, match=r"world.train_data: .*train.txt has other content than when this config"
    ):
        run(load_experiment(config), folder / "third")
    # A file that the user names is taken as it is.
    (folder / "other.txt").write_text(TEXT["other"])
    flags = {"world.train_data": str(folder / "other.txt"), "world.valid_data": str(folder / "valid.txt")}
    assert run(load_experiment(config, flags=flags), folder / "third").step == 1


def test_jobs_of_studies_know_the_content(tmp_path):
    keys = []
    for seed, name in ((0, "a.npz"), (1, "a.npz"), (0, "b.npz")):
        write_features(tmp_path / name, synthetic_features(seed))
        experiment = load_experiment("mu_cub", flags={"world.features": str(tmp_path / name)})
        keys.append(TrainingJob.of(experiment, 1, torch.device("cpu")).job_key())
    assert keys[0] == keys[2] != keys[1]


def test_a_missing_file_is_named(tmp_path, run):
    experiment = load_experiment("mu_cub", flags={"world.features": str(tmp_path / "nowhere.npz")})
    with pytest.raises(ConfigError, match=r"nowhere.npz: can't be read"):
        run(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()
