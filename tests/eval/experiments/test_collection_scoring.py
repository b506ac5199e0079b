"""A collection is scored by jobs that are kept, into one table with names by system."""

import csv
import json
import os
from dataclasses import replace

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments import corpora as corpora_module
from ecsuite.eval.experiments.collection import (
    Collections,
    CollectionStudy,
    collection_report,
    is_job,
    table_of,
)
from ecsuite.eval.experiments.corpora import CorpusContent, members_of
from ecsuite.eval.experiments.jobs import score_messages
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.formats.reading import read_as
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
    assert len(times) == len(collection)
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
    assert CorpusContent.of(replace(CORPUS, **change)).digest != CorpusContent.of(CORPUS).digest
    assert (
        CorpusContent.of(replace(CORPUS, metadata={"source_path": "x"})).digest
        == CorpusContent.of(CORPUS).digest
    )


def job_of(member, metric, seed=0):
    study = CollectionStudy(name="small", members=(member,), metrics=(metric,), seed=seed)
    [job] = Collections(read=read_corpus).plan(study)
    return job


def test_the_key_does_not_depend_on_the_place(collection, tmp_path):
    [member] = members_of(collection[:1])
    copy = tmp_path / "copy" / "corpus.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(collection[0].read_bytes())
    first, second = (job_of(each, "has") for each in (member, members_of([copy])[0]))
    assert first == second
    assert first != job_of(member, "has", seed=1)


def test_a_corpus_that_changes_meanwhile_is_not_scored(collection, tmp_path):
    [member] = members_of(collection[:1])
    job = job_of(member, "has")
    collection[0].write_text("[1]\n[2]\n")
    with pytest.raises(ConfigError, match="changed during scoring"):
        score_messages(**job.inputs, context=Context(scratch=tmp_path))


def test_a_tiny_case_of_the_job(collection, tmp_path):
    """A changed value needs another version of the job."""
    [member] = members_of(collection[:1])
    job = job_of(member, "elcc")
    scores = score_messages(**job.inputs, context=Context(scratch=tmp_path))["scores"]
    values = {score["name"]: score["value"] for score in scores}
    assert (score_messages.version, values["Token Count"], values["2-gram Entropy"]) == (3, 60, 2.5)


def test_one_job_scores_all_metrics_of_a_corpus_and_reads_it_once(collection, tmp_path, monkeypatch):
    study = CollectionStudy(
        name="small", members=tuple(members_of(collection[:2])), metrics=("elcc", "has", "zla"), seed=0
    )
    reads = []
    read = lambda path: reads.append(path) or read_corpus(path)  # noqa: E731
    benchmark = Collections(read=read, kept=tmp_path / "kept")
    jobs = benchmark.plan(study)
    assert [[metric.name for metric in job.inputs["metrics"]] for job in jobs] == [["elcc", "has", "zla"]] * 2
    reads.clear()
    in_jobs = []
    monkeypatch.setattr(corpora_module, "read_as", lambda *given: in_jobs.append(given) or read_as(*given))
    first = benchmark.measure(study, Runner(folder=tmp_path / "kept"))
    assert len(reads) == len(in_jobs) == 2
    monkeypatch.setattr(corpora_module, "read_as", None)
    again = Collections(read=None, kept=tmp_path / "kept").measure(study, Runner(folder=tmp_path / "kept"))
    assert [each.to_json() for each in again] == [each.to_json() for each in first]


@pytest.mark.parametrize("change", ["content", "metadata", "touched"])
def test_a_corpus_whose_files_changed_is_read_again(collection, tmp_path, change):
    study = CollectionStudy(
        name="small", members=tuple(members_of(collection[:1])), metrics=("elcc",), seed=0
    )
    Collections(read=read_corpus, kept=tmp_path / "kept").measure(study, Runner(folder=tmp_path / "kept"))
    if change == "content":
        collection[0].write_text(collection[0].read_text() + "[1, 2, 0]\n")
    elif change == "metadata":
        (collection[0].parent / "metadata.json").write_text('{"variant": "another"}')
    else:
        os.utime(collection[0], ns=(1, 1))
    reads = []
    read = lambda path: reads.append(path) or read_corpus(path)  # noqa: E731
    [scored] = Collections(read=read, kept=tmp_path / "kept").measure(study, Runner(folder=tmp_path / "kept"))
    assert reads == collection[:1]
    assert scored.card["Line Count"].value == (21 if change == "content" else 20)


def test_metrics_that_train_or_ask_agents_are_no_jobs():
    assert (
        is_job("topsim") and not is_job("xferbench") and not is_job("rsa") and not is_job("./mine.py:metric")
    )
