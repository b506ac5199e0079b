"""Experiments: mistakes in settings are named in a line; data files belong to a run by their content."""

import shutil

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment, with_changes
from ecsuite.games.plays.notes import choose_game_precision
from ecsuite.runtime.errors import ConfigError

MISTAKES = {
    "channel.temprature=2": "unknown key 'channel.temprature'; did you mean 'channel.temperature'? choices: ",
    "seed=1": "unknown key 'seed'; did you mean 'training.seed'? choices: ",
    "epochs=1": "unknown key 'epochs'; did you mean 'schedule.num_epochs' or 'training.num_epochs'? choices: ",
    "temperature=2": "unknown key 'temperature'; did you mean 'channel.temperature'? choices: ",
    "world=3": "--set: unknown world '3'; choices: ",
    "world={num_values: 3, pol: 4}": "unknown key 'world.pol'",
    "training=3": "training: expected a section with keys, got 3",
    "channel.temperature": "--set channel.temperature: expected key=value, such as channel.temperature=2",
    "channel.temperature=": "--set: channel.temperature: expected float, got None",
    "channel.temperature=[": "--set channel.temperature: '[' is not a YAML value",
    "channel.temperature=!!python/name:os.system": "--set channel.temperature: '!!python/name:os.system' is not a YAML",
    "channel.length=fixd": "--set: channel.length: unknown value 'fixd'; did you mean 'fixed'? choices: variable, ",
    "evaluation.batch_size=0": "--set: evaluation.batch_size: expected int >= 1, got 0",
    "world.held_out=1": "--set: world.held_out: expected float < 1.0, got 1",
    "sender.cell=gr": "--set: sender.cell: unknown cell 'gr'; did you mean 'gru'? choices: rnn, gru, ",
    "sender.num_layers=10": "--set: sender.num_layers: expected int <= 9, got 10",
    "sender=gruu": "--set: unknown sender 'gruu'; did you mean 'gru'? choices: ",
    "sender.kind=gru-2l,hiden=8": "--set: ",
    "receiver.kind=heir:gru": "unknown receiver 'heir:gru'; did you mean 'hier:CELL'? choices: bidirectional, ",
    "channel=quantised": "--set: unknown channel 'quantised'; did you mean 'quantized'? choices: soft, gumbel, ",
    "channel=quantized,word_size": "--set: channel quantized: expected key=value after the comma, got 'word_size'",
    "channel=quantized,word_size=0": "--set: channel.word_size: expected int >= 1, got 0",
    "world=text,train_data=x.txt": "--set: world.train_data and valid_data: give both files",
    "task=concept,variant=ref": "--set: task.variant: unknown value 'ref'; did you mean 'reference'? ch",
    "schedule.kind=liner": "--set: unknown schedule 'liner'; did you mean 'linear'? choices: constant, linear",
}  # fmt: skip


@pytest.mark.parametrize("assignment", MISTAKES)
def test_mistakes_in_overrides_are_named(assignment):
    with pytest.raises(ConfigError) as error:
        load_experiment("disc_tiny", [assignment])
    assert "\n" not in str(error.value)
    assert MISTAKES[assignment] in str(error.value)
    assert str(error.value).startswith("--set")


@pytest.mark.parametrize("kind", ["gumbel", "reinforce"])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_section_keeps_the_settings_given_before_it_by_key(as_text, kind):
    """For example in `set:` of a study."""
    given = {
        "training.num_examples": 64,
        "channel.vocab_size": 7,
        "channel": {"kind": kind, "max_len": 2},
        "sender.perception.size": 5,
        "sender": {"hidden_size": 6, "perception": {"kind": "recurrent", "cell": "lstm"}},
        "training": {"precision": "fp32"},
    }
    if as_text:
        found = load_experiment("disc_tiny", [f"{key}={value}" for key, value in given.items()])
    else:
        found = with_changes(load_experiment("disc_tiny"), given)
    assert (
        found.training.num_examples == 64
        and found.training.precision == "fp32"
        and found.channel.kind == kind
        and found.channel.options.vocab_size == 7
        and found.channel.options.max_len == 2
        and found.sender.options.perception.options.size == 5
    )


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


def test_runs_know_the_content_of_their_data_wherever_it_lies(files, run):
    folder, load = files
    run(load(), folder / "run")
    shutil.copy(folder / "train.txt", folder / "copy.txt")
    assert run(load("copy.txt"), folder / "run").was_done
    config = str(folder / "run" / "config.yaml")
    run(load_experiment(config), folder / "again")
    assert (folder / "again" / "corpus.jsonl").read_bytes() == (folder / "run" / "corpus.jsonl").read_bytes()
    (folder / "train.txt").write_text(TEXT["other"])
    for resume in (False, True):
        with pytest.raises(ConfigError, match=r"another run \(the content of world.train_data differs\)"):
            run(load(epochs=2), folder / "run", resume=resume)
    with pytest.raises(ConfigError, match=r"world.train_data: .*train.txt has other content than when this"):
        run(load_experiment(config), folder / "third")


@pytest.mark.parametrize(
    ("game", "refused"), [("speaker_listener", ["bf16"]), ("naming", ["bf16", "tf32"]), ("disc_tiny", [])]
)
def test_plays_that_do_not_compute_in_a_precision_refuse_it(game, refused):
    cuda = torch.device("cuda")
    for asked in ("bf16", "tf32"):
        experiment = load_experiment(game, [f"training.precision={asked}"])
        if asked in refused:
            with pytest.raises(ConfigError, match=rf"play \w+ does not support {asked}: expected one of au"):
                choose_game_precision(experiment, cuda)
        else:
            assert choose_game_precision(experiment, cuda) == asked
    if refused:
        assert choose_game_precision(load_experiment(game, []), cuda) == "fp32"
