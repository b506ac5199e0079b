"""The record table: what is known of a source stands in it, whatever file it is from."""

import json
import shutil
from pathlib import Path

import pytest
from compared_sources import run as made_run

from ecsuite.api import results
from ecsuite.eval.experiments.correlations import read_table
from ecsuite.eval.experiments.pictures import groups_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source, unit_text
from ecsuite.eval.views.comparison import means_table
from ecsuite.eval.views.runs import failed_runs_json
from ecsuite.files.checksums import CHECKSUM, sealed
from ecsuite.runtime.errors import ConfigError


def score(name="topsim", value=0.5, **more):
    return {"name": name, "value": value, "ci95": None, "details": {}, "signature": f"{name}|v:2"} | more


def resealed(metadata):
    return sealed({key: value for key, value in metadata.items() if key != CHECKSUM})


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


def test_how_a_run_ended_is_its_status(tmp_path):
    pruned = {"training": {"stopped": "pruned", "measures": {}}, "scores": []}
    failed = {"training": {}, "scores": [], "failure": "step 3: the loss is not finite; lower the rate"}
    broken = {"training": {}, "scores": [], "failure": "topsim: no memory"}
    folder = sweep(tmp_path / "a", (5, 1, {}), (5, 2, pruned), (9, 1, failed), (9, 2, broken))
    sources = Results.read([folder])
    assert [source.status for source in sources] == ["done", "capped", "diverged", "failed"]
    assert [source.failure for source in sources][2:] == [failed["failure"], broken["failure"]]
    assert [source.is_whole for source in sources] == [True, False, True, True]
    assert sources[0].figures == {"accuracy": 0.5, "topsim": 0.5}


@pytest.mark.parametrize(
    "reason",
    [
        "step 2: the loss is nan, so this update was skipped; try a smaller optimizer.lr",
        "step 2: the loss is -inf, so this update was skipped; try a smaller optimizer.lr",
        "step 2: the loss was not finite in a step since the last evaluation or checkpoint; try",
        "step 2: the update gave weights that are not finite and were not saved; try",
        "step 2: the evaluation is not finite and was not used; try",
    ],
)
def test_every_way_to_diverge_is_that_status(tmp_path, reason):
    [source] = Results.read(
        [sweep(tmp_path / "a", (5, 1, {"training": {}, "scores": [], "failure": reason}))]
    )
    assert source.status == "diverged"


def test_a_copy_of_a_sweep_gives_no_further_seeds(tmp_path):
    places = [sweep(tmp_path / name, (5, 1, {}), (5, 2, {})) for name in ("a", "b")]
    other = sweep(tmp_path / "c", (5, 1, {"training": {"stopped": "epochs", "measures": {"accuracy": 0.25}}}))
    assert [source.seed for source in Results.read([*places, other]).runs()] == [1, 2, 1]


def test_scores_that_a_runs_folder_got_later_are_among_its_records(tmp_path):
    folder = sweep(tmp_path / "a", (5, 1, {}))
    later = folder / "runs" / "5-1"
    later.mkdir(parents=True)
    scores = [score(value=0.9), score("ami", 0.2)]
    (later / "scores.json").write_text(json.dumps({"corpus": {}, "scores": scores}))
    [source] = Results.read([folder])
    values = {record.name: record.value for record in source.records if not record.is_measure}
    assert values == {"topsim": 0.5, "ami": 0.2}  # of one signature, that of the sweep
    assert source.folder == later


def test_parts_of_a_score_are_rows_with_their_unit(tmp_path):
    scores = [
        score("xferbench", 5.0, details={"by_seed": [{"seed": 3, "by_target": {"da": 4.0, "eu": 6.0}}]}),
        score(
            "topsim",
            0.4,
            ci95=[0.3, 0.5],
            details={"by_speaker": {"0": 0.3, "1": None}},
            chance={"level": 0.1},
        ),
        score("language_similarity", 0.7, details={"by_pair": {"0 1": 0.7}}),
    ]
    corpus = {"source_path": "runs/a/corpus.jsonl", "num_messages": 60, "training": {"accuracy": 0.9}}
    [source] = sources_of(tmp_path / "a.json", {"corpus": corpus, "scores": scores})
    rows = [(row["score"], row["unit"], row["value"]) for row in source.rows()]
    assert rows == [
        ("xferbench", "whole", 5.0), ("xferbench", "seed=3, target=da", 4.0), ("xferbench", "seed=3, target=eu", 6.0),
        ("topsim", "whole", 0.4), ("topsim", "speaker=0", 0.3),
        ("language_similarity", "whole", 0.7), ("language_similarity", "pair=0 1", 0.7),
    ]  # fmt: skip
    whole = next(row for row in source.rows() if row["score"] == "topsim")
    assert (whole["low"], whole["high"], whole["chance"], whole["version"]) == (0.3, 0.5, 0.1, "2")
    assert (whole["source"], whole["num_messages"], source.sizes["accuracy"]) == ("a", 60, 0.9)
    part = next(row for row in source.rows() if row["unit"] == "speaker=0")
    assert part["low"] is None and part["chance"] is None


def test_measures_of_other_rounds_have_them_as_unit():
    record = Score(name="accuracy", value=0.3, unit={"rounds": "held out"}, is_measure=True)
    assert record.figure == "held out accuracy" and unit_text(record.unit) == "rounds=held out"
    source = made_run("a", {}, 1, {"accuracy": 0.5}, {})
    assert source.measures == {"accuracy": 0.5}


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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"scores": [score(value="x")]}, "topsim: expected a number, got 'x'"),
        ({"scores": [score(ci95=[1])]}, "ci95 of topsim: expected two numbers, got [1]"),
        ({"corpora": [3]}, "corpora[0]: expected a `corpus` and its `scores`"),
    ],
)
def test_mistakes_name_the_file_and_the_place(tmp_path, data, message):
    (tmp_path / "a.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError) as error:
        Results.read([tmp_path / "a.json"])
    assert str(error.value) == f"{tmp_path / 'a.json'}: {message}"


def test_a_folder_of_both_gives_runs_first(tmp_path):
    folder = sweep(tmp_path / "a", (5, 1, {}))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "scores.json").write_text(json.dumps({"corpus": {"name": "b"}, "scores": [score()]}))
    assert [(source.name, source.is_run) for source in Results.read([tmp_path])] == [
        ("5-1", True),
        ("b", False),
    ]
    assert [source.settings for source in Results.read([folder]).runs()] == [{"channel.vocab_size": 5}]


def test_a_copy_of_a_run_is_no_further_seed(tmp_path, small_files):
    """By whatever path; that with more scores is taken. A run of another corpus stays, whatever its settings say."""
    original = tmp_path / "finished"
    copy = shutil.copytree(original, tmp_path / "copy")
    (copy / "scores.json").unlink()
    (tmp_path / "link").symlink_to(original)
    other = shutil.copytree(original, tmp_path / "other")
    metadata = json.loads((other / "metadata.json").read_text())
    metadata["sha256"]["corpus.jsonl"] = "0" * 64
    (other / "metadata.json").write_text(json.dumps(resealed(metadata)))
    for paths in ([copy, original], [tmp_path / "link", copy]):
        notes = []
        [source] = Results.read(paths, notes.append).runs()
        assert source.scores and Results([source]).means().rows[0].num_runs == 1
        used = next(path for path in paths if path != copy)
        assert notes == [f"{copy}: left out as a copy of {used}, as each run counts once"]
    notes.clear()
    assert [source.name for source in Results.read([original, other, original], notes.append).runs()] == [
        "finished",
        "other",
    ]
    assert not notes  # one that is named twice is no copy
    Results.read([copy, original, tmp_path / "link"], notes.append).runs()
    assert notes == [f"{copy} and 1 more: left out as a copy of {original}, as each run counts once"]


def test_copies_that_are_left_out_are_told(tmp_path, small_files, ecsuite):
    shutil.copytree(tmp_path / "finished", tmp_path / "copy")
    told = "copy: left out as a copy of finished, as each run counts once\n"
    assert ecsuite("compare", "table", "finished", "copy")[::2] == (0, told)
    code, _, err = ecsuite("report", "finished", "copy")
    assert code == 0 and err == f"note: {told}"


def test_copies_that_are_left_out_are_told_in_python(tmp_path, small_files, capsys):
    shutil.copytree(tmp_path / "finished", tmp_path / "copy")
    assert len(results(tmp_path / "finished", tmp_path / "copy")) == 1
    assert capsys.readouterr().err.endswith(f"copy of {tmp_path / 'finished'}, as each run counts once\n")


def test_runs_that_diverged_or_have_not_ended_are_in_no_mean(tmp_path, small_files):
    for name, training in {
        "diverged": {"stopped": "diverged", "step": 7, "accuracy": 0.125},
        "going_on": {},
    }.items():
        folder = shutil.copytree(tmp_path / "finished", tmp_path / "runs" / name)
        (folder / "corpus.jsonl").unlink(), (folder / "scores.json").unlink()
        metadata = json.loads((folder / "metadata.json").read_text())
        (folder / "metadata.json").unlink()
        del metadata["sha256"]  # of the corpus
        if training:
            (folder / "metadata.json").write_text(json.dumps(resealed({**metadata, "training": training})))
    shutil.copytree(tmp_path / "finished", tmp_path / "runs" / "whole")
    runs = Results.read([tmp_path / "runs"]).runs()
    [row] = Results(runs).means(figures=["accuracy"]).rows
    assert (row.num_runs, row.num_failed, row.num_incomplete, row.cells[0].num_values) == (1, 1, 1, 1)
    found = {source.name: (source.status, source.failure, source.is_whole) for source in runs}
    assert found == {
        "diverged": ("diverged", "step 7: the training diverged", True), "going_on": ("capped", None, False),
        "whole": ("done", None, True),
    }  # fmt: skip
    assert failed_runs_json(runs)["failed_runs"][1]["why"] == "unended"
    [group] = groups_of(Results(runs).means(figures=["accuracy"]), runs)
    assert [source.name for source in group] == ["whole"]


def scored(file, corpus, *scores):
    """A file of the scores of a corpus."""
    about = {"source_path": corpus, "sha256": {corpus: corpus}, "num_messages": 80}
    file.write_text(json.dumps({"corpus": about, "scores": scores}))
    return file


def test_tables_have_all_scores_of_a_file_with_options_or_a_users_own(tmp_path):
    pearson, own = score("topsim,correlation=pearson", 0.6), score("mine", 0.1)
    (source,) = Results.read(
        [scored(tmp_path / "a.json", "x/a.csv", score(), pearson, own, score("ami", 0.2))]
    ).runs()
    assert list(source.scores) == ["topsim", "topsim,correlation=pearson", "mine", "ami"]


def test_corpora_of_one_name_are_two(tmp_path):
    """They were one row of two runs, with an interval over seeds."""
    files = [scored(tmp_path / f"{at}.json", f"{at}/x/data.jsonl", score(value=0.1)) for at in "ab"]
    names = ["a/x/data.jsonl", "b/x/data.jsonl"]
    assert [source.settings for source in Results.read(files).runs()] == [{"corpus": name} for name in names]
    assert [source.name for source in Results.read(files).with_distinct_names()] == names
    (alone,) = Results.read(files[:1]).runs()
    assert alone.name == "data"


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


def test_a_score_that_was_asked_for_with_options_is_in_tables():
    """Beside another one, XferBench's had no column, as its options are not in its name."""
    names = ("topsim", "topsim,correlation=pearson", "posdis", "xferbench", "mine")
    source = Source(
        name="run",
        file=Path("scores.json"),
        records=tuple(Score(name=name, value=1.0) for name in names),
        asked=("topsim,correlation=pearson", "xferbench,preset=nano"),
    )
    assert list(source.scores) == ["topsim,correlation=pearson", "xferbench", "mine"]


def run_folder(place, seed, *, name="g", channel=None, **metadata):
    """A run folder with a config, and with what its metadata have of it beside."""
    config = {"name": name, "channel": channel or {"kind": "gumbel"}, "training": {"seed": seed}}
    place.mkdir(parents=True)
    (place / "config.yaml").write_text(json.dumps(config))
    known = {"config": config | metadata, "training": {"step": 3, "stopped": "epochs", "accuracy": seed / 10}}
    (place / "metadata.json").write_text(json.dumps(known | {"sha256": {"corpus.jsonl": place.name}}))
    return place


def test_a_setting_that_not_all_runs_have_tells_those_apart_that_have_it(tmp_path):
    """Options of one kind of channel: their runs are no seeds of one game."""
    for seed in (1, 2):
        for value in (1.0, 2.0):
            run_folder(
                tmp_path / f"g{seed}{value}", seed, channel={"kind": "gumbel", "temperature": value, "x": 1}
            )
        run_folder(tmp_path / f"r{seed}", seed, channel={"kind": "reinforce", "entropy": 0.1})
    table = Results.read([tmp_path]).runs().means()
    assert table.keys == ("channel.kind", "channel.temperature")  # and not those that follow from the kind
    assert [(row.settings, row.num_runs) for row in table.rows] == [
        (("gumbel", 1.0), 2), (("gumbel", 2.0), 2), (("reinforce", None), 2)
    ]  # fmt: skip
    assert "reinforce  -  " in str(means_table(table)) and "reinforce,,2" in means_table(table).csv()


def test_a_setting_of_some_runs_alone_tells_these_from_the_others(tmp_path):
    run_folder(tmp_path / "a", 1)
    run_folder(tmp_path / "b", 2, channel={"kind": "gumbel", "dropout": 0.5})
    assert [row.settings for row in Results.read([tmp_path]).runs().means().rows] == [(0.5,), (None,)]


@pytest.mark.parametrize("section", ["data", "code"])
def test_runs_whose_files_changed_in_between_are_no_seeds_of_one_game(section, tmp_path):
    for seed, checksum in ((1, "a" * 64), (2, "a" * 64), (3, "b" * 64)):
        run_folder(tmp_path / f"{seed}", seed, **{section: {"objects": checksum}})
    table = Results.read([tmp_path]).runs().means()
    assert table.keys == (f"{section}.objects",) and [row.num_runs for row in table.rows] == [2, 1]


def test_runs_of_several_sweeps_are_told_apart_by_all_their_settings(tmp_path):
    """One varies the vocabulary, the other one nothing, of another game."""
    first = sweep(tmp_path / "a", (5, 1, {}), (9, 1, {}))
    for size in (5, 9):
        run_folder(first / "runs" / f"{size}-1", 1, channel={"kind": "gumbel", "vocab_size": size})
    other = sweep(tmp_path / "b", (5, 1, {"settings": {"channel.max_len": 2}}))
    run_folder(other / "runs" / "5-1", 1, name="h", channel={"kind": "gumbel", "vocab_size": 5, "max_len": 2})
    for paths in ([first, other], [other, first], [tmp_path]):
        rows = Results.read(paths).runs().means().rows
        assert sorted((row.settings, row.num_runs) for row in rows) == [
            (("g", 5), 1),
            (("g", 9), 1),
            (("h", 5), 1),
        ]
    (tmp_path / "gone").mkdir()
    for name in ("a", "b"):  # without the folders of their runs
        (tmp_path / name / "sweep.json").rename(tmp_path / "gone" / f"{name}.json")
        (tmp_path / "gone" / name).mkdir()
        (tmp_path / "gone" / f"{name}.json").rename(tmp_path / "gone" / name / "sweep.json")
    assert [row.num_runs for row in Results.read([tmp_path / "gone"]).runs().means().rows] == [1, 1, 1]


def test_a_run_of_two_settings_counts_once_where_these_have_one_row():
    """Files of equal content have one run in a sweep, whatever they are called."""
    one, other = (
        made_run("g-1", {"world.objects": f"{name}.csv", "a": 1}, 1, {"accuracy": 0.5}, {})
        for name in ("x", "y")
    )  # fmt: skip
    assert [row.num_runs for row in Results([one, other]).means().rows] == [1, 1]
    assert [row.num_runs for row in Results([one, other]).means(by=["a"]).rows] == [1]
    with pytest.raises(ConfigError, match="--by: a is named twice"):
        Results([one, other]).means(by=["a", "a"])
