"""Several sources in every score: what is compared, corrected and left out, also of corpora of different sizes."""

import json
from pathlib import Path

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.comparison import report
from ecsuite.formats import write_corpus


def document(name, **values):
    """A file of scores, each `(value, low, high)` or a reason."""
    scores = [
        {
            "name": key,
            "value": None if isinstance(value, str) else value[0],
            "ci95": None if isinstance(value, str) else list(value[1:]),
            "reason": value if isinstance(value, str) else None,
            "signature": f"{key}|v:1",
        }
        for key, value in values.items()
    ]
    corpus = {"source_path": f"runs/{name}/corpus.jsonl", "sha256": {"corpus.jsonl": name}}
    return Path(f"runs/{name}/scores.json"), {"corpus": corpus, "scores": scores}


def sources(documents):
    return [source for file, data in documents for source in sources_of(file, data)]


def compared(documents, **options):
    return Results(sources(documents)).compare(**options)


FIRST = document("a", topsim=(0.5, 0.4, 0.6), cbm=(0.3, 0.2, 0.4), ami="no meaning occurs twice")
SECOND = document("b", cbm=(0.8, 0.7, 0.9), topsim=(0.52, 0.42, 0.62), ami=(0.1, 0.0, 0.2))


def test_a_score_of_two_among_three_is_compared():
    third = document("c", topsim=(0.9, 0.8, 0.95))
    found = compared([FIRST, SECOND, third])
    assert [len(score.samples) for score in found.scores] == [3, 2]
    assert [len(score.differences) for score in found.scores] == [3, 1]
    shown = report(found)
    assert "3 of 4 differences are significant." in shown.notes
    rows = [[cell.text for cell in row.cells] for row in shown.tables[1].rows]
    assert [row[:3] for row in rows] == [["topsim", "c", "b"], ["topsim", "c", "a"], ["cbm", "b", "a"]]
    assert rows[2][4:] == ["<.001", "higher"] and "cbm" in shown.tables[1].csv()


def run(folder, seed, value, kind="gumbel", **more):
    """A run folder with a score."""
    folder.mkdir()
    config = {"name": "game", "channel": {"kind": kind, **more}, "training": {"seed": seed}}
    (folder / "config.yaml").write_text(json.dumps(config))
    (folder / "metadata.json").write_text(json.dumps({"config": config}))
    _, data = document(folder.name, cbm=(value, value - 0.1, value + 0.1))
    (folder / "scores.json").write_text(json.dumps(data))
    return folder


def test_a_mean_over_seeds_has_the_name_of_its_settings_and_not_of_the_folder_of_one_seed(tmp_path):
    runs = [
        run(tmp_path / f"{kind}{seed}", seed, 0.1 * seed, kind, **dict.fromkeys("abcd", value))
        for value, kind in ((1, "soft"), (2, "gumbel"))
        for seed in (1, 2)
    ]
    found = Results.read(runs).compare()
    assert found.sources == ("kind=gumbel", "kind=soft")  # the others follow from it
    assert Results.read(runs[1:3]).compare().sources == ("kind=gumbel", "kind=soft")


def test_corpora_that_mini_reads_unequally_often_are_not_ranked():
    found = [document("a", xferbench=(5.0, 4.9, 5.1)), document("b", xferbench=(5.2, 5.1, 5.3))]
    for (_, data), passes in zip(found, ("2.27", "1"), strict=True):
        data["scores"][0]["details"] = {"by_target": {"one": 5.0, "two": 5.1}}
        data["scores"][0]["signature"] = f"xferbench|preset:mini|passes:{passes}|seeds:0|v:4"
    shown = report(compared(found))
    [line] = [line for line in shown.notes if "passes" in line]
    assert line.startswith("xferbench: passes per epoch differ: a 2.27, b 1; compare corpora with equal numbers")
    assert shown.tables[0].to_frame()["conclusion"].tolist() == ["unknown"]


def test_a_run_without_scores_has_the_name_that_it_has_with_scores(ecsuite, tmp_path):
    for folder in (run(tmp_path / "a", 1, 0.2), run(tmp_path / "b", 1, 0.9, "soft")):
        config = (folder / "config.yaml").read_text()
        metadata = {"config": json.loads(config)}
        write_corpus(Corpus([[1, 2], [2, 1]] * 3, meanings=[[0, 1], [1, 0]] * 3, metadata=metadata), folder)
    kept = (tmp_path / "a" / "scores.json").read_text()
    (tmp_path / "a" / "scores.json").write_text(kept.replace("cbm", "topsim"))
    (tmp_path / "b" / "scores.json").unlink()
    names = [json.loads(ecsuite("compare", "a", "b", "--json")[1])["sources"] for _ in range(2)]
    assert names[0] == names[1] == ["kind=gumbel", "kind=soft"]


def test_a_corpus_and_its_file_of_scores_are_one_source(ecsuite, tmp_path):
    write_corpus(Corpus([[1, 2], [3, 4], [1, 4], [3, 2]], meanings=[[0, 0], [1, 1], [0, 1], [1, 0]]), tmp_path / "one")
    assert ecsuite("score", "one", "--metrics", "topsim", "--out", "file.json")[0] == 0
    for paths in (("one", "file.json"), ("file.json", "one"), ("one/scores.json", "one", "file.json")):
        code, out, _ = ecsuite("compare", *paths, "--metric", "topsim")
        assert code == 0 and "One source only: no comparison." in out


def test_a_repeated_option_is_refused(ecsuite):
    lines = {
        "compare a b --metric topsim --metric cbm": "--metric is given 2 times: expected once, a list with commas\n",
        "compare table a --by x --by y": "--by is given 2 times: expected once",
        "score a --seed 1 --seed 2": "--seed is given 2 times: expected once\n",
    }
    for line, message in lines.items():
        code, out, err = ecsuite(*line.split())
        assert (code, out) == (2, "") and err.startswith(message)


SIZED = ["ncnpmi", "residual_entropy", "ami", "posdis", "conflict_count"]


def grammar(num_messages, seed=0, noise=0.2, num_values=(8, 8)):
    """Messages with a word for each attribute, some of which are drawn at random."""
    rng = np.random.default_rng(seed)
    meanings = np.stack([rng.integers(values, size=num_messages) for values in num_values], axis=1)
    is_noise = rng.random(meanings.shape) < noise
    words = np.where(is_noise, rng.integers(num_values[0], size=meanings.shape), meanings)
    return ec.Corpus((words + np.array([0, num_values[0]])).tolist(), meanings=meanings.tolist())


def scored(folder, corpus, metrics=SIZED):
    ec.write_corpus(corpus, folder)
    card = ec.score(ec.read_corpus(folder), metrics)
    (folder / "scores.json").write_text(json.dumps(card.to_json()))
    return folder


def test_a_corpus_that_changed_is_not_drawn_from(tmp_path):
    paths = [scored(tmp_path / str(size), grammar(size), ["posdis"]) for size in (50, 100)]
    ec.write_corpus(grammar(100, seed=9), paths[1])
    [score] = Results.read(paths).compare(["posdis"]).scores
    assert score.reason.endswith("has changed since it was scored")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("sizes")
    return {
        "small": scored(place / "small", grammar(200)),
        "large": scored(place / "large", grammar(2000, seed=1)),
        "noisy": scored(place / "noisy", grammar(2000, seed=2, noise=0.8)),
    }


@pytest.mark.slow
def test_one_grammar_in_two_sizes_is_inside_the_noise(folders):
    found = Results.read([folders["small"], folders["large"]]).compare(SIZED)
    for score in found.scores:
        [difference] = score.differences
        assert difference.conclusion != "higher" and difference.conclusion != "lower", score.name
        assert score.size == 200, score.name


@pytest.mark.slow
def test_another_grammar_is_told_apart_in_another_size(folders):
    found = Results.read([folders["small"], folders["noisy"]]).compare(["posdis", "residual_entropy"])
    assert [score.differences[0].is_clear for score in found.scores] == [True, True]
