"""Run folders and checkpoints: whose they are, what is refused, and damage that is named and survived."""

import json
import re
from functools import partial

import pytest
import torch
from torch import nn

from ecsuite.eval.results.verification.files import check_files, is_damaged
from ecsuite.files.checksums import sealed_text
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import NUM_KEPT
from ecsuite.games.runs.checkpoints import load_checkpoint, save_checkpoint
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.training.train import train as train_loudly
from ecsuite.runtime.errors import ConfigError, DamagedError


def model_and_optimizer(size=3):
    model = nn.Linear(size, size)
    return model, torch.optim.Adam(model.parameters())


def test_checkpoints_come_back_exactly_and_two_are_kept(tmp_path):
    model, optimizer = model_and_optimizer()
    for step in (1, 2, 10):
        model(torch.ones(3)).sum().backward()
        optimizer.step()
        save_checkpoint(tmp_path, step, model.state_dict(), optimizer, more={"a": [1, 0.1]})
    assert [int(file.stem[-9:]) for file in RunFolder(tmp_path).checkpoints] == [10, 2] and NUM_KEPT == 2
    fresh, fresh_optimizer = model_and_optimizer()
    loaded = load_checkpoint(tmp_path, fresh.load_state_dict, print, fresh_optimizer)
    assert loaded == {"step": 10, "more": {"a": [1, 0.1]}}
    for mine, saved in zip(fresh.parameters(), model.parameters(), strict=True):
        assert mine.equal(saved)
        for name, value in optimizer.state[saved].items():
            assert fresh_optimizer.state[mine][name].equal(value)
    assert load_checkpoint(tmp_path / "nowhere", fresh.load_state_dict, print, fresh_optimizer) is None
    other, other_optimizer = model_and_optimizer(4)  # another model is damage, not a crash
    with pytest.raises(DamagedError, match="none of its 2 checkpoints can be read"):
        load_checkpoint(tmp_path, other.load_state_dict, lambda _: None, other_optimizer)


DAMAGES = {"cut": lambda data: data[:-100], "empty": lambda data: b"", "header": lambda data: b"\xff" * 64}


@pytest.mark.sample(2)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_used(
    finished, small, run, whole, contents, unchanged, damage
):
    """Of a run whose checkpoints are all damaged nothing is overwritten."""
    newest, before = RunFolder(finished).checkpoints
    newest.write_bytes(damage(newest.read_bytes()))
    (finished / "corpus.jsonl").unlink()
    notes = []
    run(small(), finished, resume=True, notes=notes)
    assert len(notes) == 1 and notes[0].startswith(f"{newest.name} is damaged: ")
    assert contents(finished) == contents(whole)
    for file in (newest, before):
        file.write_bytes(damage(file.read_bytes()))
    none = "none of its 2 checkpoints can be read; nothing was changed"
    with unchanged(finished), pytest.raises(DamagedError, match=none):
        run(small("training.num_epochs=4"), finished, resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_folders_of_another_run_or_of_none_are_left_alone(finished, small, run, unchanged, resume, tmp_path):
    with unchanged(finished), pytest.raises(ConfigError, match="holds another run"):
        run(small("channel.vocab_size=9"), finished, resume=resume)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    with unchanged(tmp_path / "own"), pytest.raises(ConfigError, match="is not empty and not a run folder"):
        run(small(), tmp_path / "own", resume=resume)


def test_a_damaged_config_is_damage(finished, small, run):
    (finished / "config.yaml").write_text("world: {")
    with pytest.raises(DamagedError, match=r"damaged run folder: .*config.yaml:1: not YAML"):
        run(small(), finished, resume=True)


def test_leftovers_of_a_killed_write_are_removed_and_do_not_block_a_folder(tmp_path, small, run):
    (tmp_path / ".config.yaml.123.tmp").write_bytes(b"half")
    run(small(), tmp_path)
    assert not list(tmp_path.glob(".*"))


train = partial(train_loudly, progress=lambda *_: None, note=lambda _: None)


def written_earlier(folder, settings, source="disc_tiny"):
    """A run of one epoch as it was written before candidates of held-out rounds could be chosen."""
    run = load_experiment(source, [*settings, "training.num_epochs=1"])
    train(run, folder)
    config = folder / "config.yaml"
    lines = [
        re.sub(r"(, )?(candidates: \w+|shared_values: null)(?=[,}])", "", line)
        for line in config.read_text().splitlines()
        if not re.match(r" *(candidates|shared_values):", line)
    ]
    config.write_bytes(sealed_text(("\n".join(lines) + "\n").encode()))
    assert "candidates" not in config.read_text()


def test_a_table_that_holds_objects_out_itself_does_not_go_on_by_another_rule(tmp_path):
    table = tmp_path / "objects.csv"
    rows = [f"{c},{s},{'test' if c == s else 'train'}" for c in "abc" for s in "abc"]
    table.write_text("color,shape,split\n" + "\n".join(rows) + "\n")
    settings = ["training.num_examples=32", "training.batch_size=16", "task.num_distractors=2"]
    written_earlier(tmp_path / "run", settings, source=str(table))
    longer = load_experiment(str(table), [*settings, "training.num_epochs=2"])
    message = "begun when the candidates of held-out rounds were only held-out objects"
    with pytest.raises(ConfigError, match=message):
        train(longer, tmp_path / "run", resume=True)


OLDEST = ("society.senders=2", "generations.every=6", "generations.which=oldest")


@pytest.mark.parametrize("settings", [(), OLDEST])
def test_languages_go_on_after_a_kill(settings, small, run, tmp_path):
    experiment = small("evaluation.keep=[languages]", "training.checkpoint_every=8", *settings)
    run(experiment, tmp_path / "whole")

    def die(label, done, total):
        if done == 13:  # of step 12 there is an evaluation, and no checkpoint
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        run(experiment, tmp_path / "killed", progress=die)
    run(experiment, tmp_path / "killed", resume=True)
    whole, killed = ((tmp_path / name / "languages.jsonl").read_bytes() for name in ("whole", "killed"))
    assert whole == killed
    rows = [json.loads(line) for line in whole.splitlines()]
    num_speakers = 2 if settings else 1
    steps = [step for step in range(4, 28, 4) for _ in range(16 * num_speakers)]
    assert [row["step"] for row in rows] == steps
    assert rows[0]["meaning"] == [0, 0] and {row["speaker"] for row in rows} == set(range(num_speakers))
    if settings:
        began = [{row["began"] for row in rows if row["step"] == step} for step in (4, 12, 24)]
        assert began == [{0}, {0, 6}, {12, 18}]
    content = load_run(tmp_path / "whole").corpus.content()
    last = [row["message"] for row in rows if (row["step"], row["speaker"]) == (24, 0)]
    assert last == [content[place].tolist() for place in range(16)]
    assert not is_damaged(check_files(tmp_path / "whole"))
    (tmp_path / "whole" / "languages.jsonl").write_bytes(whole[:-9])
    assert is_damaged(check_files(tmp_path / "whole"), "languages.jsonl")
