import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.runtime.errors import ConfigError, CorpusError

QUICK = {"training.num_examples": 1024, "training.num_epochs": 2, "optimizer.lr": 0.01, "evaluation.corpus_size": 16}
QUIET = {"progress": lambda *_: None, "note": lambda _: None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("api")


def trained(folder, **changes):
    return ec.train("disc_tiny", out=folder, overrides=QUICK | changes, device="cpu", **QUIET)


@pytest.fixture(scope="module")
def run(folder):
    return trained(folder / "run")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("number", "end"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_no_script_goes_on_with_a_training_that_was_stopped(tmp_path, number, end):
    def progress(label, done, total):
        if done == 1:
            signal.raise_signal(number)

    with pytest.raises(end):
        ec.train("disc_tiny", out=tmp_path, overrides=QUICK, progress=progress, note=lambda _: None)
    assert (tmp_path / "corpus.jsonl").exists() == (end is KeyboardInterrupt)
    run = ec.train("disc_tiny", out=tmp_path, overrides=QUICK, resume=True, note=lambda _: None)
    assert len(run.corpus.messages) == 16


def test_every_public_name_is_there():
    assert set(ec.__all__) <= set(dir(ec)) and all(getattr(ec, name) is not None for name in ec.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ec.nothing  # noqa: B018


def test_a_receiver_that_reconstructs(folder):
    run = trained(folder / "reconstruction", task="reconstruction")
    meanings = run.corpus.meanings
    right = (run.understand(run.speak(meanings)) == meanings).all(1).mean()
    assert right == pytest.approx(run.measures["accuracy"], abs=0.2)
    for candidates in ([[0, 9]], [[0, -1]], [[0]], [[0.5, 1.7]]):
        with pytest.raises(ConfigError, match=r"expected rows of 2 attribute values below \(4, 4\)"):
            run.scores([[1]], candidates)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.speak([[9, 9]]), r"meanings: expected rows of 2 attribute values below \(4, 4\)"),
        (lambda run: run.speak([1, 2]), "meanings: expected rows of 2"),
        (lambda run: run.understand([[77]]), r"message \[77\]: expected up to 3 symbols from 1 to 5"),
        (lambda run: run.understand([]), "expected at least one message"),
        (lambda run: run.understand([[1.0]]), r"message 0: expected a list of integers from 0, got \[1.0\]"),
        (lambda run: run.understand(None), "expected a list of integers for each message, got None"),
        (lambda run: run.understand([[1]], [[0, 1], [2]]), "meanings: expected rows of equal length"),
        (lambda run: run.understand([[1]], np.zeros((0, 2), int)), "candidates: expected at least one"),
        (lambda run: run.evaluate(["a"]), "changes: expected values by key, such as .*; got \\['a'\\]"),
        (lambda run: run.intervene(["permut"]), "unknown intervention 'permut'; did you mean 'permute'"),
        (lambda run: run.speak(3), "meanings: expected rows, got 3"),
        (lambda run: ec.load_run(run.folder.parent), "not a run folder: it has no config.yaml"),
        (lambda run: ec.list_parts("chanel"), "unknown kind 'chanel'; did you mean 'channels'"),
        (lambda run: ec.list_parts(3), "kind: expected a kind of parts, such as channels; got 3"),
        (lambda run: ec.train("disc_tiny", overrides={"seed": 1}), "^overrides: unknown key 'seed'; did you mean 'tr"),
        (lambda run: ec.train("disc_tiny", seed=-1), "^seed: training.seed: expected int >= 0, got -1"),
        (lambda run: ec.train(run.experiment, seed="1"), "^seed: training.seed: expected int, got '1'"),
        (lambda run: ec.train(run.experiment, overrides={"a": 1}), "^overrides: unknown key 'a'"),
        (lambda run: ec.score(run, "topsimm"), "unknown metric 'topsimm'; did you mean 'topsim'"),
        (lambda run: ec.train("disk_tiny"), "unknown game 'disk_tiny'; did you mean 'disc_tiny'"),
        (lambda run: ec.train("disc_tiny", overrides={"channel.vocab": 3}), "unknown key 'channel.vocab'"),
        (lambda run: ec.train(3), "game: expected a name, a YAML file or an Experiment; got 3"),
        (lambda run: ec.train("disc_tiny", out=3), "out: expected a folder; got 3"),
        (lambda run: ec.train("disc_tiny", overrides=["a"]), "overrides: expected values by key"),
        (lambda run: ec.train("disc_tiny", progress=3), "progress: expected a function, or None; got 3"),
        (lambda run: ec.train("disc_tiny", note="no"), "note: expected a function, or None; got 'no'"),
        (lambda run: ec.train("disc_tiny", resume="no"), "resume: expected True or False; got 'no'"),
        (lambda run: ec.train("disc_tiny", log=b"csv"), "log: expected names of loggers, such as csv; got 99"),
        (lambda run: ec.load_run(run.folder, trust_code="no"), "trust_code: expected True or False; got 'no'"),
        (lambda run: ec.icy("lstm", progress=3), "progress: expected a function, or None; got 3"),
        (lambda run: ec.sweep({"base": "disc_tiny"}, note=3), "note: expected a function, or None; got 3"),
        (lambda run: ec.verify(run, trained=2), "trained: expected True or False; got 2"),
        (lambda run: ec.methods(run, hardware=0), "hardware: expected True or False; got 0"),
        (lambda run: ec.push(run, "hf:a/b", license="mit", plan="yes"), "plan: expected True or False; got 'yes'"),
        (lambda run: ec.pull("hf:a/b", progress=3), "progress: expected a function, or None; got 3"),
        (lambda run: ec.load_run(3), "folder: expected a run folder; got 3"),
        (lambda run: ec.score([[1]]), r"corpus: expected a Corpus, .* ec.Corpus\(\[\[1, 2\]\]\); got \[\[1\]\]"),
        (lambda run: ec.score(run, 3), "metrics: expected a name or a list of names, got 3"),
        (lambda run: ec.score(run, "topsim", sed=3), "unknown option of score 'sed'; did you mean 'seed'"),
        (lambda run: ec.score(run, "topsim", seed=1.5), "^seed: expected an integer from 0, got 1.5$"),
        (lambda run: ec.compare(run, metric="topsim", seed=-1), "^seed: expected an integer from 0, got -1$"),
        (lambda run: ec.results(3), "sources: expected runs or paths; got 3"),
        (lambda run: ec.report(run, out=run), "out: expected the file of the page; runs and folders come first"),
        (lambda run: ec.sweep(3), "study: expected a YAML file or its content; got 3"),
        (lambda run: ec.compare(3), "sources: expected runs, corpora, scorecards or paths; got 3"),
        (lambda run: ec.compare(run, ec.Corpus([[1]]), metric="topsim"), "^source 2: the score topsim is undefined: "),
        (lambda run: ec.compare(run, metric=3), "metric: expected the name of a metric, or a list of names; got 3"),
        (lambda run: ec.compare(metric="topsim"), "no topsim score: expected at least one"),
        (lambda run: ec.compare(), "no score occurs in two of the sources"),
        (lambda run: ec.icy(), "models: expected at least one"),
        (lambda run: ec.icy(3), "models: expected a name or a list of names, got 3"),
        (lambda run: ec.icy("lstn"), "unknown sender 'lstn'; did you mean 'lstm'"),
        (lambda run: ec.icy("fc2l", seeds=1.5), "seeds: expected a number of seeds, or a list of them, got 1.5"),
        (lambda run: ec.icy("fc2l", workers=0), "workers: expected a number of processes from 1, got 0"),
        (lambda run: ec.icy("fc2l", cache=3), "cache: expected a folder; got 3"),
        (lambda run: ec.report(), "sources: expected at least one run or path"),
        (lambda run: ec.methods(), "sources: expected at least one run or path"),
        (lambda run: ec.icy("fc2l", seeds=0), "seeds: expected 1 to 10,000, got 0"),
        (lambda run: ec.icy("fc2l", num_atributes=3), "unknown key 'num_atributes'; did you mean"),
        (lambda run: ec.icy("fc2l", seeds=True), "seeds: expected a number of seeds, .* got True"),
        (lambda run: ec.score(run, "topsim", runner=3), "runner: expected a Runner, got 3"),
        (lambda run: ec.score(run, "topsim", device="gpu"), "^unknown device 'gpu'; did you mean 'cpu'"),
        (lambda run: ec.compare(run, device=3), "^device: expected one of auto, cpu, cuda, mps, got 3"),
        (lambda run: ec.verify(run, device="gpu"), "^unknown device 'gpu'; did you mean 'cpu'"),
        (lambda run: ec.verify(run, targets="no"), "^targets: expected a folder of target texts, got no$"),
        (lambda run: ec.score(run, {"topsim": 1}), "^metrics: expected a name or a list of names, got {"),
        (lambda run: ec.methods(run, metrics="x"), "^unknown score 'x'; choices: none$"),
        (lambda run: ec.icy("fc2l", seeds=[]), r"^seeds: expected a number of seeds, .* got \[\]"),
        (lambda run: ec.icy("fc2l", seeds=b"x"), "^seeds: expected a number of seeds, .* got b'x'"),
        (lambda run: ec.icy("fc2l", max_steps=3), "^max_steps: not read by protocol exact; read by budget"),
        (lambda run: ec.score(run, "topsim", run=run), "unknown option of score 'run'"),
        (lambda run: ec.train("disc_tiny", log=3), "log: expected names of loggers, such as csv; got 3"),
        (lambda run: ec.sweep({}, on=3), "on: expected here, local, slurm, ray or workers; got 3"),
        (lambda run: ec.report(run, base=3), "base: expected settings such as channel.kind=gumbel"),
        (lambda run: ec.verify(run, metrics="topsim"), "metrics: expected your own metric, ./mine.py:my_metric, got"),
        (lambda run: ec.verify(run, targets=3), "targets: expected a folder; got 3"),
        (lambda run: ec.write_corpus(run, "a"), "write_corpus: expected a Corpus and the path of a folder, got Run"),
        (lambda run: ec.push(run, "hf:a/b", license=3, plan=True), "license: expected a licence such as"),
        (lambda run: run.intervene(3), "names: expected interventions, or all, got 3"),
        (lambda run: run.intervene([]), "expected interventions: permute, drop, replace, noise, or all"),
        (lambda run: run.evaluate(device=3), "device: expected one of auto, cpu, cuda, mps, got 3"),
        (lambda run: run.evaluate(receiver_from=3), "receiver_from: expected a run or its folder, got 3"),
        (lambda run: ec.icy("fc2l", study=3), "study: expected the name of a study or a YAML file; got 3"),
    ],
)  # fmt: skip
def test_mistakes(run, call, message):
    with pytest.raises((ConfigError, CorpusError), match=message):
        call(run)


def test_what_a_notebook_shows(run):
    assert repr(run).splitlines()[0] == f"Run {run.folder}: disc_tiny" and "accuracy" in repr(run)
    assert run._repr_html_().startswith("<pre style") and f">{run!r}</pre>" in run._repr_html_()
    assert ">Corpus: 16 messages" in run.corpus._repr_html_()


@pytest.mark.slow
def test_corpora_in_python_are_compared_at_one_size():
    meanings = np.random.default_rng(0).integers(0, 3, (90, 2))
    corpus = ec.Corpus(np.add(meanings, [1, 4]).tolist(), meanings=meanings, columns={"half": np.arange(90) % 3 // 2})
    parts = [corpus.where("half", half) for half in (0, 1)]  # of 60 and of 30 messages
    for sources in (
        parts,
        [{"first": parts[0], "second": parts[1]}],
        [ec.score(parts[1], ["posdis", "ami"]), parts[0]],
    ):
        assert "at 30 messages, the mean of 50 subsamples" in str(ec.compare(*sources, metric="posdis"))
    assert "not comparable" not in str(ec.compare(*parts))
    with pytest.raises(ConfigError, match="unknown option of compare 'metrics'; did you mean 'metric'"):
        ec.compare(*parts, metrics=["posdis"])


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"world.held_out": 0.25}, "4 of the 4 objects held out here were in training"),
        ({"world.held_out_value": "attribute0=1"}, "4 of the 4 objects held out here were in training"),
        ({"world.held_out": 0.25, "world.candidates": "split"}, "the combination is not tested"),
        ({"world.shared_values": 1}, None),
    ],
)
def test_what_evaluations_cannot_show_is_said_once(run, changes, line):
    notes = []
    noting = replace(run, note=notes.append)
    noting.evaluate(changes)
    noting.chance(changes)
    lines = [note for note in notes if "held out" in note]
    assert len(lines) == len(set(lines))
    assert not lines if line is None else any(line in each for each in lines)


def test_a_scorecard_is_a_mapping_a_table_and_a_frame(run):
    card = ec.score(run, ["topsim", "posdis"])
    assert list(card) == ["topsim", "posdis"] and len(card) == 2 and "cbm" not in card
    assert card["topsim"].value == ec.score(run.corpus, "topsim", seed=0)["topsim"].value
    assert "topsim" in str(card) and repr(card) == str(card) and card._repr_html_().startswith("<pre")
    with pytest.raises(KeyError):
        card["cbm"]
    found = ec.compare({"first": card, "second": ec.score(run.corpus, ["topsim", "posdis"], seed=1)})
    assert [score["name"] for score in found["scores"]] == ["topsim", "posdis"]
    pandas = pytest.importorskip("pandas")
    for frame in (card.to_frame(), found.to_frame()):
        assert isinstance(frame, pandas.DataFrame) and list(frame["name"]) == ["topsim", "posdis"]


def test_runs_corpora_and_scorecards_are_compared(run):
    shuffled = ec.Corpus(run.corpus.messages, meanings=run.corpus.meanings[::-1].copy())
    found = ec.compare(run, shuffled, ec.score(run.corpus, "topsim"), str(run.folder), metric="topsim")
    assert found["metric"] == "topsim" and "95 % CI" in str(found)
    names = [source["name"] for source in found["sources"]]
    assert len(names) == len(set(names)) and "disc_tiny" in names
    assert not (run.folder / "scores.json").exists()


SMALL_STUDY = {"grammars": ["perm"], "num_attributes": 2, "num_values": 3, "seeds": 1}


def test_a_study_in_a_thread_is_a_mapping_and_a_table(folder):
    notes = []
    call = partial(ec.icy, "fc2l", **SMALL_STUDY, cache=folder / "icy")
    with ThreadPoolExecutor() as pool:
        study = pool.submit(call, note=lambda _: None).result()
    assert list(study) == ["study", "rows"] and len(study) == 2
    (cell,) = study["rows"][0]["cells"]
    assert cell["grammar"] == "perm" and cell["runs"][0]["reached"]
    assert "PERM" in str(study) and repr(study) == str(study) and study._repr_html_().count("PERM") == 1
    assert call(note=notes.append)["rows"] == study["rows"] and not notes


def test_runs_stand_for_their_folders(run, tmp_path):
    assert list(ec.results(run).to_frame()["accuracy"]) == [run.measures["accuracy"]]
    assert ec.report(run, out=tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    others = [run.evaluate(receiver_from=each) for each in (run, run.folder)]
    assert others[0] == others[1]
    assert run.evaluate(assignments="task.num_distractors=1") == run.evaluate({"task.num_distractors": 1})
