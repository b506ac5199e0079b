"""Interactions agree with the evaluation and are verified; interventions on messages of known answers and of a run."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch

from ecsuite.commands.evaluate import names_to_keep
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.interactions import FILE, record_interactions
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.interventions import _message, causal_influence
from ecsuite.games.runs.run import load_run
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

pytest.importorskip("pyarrow")


def rows_of(table):
    return {name: table[name].to_pylist() for name in table.column_names}


def played(experiment, **how):
    """The players of an experiment, their world, and the rows of an evaluation by column."""
    world = make_world(experiment)
    players = make_population(experiment, world)
    table = record_interactions(players, {"valid": (world, "valid")}, experiment, **how)
    return players, world, rows_of(table)


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
    _, _, rows = played(small(*changes), probabilities=True)
    assert np.array(rows["right"]).shape[1:] == right == np.array(rows["answer"]).shape[1:]
    assert np.array(rows["probabilities"]).shape[1:] == probabilities
    if "channel" in changes[0]:
        assert np.array(rows["message"]).shape[1:] == (3, 2)


def test_only_candidates_that_are_there_are_kept(small):
    _, _, rows = played(small("task.fewest_distractors=1"), probabilities=True)
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
    none = "task autoencoding has no probabilities of answers"
    with pytest.raises(ConfigError, match=f"^evaluation.keep: {none}"):
        run(small("evaluation.keep=[probabilities]", "task=autoencoding"), tmp_path / "run")
    with pytest.raises(ConfigError, match=f"^probabilities: {none}"):
        played(small("task=autoencoding"), probabilities=True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[data\]'"):
        run(small("evaluation.keep=interactions"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "settings", [("evaluation.mode=sample",), ("evaluation.noise=true", "channel.noise=confusion,probability=0.5")]
)
def test_rows_of_a_society_have_what_was_drawn_in_the_evaluation(small, settings):
    """Each pair met noise of its own, and each sender drew messages of its own for all that it meets."""
    experiment = small("society.senders=2", "society.receivers=2", "evaluation.batch_size=20", *settings)
    players, world, rows = played(experiment)
    figures = evaluate(players, world, experiment)
    for name in ("loss", "accuracy"):
        by_pair = {}
        for *pair, figure in zip(rows["sender"], rows["receiver"], rows[name], strict=True):
            by_pair.setdefault(tuple(pair), []).append(figure)
        assert np.mean([np.mean(each) for each in by_pair.values()]) == pytest.approx(figures[name], abs=1e-6)
    said = [*zip(rows["sender"], rows["round"], map(tuple, rows["message"]), strict=True)]
    assert len(by_pair) == 4 and len({*said}) == len({each[:2] for each in said}) == 100


IDS = torch.tensor([[1, 2, 3, 0], [2, 2, 0, 0], [3, 0, 0, 0]])


class Rounds:
    """Answers that are known: the first symbol decides between two, and nothing else does."""

    ids, lengths = torch.tensor([[1, 1], [2, 1]]), torch.tensor([2, 2])

    def choices(self, ids):
        certain = torch.stack([ids[:, 0] == 1, ids[:, 0] == 2], dim=1).float()
        return certain[:, None].clamp(min=1e-12).log()


def test_a_symbol_that_decides_has_the_influence_of_a_coin():
    generator = torch.Generator().manual_seed(0)
    assert causal_influence(Rounds(), 0, 2, generator) == pytest.approx(0.6931, abs=1e-4)
    assert causal_influence(Rounds(), 1, 2, generator) == 0


def test_messages_have_no_more_steps_than_they_need():
    """A receiver of a fixed number of places, such as a transformer, has none for more of them."""
    for has_eos, steps in ((True, 4), (False, 3)):
        assert _message(IDS, has_eos, torch.device("cpu")).symbols.shape == (steps, 3)


def test_every_position_and_symbol_has_a_row(whole):
    run = load_run(whole)
    rows = run.intervene("all")
    assert rows[0].intervention == "none"
    assert rows[0].accuracy == pytest.approx(run.evaluate()["valid"]["accuracy"])
    longest = max(map(len, run.speak(torch.cartesian_prod(torch.arange(4), torch.arange(4)).numpy())))
    for name in ("drop", "replace"):
        places = [row.position for row in rows if row.intervention == name and row.position]
        assert places == [*range(1, longest + 1)]
    assert all(0 <= row.accuracy <= 1 and row.num_messages > 0 for row in rows)
    assert all(row.influence >= 0 for row in rows if row.intervention == "replace")
    json.dumps([row.to_json() for row in rows], allow_nan=False)
