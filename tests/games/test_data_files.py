"""Data files belong to a run by their content: another file of the same name is another run, another path is not."""

import pytest

from ecsuite.games.config.experiment import load_experiment
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


@pytest.mark.parametrize("resume", [False, True])
def test_another_content_is_another_run(files, run, resume):
    folder, load = files
    run(load(), folder / "run")
    (folder / "train.txt").write_text(TEXT["other"])
    with pytest.raises(ConfigError, match=r"holds another run \(the content of world.train_data differs\)"):
        run(load(epochs=2), folder / "run", resume=resume)
