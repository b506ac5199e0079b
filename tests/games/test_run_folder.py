"""Run folders and checkpoints: whose they are, what is refused, and damage that is named and survived."""

import json
import re
import signal
from functools import partial

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ecsuite.eval.results.verification.files import check_files, is_damaged
from ecsuite.files.checksums import sealed_text
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import NUM_KEPT
from ecsuite.games.plays.notes import agents_text
from ecsuite.games.runs.checkpoints import load_checkpoint, save_checkpoint
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import NUM_LINES, RunFolder
from ecsuite.games.training.train import train as train_loudly
from ecsuite.runtime.errors import ConfigError, DamagedError


def truncate(file):
    file.write_bytes(file.read_bytes()[:-100])


def flip(file):
    data = bytearray(file.read_bytes())
    data[-30] ^= 1
    file.write_bytes(data)


def empty(file):
    file.write_bytes(b"")


def replace_header(file):
    file.write_bytes(b"\xff" * 64)


def no_metadata(file):
    save_file({"x": torch.zeros(1)}, file)


DAMAGES = [truncate, flip, empty, replace_header, no_metadata]


@pytest.mark.sample(2)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_is_used(
    finished, small, run, whole, contents, damage
):
    damage(finished / "checkpoint-000000024.safetensors")
    (finished / "corpus.jsonl").unlink()
    notes = []
    run(small(), finished, resume=True, notes=notes)
    (note,) = notes
    assert note.startswith("checkpoint-000000024.safetensors is damaged: ")
    assert note.endswith("; trying the previous checkpoint")
    assert contents(finished) == contents(whole)


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_whole_checkpoint_is_an_error_and_nothing_is_overwritten(finished, small, run, unchanged, damage):
    for file in RunFolder(finished).checkpoints:
        damage(file)
    for experiment in (small(), small("training.num_epochs=4")):
        with (
            unchanged(finished),
            pytest.raises(DamagedError, match="none of its 2 checkpoints can be read; nothing was changed"),
        ):
            run(experiment, finished, resume=True)


def test_a_checkpoint_of_another_model_is_damage_not_a_crash(tmp_path):
    model, optimizer = model_and_optimizer(3)
    save_checkpoint(tmp_path, 1, model.state_dict(), optimizer)
    other, other_optimizer = model_and_optimizer(4)
    with pytest.raises(DamagedError, match="none of its 1 checkpoints can be read"):
        load_checkpoint(tmp_path, other.load_state_dict, lambda _: None, other_optimizer)


def model_and_optimizer(size=3):
    model = nn.Linear(size, size)
    return model, torch.optim.Adam(model.parameters())


def test_checkpoints_come_back_exactly_and_two_are_kept(tmp_path):
    model, optimizer = model_and_optimizer()
    for step in (1, 2, 10):
        model(torch.ones(3)).sum().backward()
        optimizer.step()
        save_checkpoint(tmp_path, step, model.state_dict(), optimizer, more={"a": [1, 0.1]})
    assert [file.name for file in RunFolder(tmp_path).checkpoints] == [
        "checkpoint-000000010.safetensors",
        "checkpoint-000000002.safetensors",
    ] and NUM_KEPT == 2
    fresh, fresh_optimizer = model_and_optimizer()
    loaded = load_checkpoint(tmp_path, fresh.load_state_dict, print, fresh_optimizer)
    assert loaded == {"step": 10, "more": {"a": [1, 0.1]}}
    for mine, saved in zip(fresh.parameters(), model.parameters(), strict=True):
        assert mine.equal(saved)
        for name, value in optimizer.state[saved].items():
            assert fresh_optimizer.state[mine][name].equal(value)
    assert load_checkpoint(tmp_path / "nowhere", fresh.load_state_dict, print, fresh_optimizer) is None


REFUSALS = {
    "optimizer.lr=0.5": r"holds another run \(optimizer.lr is 0.003 in the folder, 0.5 requested\): choose another",
    "channel.length=fixed": r"holds another run \(channel.length is variable in the folder, fixed requested\)",
    "name=other": r"holds another run \(name is disc_tiny in the folder, other requested\)",
    "training.seed=2": r"holds another run \(training.seed is 1 in the folder, 2 requested\)",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("change", REFUSALS)
def test_a_folder_of_another_run_is_refused(finished, small, run, unchanged, change, resume):
    with unchanged(finished), pytest.raises(ConfigError, match=REFUSALS[change]):
        run(small(change), finished, resume=resume)


@pytest.mark.parametrize("resume", [False, True])
def test_folders_that_are_no_run(tmp_path, small, run, resume):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(
        ConfigError, match="is not empty and not a run folder: choose another folder with --out"
    ):
        run(small(), tmp_path, resume=resume)
    with pytest.raises(ConfigError, match=r"notes.txt is a file: choose another folder with --out"):
        run(small(), tmp_path / "notes.txt", resume=resume)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_an_unfinished_run_wants_resume(tmp_path, small, run):
    def stop(_, done, total):
        if done == 5:
            signal.raise_signal(signal.SIGINT)

    assert run(small(), tmp_path, progress=stop).stopped == "interrupt"
    for experiment in (small(), small("training.num_epochs=9")):
        with pytest.raises(ConfigError, match="holds this run, unfinished: add --resume to continue it"):
            run(experiment, tmp_path)


def test_a_damaged_config_is_damage(finished, small, run):
    (finished / "config.yaml").write_text("world: {")
    with pytest.raises(DamagedError, match=r"damaged run folder: .*config.yaml:1: not YAML"):
        run(small(), finished, resume=True)


OF_METADATA = [
    ("training", {"stopped": "because"}),
    ("training", {"step": "24"}),
    ("training", {"accuracy": "high"}),
    ("training", {"accuracy": [1]}),
    ("extra_evaluations", {"seen rules": 3}),
    ("sha256", {"": "0"}),
]


@pytest.mark.parametrize("damage", [b"", b"[]", b"[" * 100_000, b'{"training": 3}', b"\xff", *OF_METADATA])
def test_damaged_metadata_of_a_finished_run_are_written_again(finished, small, run, damage):
    file = finished / "metadata.json"
    before = file.read_bytes()
    if isinstance(damage, tuple):
        part, change = damage
        known = json.loads(before)
        damage = json.dumps({**known, part: {**known.get(part, {}), **change}}).encode()
    file.write_bytes(damage)
    assert not run(small(), finished, resume=True).was_done
    assert file.read_bytes() == before


def test_leftovers_of_a_killed_write_are_removed_and_do_not_block_a_folder(tmp_path, small, run):
    (tmp_path / ".config.yaml.123.tmp").write_bytes(b"half")
    run(small(), tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_a_log_is_cut_after_the_lines_that_count(tmp_path):
    file, notes = tmp_path / "log.jsonl", []
    lines = [f'{{"step": {step}}}\n'.encode() for step in (4, 8, 12)]
    log = RunFolder(tmp_path).open_log(0, {}, notes.append)
    with log.file:
        log.file.write(b"".join(lines) + b'{"ste')
    assert log.num_lines == 0
    for step, count in ((12, 3), (8, 2), (8, 1), (0, 0)):
        log = RunFolder(tmp_path).open_log(step, {NUM_LINES: count}, notes.append)
        log.file.close()
        assert log.num_lines == count and file.read_bytes() == b"".join(lines[:count])
    assert notes == []


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("damage", "steps", "num_lost"),
    [
        (None, [12, 16, 20, 24], 2),
        (b"", [12, 16, 20, 24], 2),
        (b'garbage\xff\n{"step": 8, "train": {}}\n', [8, 12, 16, 20, 24], 1),
        (b"[" * 100_000 + b"\n", [12, 16, 20, 24], 2),
        (b'{"step": "4"}\n{"step": 8}', [12, 16, 20, 24], 2),
    ],
)
def test_lines_that_a_log_has_lost_are_told_of(tmp_path, small, run, kill, damage, steps, num_lost):
    """The lines that are left stay, also if the run is stopped and goes on again."""
    run(small(), tmp_path, progress=kill(signal.SIGTERM, 9))
    log, notes = tmp_path / "log.jsonl", []
    log.unlink()
    if damage is not None:
        log.write_bytes(damage)
    run(small(), tmp_path, resume=True, notes=notes, progress=kill(signal.SIGTERM, 13))
    assert notes == [f"{log}: {num_lost} of 2 lines are missing or damaged and left out"]
    run(small(), tmp_path, resume=True, notes=notes)
    assert len(notes) == 1
    assert [json.loads(line)["step"] for line in log.read_bytes().splitlines()] == steps


@pytest.mark.parametrize(
    ("society", "told"),
    [
        ((), ""),
        (("society.senders=4",), "; 4 senders and 1 receiver"),
        (("society.agents=3",), "; 3 agents that do both"),
    ],
)
def test_what_is_said_of_agents_says_how_many_they_are(society, told):
    agents = "sender gru of 64 units, receiver gru of 64 units"
    game = load_experiment("disc_tiny", society)
    assert agents_text(game.sender, game.receiver, game.society) == agents + told


train = partial(train_loudly, progress=lambda *_: None, note=lambda _: None)
EARLIER = (
    "training.num_examples=32",
    "training.batch_size=16",
    "task.num_distractors=2",
    "world.held_out=0.25",
)


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


def test_a_run_of_the_earlier_rule_of_candidates_goes_on_with_it_alone(tmp_path):
    written_earlier(tmp_path / "run", [*EARLIER, "world.candidates=split"])
    assert load_run(tmp_path / "run").experiment.world.options.candidates == "split"
    longer = [*EARLIER, "training.num_epochs=2"]
    with pytest.raises(ConfigError, match=r"world.candidates is split in the folder, all requested"):
        train(load_experiment("disc_tiny", longer), tmp_path / "run", resume=True)
    train(load_experiment("disc_tiny", [*longer, "world.candidates=split"]), tmp_path / "run", resume=True)
    nothing_held_out = [setting for setting in EARLIER if "held" not in setting]
    written_earlier(tmp_path / "plain", nothing_held_out)
    longer = [*nothing_held_out, "training.num_epochs=2"]
    assert train(load_experiment("disc_tiny", longer), tmp_path / "plain", resume=True).step == 4


def test_a_run_with_the_same_nearest_distractors_for_ever_does_not_go_on(tmp_path, object_table):
    nearest = ["training.num_examples=32", "training.batch_size=16", "world.distractors=nearest"]
    written_earlier(tmp_path / "run", nearest, source=str(object_table))
    with pytest.raises(
        ConfigError, match="begun when the nearest distractors of a target were the same ones"
    ):
        train(
            load_experiment(str(object_table), [*nearest, "training.num_epochs=2"]),
            tmp_path / "run",
            resume=True,
        )


def test_a_table_that_holds_objects_out_itself_does_not_go_on_by_another_rule(tmp_path):
    table = tmp_path / "objects.csv"
    rows = [f"{c},{s},{'test' if c == s else 'train'}" for c in "abc" for s in "abc"]
    table.write_text("color,shape,split\n" + "\n".join(rows) + "\n")
    settings = ["training.num_examples=32", "training.batch_size=16", "task.num_distractors=2"]
    written_earlier(tmp_path / "run", settings, source=str(table))
    with pytest.raises(
        ConfigError, match="begun when the candidates of held-out rounds were held-out objects"
    ):
        train(
            load_experiment(str(table), [*settings, "training.num_epochs=2"]), tmp_path / "run", resume=True
        )


@pytest.mark.parametrize(
    "settings", [(), ("society.senders=2", "generations.every=6", "generations.which=oldest")]
)
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
    assert [row["step"] for row in rows] == [
        step for step in range(4, 28, 4) for _ in range(16 * num_speakers)
    ]
    assert rows[0]["meaning"] == [0, 0] and {row["speaker"] for row in rows} == set(range(num_speakers))
    began = (
        [{row["began"] for row in rows if row["step"] == step} for step in (4, 12, 24)] if settings else []
    )
    assert began == ([{0}, {0, 6}, {12, 18}] if settings else []) and ("began" in rows[0]) == bool(settings)
    content = load_run(tmp_path / "whole").corpus.content()
    last = [row["message"] for row in rows if (row["step"], row["speaker"]) == (24, 0)]
    assert last == [content[place].tolist() for place in range(16)]
    assert not is_damaged(check_files(tmp_path / "whole"))
    (tmp_path / "whole" / "languages.jsonl").write_bytes(whole[:-9])
    assert is_damaged(check_files(tmp_path / "whole"), "languages.jsonl")
