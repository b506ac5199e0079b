"""The record table: what is known of a source stands in it, whatever file it is from."""

import json
import shutil

import pytest

from compared_sources import run as made_run
from ecsuite.eval.experiments.correlations import read_table
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.runs import failed_runs_json
from ecsuite.files.checksums import CHECKSUM, sealed


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
        code, _, err = ecsuite(*words, "nowhere", *options)
        assert code == 2 and err.startswith("nowhere: no such file"), (command, err)


def test_how_a_run_ended_is_its_status(tmp_path):
    ends = {
        "capped": {"stopped": "pruned", "measures": {}},
        "failed": "topsim: no memory",
        "diverged": "step 3: the loss is not finite; lower the rate",
    }
    nan = [
        "step 2: the loss is nan, so this update was skipped; try a smaller optimizer.lr",
        "step 2: the loss was not finite in a step since the last evaluation or checkpoint; try",
        "step 2: the update gave weights that are not finite and were not saved; try",
        "step 2: the evaluation is not finite and was not used; try",
    ]
    runs = [(5, 0, {})] + [
        (9, seed, {"scores": []} | ({"training": {}, "failure": end} if isinstance(end, str) else {"training": end}))
        for seed, end in enumerate([*ends.values(), *nan])
    ]  # fmt: skip
    sources = Results.read([sweep(tmp_path / "a", *runs)])
    assert [source.status for source in sources] == ["done", *ends, *["diverged"] * 4]
    assert [source.is_whole for source in sources] == [True, False, *[True] * 6]
    assert sources[0].figures == {"accuracy": 0.5, "topsim": 0.5} and sources[2].failure == ends["failed"]


def test_copies_of_runs_are_no_further_seeds(tmp_path, small_files, ecsuite):
    """By whatever path; that with more scores is taken. A run of another corpus stays, whatever its settings say."""
    places = [sweep(tmp_path / name, (5, 1, {}), (5, 2, {})) for name in ("a", "b")]
    other = sweep(tmp_path / "c", (5, 1, {"training": {"stopped": "epochs", "measures": {"accuracy": 0.25}}}))
    assert [source.seed for source in Results.read([*places, other]).runs()] == [1, 2, 1]
    original, link = tmp_path / "finished", tmp_path / "link"
    copy, other = (shutil.copytree(original, tmp_path / name) for name in ("copy", "other"))
    (copy / "scores.json").unlink()
    link.symlink_to(original)
    metadata = json.loads((other / "metadata.json").read_text())
    del metadata[CHECKSUM]
    metadata["sha256"]["corpus.jsonl"] = "0" * 64
    (other / "metadata.json").write_text(json.dumps(sealed(metadata)))
    for paths, used in (([copy, original], original), ([link, copy], link)):
        notes = []
        [source] = Results.read(paths, notes.append).runs()
        assert source.scores and Results([source]).means().rows[0].num_runs == 1
        assert notes == [f"{copy}: left out as a copy of {used}, as each run counts once"]
    notes.clear()
    named_twice = Results.read([original, other, original], notes.append).runs()
    assert [source.name for source in named_twice] == ["finished", "other"] and not notes
    told = "copy: left out as a copy of finished, as each run counts once\n"
    assert ecsuite("compare", "table", "finished", "copy")[::2] == (0, told)
    assert ecsuite("report", "finished", "copy")[::2] == (0, f"note: {told}")


def test_runs_that_diverged_or_have_not_ended_are_in_no_mean(tmp_path, small_files):
    diverged = {"stopped": "diverged", "step": 7, "accuracy": 0.125}
    for name, training in {"diverged": diverged, "going_on": {}, "whole": None}.items():
        folder = shutil.copytree(tmp_path / "finished", tmp_path / "runs" / name)
        if training is None:
            continue
        metadata = json.loads((folder / "metadata.json").read_text())
        for file in ("corpus.jsonl", "scores.json", "metadata.json"):
            (folder / file).unlink()
        for key in ("sha256", CHECKSUM):
            del metadata[key]
        if training:
            (folder / "metadata.json").write_text(json.dumps(sealed(metadata | {"training": training})))
    runs = Results.read([tmp_path / "runs"]).runs()
    [row] = Results(runs).means(figures=["accuracy"]).rows
    assert (row.num_runs, row.num_failed, row.num_incomplete, row.cells[0].num_values) == (1, 1, 1, 1)
    found = {source.name: (source.status, source.failure, source.is_whole) for source in runs}
    assert found == {
        "diverged": ("diverged", "step 7: the training diverged", True), "going_on": ("capped", None, False),
        "whole": ("done", None, True),
    }  # fmt: skip
    assert failed_runs_json(runs)["failed_runs"][1]["why"] == "unended"


def scored(file, corpus, *scores):
    """A file of the scores of a corpus."""
    about = {"source_path": corpus, "sha256": {corpus: corpus}, "num_messages": 80}
    file.write_text(json.dumps({"corpus": about, "scores": scores}))
    return file


def test_which_sources_are_one(tmp_path):
    files = [
        scored(tmp_path / "a.json", "x/a.csv", score(), score("posdis", 0.2)),
        scored(tmp_path / "b.json", "x/a.csv", score(), score("ami", 0.3)),
    ]
    (source,) = Results.read(files).runs()
    assert source.scores == {"topsim": 0.5, "posdis": 0.2, "ami": 0.3}
    other = scored(tmp_path / "c.json", "x/a.csv", score(value=0.7, signature="topsim|correlation:pearson|v:2"))
    assert [source.scores["topsim"] for source in Results.read([*files, other]).runs()] == [0.5, 0.7]
    more = [scored(tmp_path / f"{at}.json", f"x/{at}.csv", score(value=at / 9)) for at in range(5)]
    assert len(read_table([*files, *more]).sources) == 6
    files = [scored(tmp_path / f"{at}.json", f"{at}/x/data.jsonl", score(value=0.1)) for at in "ab"]
    names = [source.name for source in Results.read(files).with_distinct_names()]
    assert names == ["a/x/data.jsonl", "b/x/data.jsonl"]
    # Files of equal content have one run in a sweep, whatever they are called.
    both = Results(made_run("g-1", {"world.objects": f"{name}.csv", "a": 1}, 1, {"accuracy": 0.5}, {}) for name in "xy")
    assert [row.num_runs for row in both.means().rows] == [1, 1]
    assert [row.num_runs for row in both.means(by=["a"]).rows] == [1]


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
