"""Keys of kept scores: they change with the version of the metric, and with that of draws."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ecsuite.eval.experiments import jobs
from ecsuite.eval.experiments.jobs import Label, MetricInput, plan_run
from ecsuite.eval.experiments.study import load_study
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.statistics import resampling


@pytest.mark.parametrize("name", ["csar", "morphemes", "xferbench", "topsim", "transfer"])
def test_a_raised_version_is_another_key(name, monkeypatch):
    before = MetricInput(name=name).job_key()
    monkeypatch.setattr(resampling, "VERSION", resampling.VERSION + 1)
    draws = MetricInput(name=name).job_key()
    [first, *further] = find_metric(name).traits
    raised = replace(first, version=first.version + 1)
    monkeypatch.setitem(vars(find_metric(name)), "traits", (raised, *further))
    monkeypatch.setitem(vars(find_metric(name)), "shared", raised)
    assert len({repr(each) for each in (before, draws, MetricInput(name=name).job_key())}) == 3


def test_draws_of_a_metric_of_one_s_own_are_in_its_key_too(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("def mine(corpus):\n    return 1.0\n")
    before = MetricInput(name=f"{file}:mine").job_key()
    monkeypatch.setattr(resampling, "VERSION", resampling.VERSION + 1)
    assert MetricInput(name=f"{file}:mine").job_key() != before


def test_files_that_options_name_are_in_the_key(tmp_path):
    """With another table of needs, the former scores were shown."""
    file, folder = tmp_path / "need.csv", tmp_path / "texts"
    folder.mkdir()
    (folder / "da.txt").write_text("en to")
    names = [f"efficiency,need={file}", f"xferbench,targets={folder}"]
    file.write_text("meaning,need\n0,1\n")
    before = [MetricInput(name=name).job_key() for name in names]
    assert before == [MetricInput(name=name).job_key() for name in names]
    file.write_text("meaning,need\n0,2\n")
    (folder / "da.txt").write_text("en to tre")
    assert all(
        one != other
        for one, other in zip(before, [MetricInput(name=name).job_key() for name in names], strict=True)
    )
    assert "data" not in MetricInput(name="topsim,correlation=pearson").job_key()


def test_downloaded_texts_are_in_the_key(tmp_path, monkeypatch):
    """With another download, the scores of the former texts were shown."""
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    file = tmp_path / "wikipedia" / "da.jsonl"
    file.parent.mkdir()
    keys = []
    for text in ("en", "to", "en"):
        file.write_text(f'"{text}"\n')
        keys.append(MetricInput(name="xferbench,preset=danish").job_key())
    assert keys[0] == keys[2] != keys[1]
    assert "data" not in MetricInput(name="xferbench").job_key()


def test_models_of_scores_are_trained_where_the_sweep_computes(tmp_path, monkeypatch):
    """Of a sweep on the CPU, XferBench was computed on the GPU where there was one, and in bf16."""
    tree = {"base": "disc_tiny", "vary": {"channel.vocab_size": [5]}, "score": ["xferbench", "topsim"]}
    study = load_study(tree, device="cpu")
    scores = plan_run(study, study.variants[0], 1, tmp_path).scores
    assert {name: job.inputs.get("device") for name, job in scores.items()} == {
        "xferbench": "cpu",
        "topsim": None,
    }
    asked = []
    monkeypatch.setattr(jobs, "unpack", lambda *_: None)
    monkeypatch.setattr(jobs, "read_corpus", lambda _: None)
    monkeypatch.setattr(
        jobs, "score_corpus",
        lambda corpus, names, options, run: asked.append(options.device) or SimpleNamespace(scores=[], corpus={}),
    )  # fmt: skip
    run = SimpleNamespace(arrays=tmp_path)
    jobs.score_messages(
        run=run, name=Label(key=""), metrics=[MetricInput(name="xferbench")], device="cuda", context=None
    )
    assert asked == ["cuda"]
