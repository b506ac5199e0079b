"""A collection is scored by jobs that are kept, into one table with names by system."""

import csv
import json
from dataclasses import replace

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.collection import Collections, CollectionStudy, collection_report, table_of
from ecsuite.eval.experiments.corpora import Selection, members_of
from ecsuite.eval.experiments.jobs import Content, is_job, plan_member, score_file
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.reports.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context
from ecsuite.runtime.errors import ConfigError

METRICS = ["elcc", "has"]


def test_corpora_are_named_by_system_and_variant(collection, tmp_path):
    members = members_of(collection)
    assert [member.name for member in members][:4] == [
        "egg-disc/4-attr",
        "egg-disc/8-attr",
        "egg-disc/2-attr",
        "rlupus/9-player.run-3",
    ]
    assert members[3].system == "rlupus"
    assert members[3].metadata() == {
        "variant": {"variant": "9-player.run-3"},
        "system": {"game_type": "rlupus"},
    }
    assert members_of([path.parent for path in collection])[3].name == members[3].name


def scores_of(collection, runner=None):
    members = tuple(members_of(collection))
    study = CollectionStudy(name="small", members=members, metrics=tuple(METRICS), seed=0)
    return Collections(read=read_corpus).measure(study, runner or Runner())


def test_other_corpora_get_names_that_differ(tmp_path):
    for folder in ("a/run", "b/run", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "corpus.jsonl").write_text("[1]\n")
    paths = [tmp_path / folder / "corpus.jsonl" for folder in ("a/run", "b/run", "c")]
    assert [member.name for member in members_of(paths)] == ["a/run", "b/run", "c"]
    with pytest.raises(ConfigError, match=r": given 2 times$"):
        members_of([paths[0], paths[0].parent])


def test_scores_are_those_of_one_corpus_and_are_kept(collection, tmp_path):
    folder, notes = tmp_path / "kept", []
    runner = Runner(folder=folder, note=notes.append)
    scored = scores_of(collection, runner)
    for path, each in zip(collection, scored, strict=True):
        alone = score_corpus(read_corpus(path), METRICS)
        assert [score.to_json() for score in each.card.scores] == [score.to_json() for score in alone.scores]
        assert each.card.corpus == alone.corpus
    times = {file: file.stat().st_mtime_ns for file in folder.rglob("*.json")}
    assert len(times) >= len(collection) * len(METRICS)
    again = scores_of(collection, runner)
    assert [each.to_json() for each in again] == [each.to_json() for each in scored]
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.json")} == times


def test_the_table_has_a_row_for_each_corpus(collection):
    scored = scores_of(collection)
    rows = list(csv.DictReader(table_of(scored).csv().splitlines()))
    assert [row["name"] for row in rows] == [member.name for member in members_of(collection)]
    assert (
        rows[0]["num_messages"] == "20" and rows[0]["Line Count"] == "20" and rows[0]["system"] == "egg-disc"
    )
    data = collection_report(scored).data
    assert data["corpora"][3]["member"]["metadata"]["system"] == {"game_type": "rlupus"}
    assert data["notes"][-1].startswith("7 corpora of 3 systems")
    json.dumps(data)


def test_games_of_a_collection_are_not_ranked_by_mini(collection):
    scored = scores_of(collection)
    assert not any("mini" in line for line in collection_report(scored).notes)
    mini = Score(
        name="xferbench",
        value=5.0,
        about="x",
        signature="xferbench|preset:mini|v:3",
        details={"by_target": {}},
    )
    scored[0] = replace(scored[0], card=replace(scored[0].card, scores=(*scored[0].card.scores, mini)))
    notes = collection_report(scored).data["notes"]
    assert "xferbench: mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)." in notes
    assert notes[-1].startswith("7 corpora")


CORPUS = Corpus(
    [[1, 2, 0], [2, 0]], meanings=[[0, 1], [1, 1]], eos=0, columns={"split": ["train", "held_out"]}
)


@pytest.mark.parametrize(
    "change",
    [
        {"eos": None},
        {"meanings": CORPUS.meanings[::-1]},
        {"columns": {"split": ["train", "train"]}},
        {"symbol_names": ("end", "a", "b")},
        {"attribute_names": ("agent", "patient")},
        {"messages": Corpus([[1, 2, 0], [1, 0]]).messages},
    ],
)
def test_what_a_metric_may_read_is_in_the_key(change):
    assert Content.of(replace(CORPUS, **change)).digest != Content.of(CORPUS).digest
    assert Content.of(replace(CORPUS, metadata={"source_path": "x"})).digest == Content.of(CORPUS).digest


def test_the_key_does_not_depend_on_the_place(collection, tmp_path):
    [member] = members_of(collection[:1])
    copy = tmp_path / "copy" / "corpus.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(collection[0].read_bytes())
    corpus = read_corpus(copy)
    first, second = (
        plan_member(each, corpus, ["has"], seed=0, selection=Selection())["has"]
        for each in (member, members_of([copy])[0])
    )
    assert first == second
    assert first != plan_member(member, corpus, ["has"], seed=1, selection=Selection())["has"]


def test_a_corpus_that_changes_meanwhile_is_not_scored(collection, tmp_path):
    [member] = members_of(collection[:1])
    job = plan_member(member, read_corpus(collection[0]), ["has"], seed=0, selection=Selection())["has"]
    collection[0].write_text("[1]\n[2]\n")
    with pytest.raises(ConfigError, match="changed while it was to be scored"):
        score_file(**job.inputs, context=Context(scratch=tmp_path))


def test_a_tiny_case_of_the_job(collection, tmp_path):
    """A changed value needs another version of the job."""
    [member] = members_of(collection[:1])
    job = plan_member(member, read_corpus(collection[0]), ["elcc"], seed=0, selection=Selection())["elcc"]
    scores = score_file(**job.inputs, context=Context(scratch=tmp_path))
    values = {score["name"]: score["value"] for score in scores}
    assert (score_file.version, values["Token Count"], values["2-gram Entropy"]) == (1, 60, 2.5)


def test_metrics_that_train_or_ask_agents_are_no_jobs():
    assert (
        is_job("topsim") and not is_job("xferbench") and not is_job("rsa") and not is_job("./mine.py:metric")
    )
