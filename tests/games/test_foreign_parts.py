"""A part from a user's own file is trained, written down with its checksum, and trained again from the copy."""

import shutil
from pathlib import Path

import pytest
import yaml

from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError

OWN = Path(__file__).with_name("test_new_parts.py")
"""A file with a part of each kind."""
PARTS = {
    "world": "Ring,size=7",
    "task": "Margin,margin=0.5",
    "channel": "Flipping,flip=0.2",
    "sender": "OneLayer,flip=0.2",
    "receiver": "Counting,width=6",
    "sender.perception": "Scaled,scale=2.5",
    "receiver.perception": "Scaled,scale=2.5",
    "optimizer": "Descent,momentum=0.5",
    "schedule": "Halving,after=1",
    "loss": "Weighted,weight=0.5",
}
"""By section, the part and an option that is not the default."""
TINY = ("training.num_examples=64", "training.num_epochs=1", "evaluation.corpus_size=9")


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(own_code, "_trusted", set())


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A copy of the file in the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(OWN, tmp_path / "own.py"))


def test_all_parts_from_one_file(small, run, own):
    settings = [f"{section}=./own.py:{part}" for section, part in PARTS.items()]
    assert run(override(small(*TINY), settings), Path("run")).step == 2


def test_a_lost_copy_is_told(small, run, own):
    run(small(*TINY, "channel=./own.py:Flipping"), Path("run"))
    shutil.rmtree("run/code")
    own.unlink()
    with pytest.raises(
        ConfigError, match=r"^run: the code in ./own.py is missing: expected a file with SHA-256"
    ):
        load_experiment("run/config.yaml", trust_code=True)


@pytest.mark.slow
def test_own_meetings_are_recorded_and_copied(small, run, own):
    own.write_text(
        "from ecsuite.games.config.registry import MEETINGS\nclass Apart(MEETINGS.load('all')): pass\n"
    )
    run(small(*TINY, "society.senders=2", "society.receivers=2", "society.meets=./own.py:Apart"), Path("run"))
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert config["code"] == {"./own.py": own_code.checksum("own.py")}
    assert [file.name for file in Path("run/code").rglob("*.py")] == ["own.py"]
