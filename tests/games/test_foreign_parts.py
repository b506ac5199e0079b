"""A part from a user's own file is trained, written down with its checksum, and trained again from the copy."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.parts import own_code
from ecsuite.parts.own_code import UntrustedError
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


@pytest.mark.sample(2)
@pytest.mark.parametrize("section", PARTS)
def test_a_part_from_a_file_is_trained_and_repeated_from_its_copy(section, small, run, contents, own):
    run(override(small(*TINY), [f"{section}=./own.py:{PARTS[section]}"]), Path("run"))
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert config["code"] == {"./own.py": own_code.checksum("own.py")}
    own.write_text(own.read_text() + "# changed\n")
    own_code._trusted.clear()
    with pytest.raises(UntrustedError, match=r"would run the code in run/code/.*/own.py: .* --trust-code"):
        load_experiment("run/config.yaml")
    notes = []
    again = load_experiment("run/config.yaml", note=notes.append, trust_code=True)
    assert notes == [
        f"code: {next(Path('run/code').rglob('*.py'))}, the copy, as ./own.py or its imports have changed"
    ]
    run(again, Path("again"))
    first, second = (without_names(contents, folder) for folder in ("run", "again"))
    assert first == second


def without_names(contents, folder):
    """What a run wrote but for the copy and the config, which names the file."""
    shutil.move(f"{folder}/code", f"code of {folder}")
    files = contents(Path(folder))
    del files["config.yaml"], files["metadata.json"]
    return files


def test_all_parts_from_one_file(small, run, own):
    settings = [f"{section}=./own.py:{part}" for section, part in PARTS.items()]
    assert run(override(small(*TINY), settings), Path("run")).step == 2


def test_agents_have_rates_of_their_own_beside_a_part_from_a_file(small, run, own):
    rates = ["optimizer.sender_lr=0.01", "optimizer.receiver_lr=0.02"]
    assert run(override(small(*TINY), [f"loss=./own.py:{PARTS['loss']}", *rates]), Path("run")).step == 2


def test_a_changed_file_does_not_continue_a_run(small, run, own):
    part = "channel=./own.py:Flipping"
    run(small(*TINY, part), Path("run"))
    assert run(small(*TINY, part), Path("run")).was_done
    assert run(small(*TINY, f"channel={own}:Flipping"), Path("run")).was_done, "the same content elsewhere"
    own.write_text(own.read_text() + "# changed\n")
    for resume in (False, True):
        told = (
            r"^run holds another run \(channel.kind is run/code/\w{8}/own.py:Flipping in the folder, ./own.py"
        )
        with pytest.raises(ConfigError, match=told):
            run(small(*TINY, part), Path("run"), resume=resume)


def test_a_lost_copy_is_told(small, run, own):
    run(small(*TINY, "channel=./own.py:Flipping"), Path("run"))
    shutil.rmtree("run/code")
    own.unlink()
    with pytest.raises(
        ConfigError, match=r"^run: the code in ./own.py is missing: expected a file with SHA-256"
    ):
        load_experiment("run/config.yaml", trust_code=True)


def test_a_config_of_the_user_may_name_files(small, run, own):
    Path("mine.yaml").write_text("channel: {kind: ./own.py:Flipping, flip: 0.5}\n")
    assert load_experiment("mine.yaml").channel.options.flip == 0.5


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def forward(self, meanings, builder): return torch.nothing", "AttributeError: module 'torch'"),
        ("def forward(self, meanings, builder): builder.step(meanings)", "RuntimeError: The size of tensor"),
        ("def forward(self, meanings): pass", "TypeError: Mine.forward() takes 2 positional arguments but 3"),
        ("def __init__(self, options): pass", "TypeError: Mine.__init__() got an unexpected keyword"),
        ("def __init__(self, options, **sizes): 1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_errors_in_a_part_name_its_line_and_write_nothing(small, run, own, code, message):
    own.write_text(
        "import torch; from ecsuite.agents.senders import Sender\nclass Mine(Sender):\n    forward = None\n"
        "    def __init__(self, options, **sizes):\n        super().__init__()\n    " + code + "\n"
    )
    with pytest.raises(Exception) as caught:
        run(override(small(), ["sender=./own.py:Mine"]), Path("run"))
    assert str(own_code.error_in_part(caught.value)).startswith(f"./own.py:6: {message}")
    assert not Path("run").exists()


def test_changes_in_python_may_name_files(small, own):
    assert override(small(), ["channel=./own.py:Flipping,flip=0.5"]).channel.options.flip == 0.5


def test_what_a_part_imports_is_copied_and_a_change_of_it_does_not_continue_a_run(small, run, own):
    Path("helper.py").write_text(own.read_text())
    own.write_text("from helper import *\nfrom helper import Flipping\nclass Mine(Flipping): pass\n")
    run(small(*TINY, "channel=./own.py:Mine"), Path("run"))
    assert sorted(file.name for file in Path("run/code").rglob("*.py")) == ["helper.py", "own.py"]
    Path("helper.py").write_text(Path("helper.py").read_text() + "# changed\n")
    for resume in (False, True):
        with pytest.raises(ConfigError, match=r"^run holds another run \(channel.kind is "):
            run(small(*TINY, "channel=./own.py:Mine"), Path("run"), resume=resume)
    own_code._trusted.clear()
    with pytest.raises(UntrustedError, match=r"run the code in run/code/.*/own.py, run/code/.*/helper.py: "):
        load_experiment("run/config.yaml")
    notes = []
    again = load_experiment("run/config.yaml", note=notes.append, trust_code=True)
    assert notes[0].endswith("helper.py, the copy, as ./own.py or its imports have changed")
    assert run(again, Path("again")).step == 2
    copies = [sorted(file.name for file in Path(name, "code").rglob("*.py")) for name in ("run", "again")]
    assert copies[0] == copies[1]


TASK = """
from ecsuite.games.tasks.tasks import Discrimination, Task
from ecsuite.games.worlds.world import RoundSpec
class Mine(Task):
    Options = Discrimination.Options
    def rounds(options): return RoundSpec(num_distractors=2)
    def chance(self): return {"accuracy": 0.5}
    def forward(self, answer, truth): return None
    def reward_of(self, answer): return 1
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "    def chioces(self, answer): return answer\n",
            "own.py:10: Mine: tasks have no chioces; did you mean choices?",
        ),
        (
            "    score_candidates = False\n",
            "Mine: tasks have no score_candidates; did you mean scores_candidates?",
        ),
        (
            "    def __init__(self, *a, **b):\n        super().__init__(*a, **b)\n"
            "        self.scores_are_cosine = True\n",
            "Mine: tasks have no scores_are_cosine; did you mean scores_are_cosines?",
        ),
    ],
)
def test_a_misspelt_method_is_an_error(small, run, own, code, message):
    own.write_text(TASK + code)
    with pytest.raises(ConfigError, match=re.escape(message)):
        run(override(small(), ["task=./own.py:Mine"]), Path("run"))
    assert not Path("run").exists()


@pytest.mark.slow
def test_own_meetings_are_recorded_and_copied(small, run, own):
    own.write_text(
        "from ecsuite.games.config.registry import MEETINGS\nclass Apart(MEETINGS.load('all')): pass\n"
    )
    run(small(*TINY, "society.senders=2", "society.receivers=2", "society.meets=./own.py:Apart"), Path("run"))
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert config["code"] == {"./own.py": own_code.checksum("own.py")}
    assert [file.name for file in Path("run/code").rglob("*.py")] == ["own.py"]
