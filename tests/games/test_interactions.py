"""Interactions: rows that agree with the evaluation, a file that is verified, and runs that do not depend on it."""

import shutil
import sys

import numpy as np
import pytest

from ecsuite.commands.evaluate import names_to_keep
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.interactions import FILE, record_interactions
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

pytest.importorskip("pyarrow")


def rows_of(table):
    return {name: table[name].to_pylist() for name in table.column_names}


@pytest.fixture(scope="module")
def kept(small, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "run"
    run(small("evaluation.keep=interactions"), folder)
    return folder


def test_rows_agree_with_the_evaluation_and_the_run_does_not_depend_on_them(kept, whole):
    opened = load_run(kept)
    rows = rows_of(opened.interactions())
    assert rows["round"] == list(range(50)) and set(rows["evaluation"]) == {"valid"}
    for name in ("loss", "accuracy"):
        assert np.mean(rows[name]) == pytest.approx(opened.measures[name], abs=1e-6)
    assert (np.array(rows["answer"]) == np.array(rows["right"])).tolist() == rows["correct"]
    for seen, candidates, values, right, meaning in zip(
        *(rows[name] for name in ("seen", "candidates", "candidate_values", "right", "meaning")), strict=True
    ):
        assert seen == [candidates[right]] and values[right] == meaning and len(candidates) == 4
    assert rows["message"] == opened.speak(rows["meaning"])
    for file in ("corpus.jsonl", "meanings.jsonl"):
        assert (kept / file).read_bytes() == (whole / file).read_bytes()


def test_a_file_that_was_changed_is_not_believed(kept, tmp_path):
    folder = shutil.copytree(kept, tmp_path / "run")
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    notes = []
    again = load_run(folder, note=notes.append).interactions()
    assert again.equals(load_run(kept).interactions())
    assert len(notes) == 1 and "played again" in notes[0]


def test_a_run_that_keeps_none_plays_its_rounds(whole):
    table = load_run(whole).interactions({"task.num_distractors": 7}, probabilities=True)
    rows = rows_of(table)
    assert not (whole / FILE).exists() and {len(row) for row in rows["probabilities"]} == {8}
    assert rows["answer"] == [int(np.argmax(row)) for row in rows["probabilities"]]


@pytest.mark.parametrize(
    ("changes", "right", "probabilities"),
    [
        (["task.kind=reconstruction"], (2,), (2, 4)),
        (["world.kind=thing", "task={kind: concept, num_targets: 2, num_distractors: 2}"], (4,), (4,)),
        (["channel=quantized,word_size=2,max_len=3"], (), (4,)),
    ],
)
def test_other_tasks_and_channels(small, changes, right, probabilities):
    experiment = small(*changes)
    world = make_world(experiment)
    table = record_interactions(
        make_population(experiment, world), {"valid": (world, "valid")}, experiment, probabilities=True
    )
    rows = rows_of(table)
    assert np.array(rows["right"]).shape[1:] == right == np.array(rows["answer"]).shape[1:]
    assert np.array(rows["probabilities"]).shape[1:] == probabilities
    if "channel" in changes[0]:
        assert np.array(rows["message"]).shape[1:] == (3, 2)


def test_only_candidates_that_are_there_are_kept(small):
    experiment = small("task.fewest_distractors=1")
    world = make_world(experiment)
    table = record_interactions(
        make_population(experiment, world), {"valid": (world, "valid")}, experiment, probabilities=True
    )
    rows = rows_of(table)
    names = ("candidates", "candidate_values", "probabilities", "right", "answer", "meaning")
    for candidates, values, likely, right, answer, meaning in zip(*map(rows.get, names), strict=True):
        assert len(candidates) == len(values) == len(likely) and values[right] == meaning
        assert sum(likely) == pytest.approx(1) and answer == int(np.argmax(likely))
    assert {len(row) for row in rows["candidates"]} == {2, 3, 4}


def test_wrong_names_and_a_missing_package_are_refused_first(small, run, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"evaluation.keep: unknown name 'interaction'; did you mean"):
        load_experiment("disc_tiny", ["evaluation.keep=interaction"])
    with pytest.raises(ConfigError, match=r"expected a file for them, such as --out interactions.parquet"):
        names_to_keep("interactions", None)
    with pytest.raises(
        ConfigError, match=r"^evaluation.keep: task autoencoding has no probabilities of answers"
    ):
        run(small("evaluation.keep=[probabilities]", "task=autoencoding"), tmp_path / "run")
    experiment = small("task=autoencoding")
    world = make_world(experiment)
    with pytest.raises(
        ConfigError, match=r"^probabilities: task autoencoding has no probabilities of answers"
    ):
        players = make_population(experiment, world)
        record_interactions(players, {"valid": (world, "valid")}, experiment, probabilities=True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[data\]'"):
        run(small("evaluation.keep=interactions"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
