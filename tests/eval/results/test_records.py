"""The record table: what is known of a source stands in it, whatever file it is from."""

import json

import pytest

from ecsuite.eval.experiments.correlations import read_table
from ecsuite.eval.results.results import Results


def score(name="topsim", value=0.5, **more):
    return {"name": name, "value": value, "ci95": None, "details": {}, "signature": f"{name}|v:2"} | more


def sweep(folder, *runs):
    """The file of a sweep of runs, each its vocabulary, seed and what differs."""
    folder.mkdir(exist_ok=True)
    content = {
        "format": 1, "name": "study", "metrics": ["topsim"],
        "runs": [
            {"settings": {"channel.vocab_size": size}, "seed": seed, "folder": f"runs/{size}-{seed}",
             "training": {"stopped": "epochs", "measures": {"accuracy": 0.5, "step": 9}}, "scores": [score()]} | more
            for size, seed, more in runs
        ],
    }  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps(content))
    return folder


def test_all_commands_take_the_same_paths(tmp_path, ecsuite):
    folder = sweep(tmp_path / "a", (5, 1, {}), (5, 2, {}), (9, 1, {}), (9, 2, {}))
    for command in ("compare table", "compare", "report", "compare power --metric topsim"):
        name, dashes, options = command.partition(" --")
        words, options = name.split(), f"{dashes}{options}".split()
        code, _, err = ecsuite(*words, str(folder), *options)
        assert code == 0 or "equal scores" in err, (command, err)
        for place in ("nowhere", str(tmp_path)):
            if place == "nowhere":
                code, _, err = ecsuite(*words, place, *options)
                assert code == 2 and err.startswith("nowhere: no such file"), (command, err)


def scored(file, corpus, *scores):
    """A file of the scores of a corpus."""
    about = {"source_path": corpus, "sha256": {corpus: corpus}, "num_messages": 80}
    file.write_text(json.dumps({"corpus": about, "scores": scores}))
    return file


def test_scores_of_one_corpus_in_two_files_are_of_one(tmp_path):
    files = [
        scored(tmp_path / "a.json", "x/a.csv", score(), score("posdis", 0.2)),
        scored(tmp_path / "b.json", "x/a.csv", score(), score("ami", 0.3)),
    ]
    (source,) = Results.read(files).runs()
    assert source.scores == {"topsim": 0.5, "posdis": 0.2, "ami": 0.3}
    other = scored(tmp_path / "c.json", "x/a.csv", score(value=0.7, signature="topsim|corr:pearson|v:2"))
    assert [source.scores["topsim"] for source in Results.read([*files, other]).runs()] == [0.5, 0.7]
    more = [scored(tmp_path / f"{at}.json", f"x/{at}.csv", score(value=at / 9)) for at in range(5)]
    assert len(read_table([*files, *more]).sources) == 6


def run_folder(place, seed, *, name="g", channel=None, **metadata):
    """A run folder with a config, and with what its metadata have of it beside."""
    config = {"name": name, "channel": channel or {"kind": "gumbel"}, "training": {"seed": seed}}
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(json.dumps(config))
    known = {"config": config | metadata, "training": {"step": 3, "stopped": "epochs", "accuracy": seed / 10}}
    (place / "metadata.json").write_text(json.dumps(known | {"sha256": {"corpus.jsonl": place.name}}))
    return place


@pytest.mark.parametrize("section", ["data", "code"])
def test_runs_whose_files_changed_in_between_are_no_seeds_of_one_game(section, tmp_path):
    for seed, checksum in ((1, "a" * 64), (2, "a" * 64), (3, "b" * 64)):
        run_folder(tmp_path / f"{seed}", seed, **{section: {"objects": checksum}})
    table = Results.read([tmp_path]).runs().means()
    assert table.keys == (f"{section}.objects",) and [row.num_runs for row in table.rows] == [2, 1]
