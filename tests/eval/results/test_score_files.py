"""Results are read from both kinds of files, seeds of a source are merged, and errors name the file."""

import json
from pathlib import Path

import numpy as np
import pytest
from compared_sources import source

from ecsuite.eval.results.files import Messages, plain
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import UNSIGNED, Sample, as_matrix, samples_of
from ecsuite.runtime.errors import ConfigError

SIGNATURE = "xferbench|preset:mini|targets:da+eu#1|seed:{}|precision:fp32|v:1"
WITHOUT_SEED = "xferbench|preset:mini|targets:da+eu#1|precision:fp32|v:1"


ROW = {"seed": 0, "by_target": {"da": 1.0}}


def gather(paths, metric="xferbench"):
    return samples_of(Results.read(paths), metric)


def scorecard(by_target, seed=0, source="runs/words/corpus.jsonl", sha="1", **more):
    score = {
        "name": "xferbench",
        "value": 4.0,
        "details": {"by_target": by_target},
        "signature": SIGNATURE.format(seed),
    }
    other = {"name": "elcc", "value": 3, "details": {}, "signature": "elcc|v:1"}
    corpus = {"source_path": source, "sha256": {"corpus.jsonl": sha}}
    return {"corpus": corpus, "scores": [other, score | more]}


def write(path: Path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_scorecard(tmp_path):
    [result] = gather([write(tmp_path / "any.json", scorecard({"da": 4.0, "eu": 5}, seed=3))])
    assert result == Sample(
        name="words",
        by_target=({"da": 4.0, "eu": 5.0},),
        seeds=(3,),
        signature=WITHOUT_SEED,
        source="runs/words/corpus.jsonl",
        fingerprint='{"corpus.jsonl": "1"}',
        sizes=(None,),
        corpora=(Messages(Path("runs/words/corpus.jsonl")),),
    )
    assert result.score == 4.5


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"source": "runs/words/corpus.jsonl"}, "words"),
        ({"source": "texts/fr.txt.gz"}, "fr"),
        ({"source": "runs/words"}, "words"),
        ({"source": "corpus.jsonl"}, "corpus"),
        ({"name": "no_pretrain"}, "no_pretrain"),
    ],
)
def test_names_are_those_of_the_source_or_of_its_place(tmp_path, data, name):
    named = {"name": data["name"]} if "name" in data else {}
    card = scorecard({"da": 4.0}, source=data.get("source", "runs/words/corpus.jsonl"))
    [result] = gather([write(tmp_path / "any.json", card | named)])
    assert result.name == name and result.is_baseline == (name == "no_pretrain")


def test_results_of_the_reference_program_are_unsigned(tmp_path):
    folder = tmp_path / "save-clm"
    write(
        folder / "xferbench-disc_small" / "results.json",
        {"score": 5.0, "by_target": {"da": 5.0}, "analysis": {}},
    )
    write(folder / "xferbench-dev_null" / "results.json", {"score": 6.0, "by_target": {"da": 6.0}})
    null, small = gather([folder])
    assert (small.name, small.signature, small.seeds, small.score) == ("disc_small", UNSIGNED, (0,), 5.0)
    assert null.is_baseline and not small.is_baseline


def test_passes_are_of_a_source_and_not_of_the_settings(tmp_path):
    few, many = (
        scorecard({"da": 4.0}, source=f"{passes}/corpus.jsonl", sha=passes)
        | {"scores": [xferbench | {"signature": SIGNATURE.format(0) + f"|passes:{passes}"}]}
        for passes in ("1", "20.5")
        for xferbench in [scorecard({"da": 4.0})["scores"][1]]
    )
    files = [write(tmp_path / "few.json", few), write(tmp_path / "many.json", many)]
    assert [(each.passes, each.signature) for each in gather(files)] == [
        (1, WITHOUT_SEED),
        (20.5, WITHOUT_SEED),
    ]


def by_seed(seeds):
    """A scorecard of several seeds."""
    rows = [{"seed": seed, "value": 1.0, "by_target": {"da": 4.0 + seed, "eu": 5.0}} for seed in seeds]
    signature = SIGNATURE.format("-").replace("seed:-", f"seeds:{seeds[0]}-{seeds[-1]}")
    details = {"by_target": {"da": 9.0, "eu": 9.0}, "by_seed": rows}
    return scorecard({}, details=details, signature=signature)


def test_a_scorecard_of_several_seeds(tmp_path):
    [result] = gather([write(tmp_path / "a.json", by_seed([0, 1, 2]))])
    assert (result.seeds, result.signature) == ((0, 1, 2), WITHOUT_SEED)
    np.testing.assert_array_equal(result.values(["da", "eu"]), [[4, 5], [5, 5], [6, 5]])
    more = write(tmp_path / "b.json", by_seed([2, 3]))
    one = write(tmp_path / "c.json", scorecard({"da": 9.0, "eu": 5.0}, seed=5))
    [result] = gather([one, more, tmp_path / "a.json"])
    assert result.seeds == (0, 1, 2, 3, 5)
    np.testing.assert_array_equal(result.values(["da"]), [[4], [5], [6], [7], [9]])


def test_seeds_come_together_in_order_whatever_the_order_of_files(tmp_path):
    for seed in (10, 2, 0):
        write(tmp_path / str(seed) / "scores.json", scorecard({"da": 4.0 + seed, "eu": 5.0}, seed=seed))
    files = sorted(tmp_path.rglob("scores.json"))
    for paths in (files, files[::-1], [tmp_path], [tmp_path, files[0]]):
        [result] = gather(paths)
        assert result.seeds == (0, 2, 10)
        np.testing.assert_array_equal(result.values(["eu", "da"]), [[5, 4], [5, 6], [5, 14]])


def test_runs_of_the_reference_program_are_sources_of_their_own_unless_the_user_names_them_alike(tmp_path):
    values = (5.0, 5.1, 5.0)
    for run, value in enumerate(values):
        write(tmp_path / str(run) / "xferbench-a" / "results.json", {"by_target": {"da": value}})
    assert [result.name for result in gather([tmp_path])] == [f"{run}/xferbench-a" for run in range(3)]
    named = [
        write(tmp_path / f"{run}.json", {"by_target": {"da": v}, "name": "a"}) for run, v in enumerate(values)
    ]
    [result] = gather(named)
    assert (result.name, result.seeds) == ("a", (0, 1))  # the third is the first, read again
    assert result.score == pytest.approx(5.05)


def test_one_seed_with_two_scores_is_refused(tmp_path):
    first = write(tmp_path / "1.json", scorecard({"da": 4.0}))
    second = write(tmp_path / "2.json", scorecard({"da": 4.5}))
    with pytest.raises(ConfigError, match=r"^words: seed 0 has different scores in .*1\.json and .*2\.json$"):
        gather([first, second])


def test_sources_of_one_name_get_the_names_of_their_folders(tmp_path):
    files = [
        write(tmp_path / "1.json", scorecard({"da": 4.0}, source="x/words/corpus.jsonl", sha="1")),
        write(tmp_path / "2.json", scorecard({"da": 4.5}, source="y/words/corpus.jsonl", sha="2")),
        write(tmp_path / "3.json", scorecard({"da": 4.6}, source="z/other/corpus.jsonl", sha="3")),
    ]
    assert [result.name for result in gather(files)] == ["x/words", "y/words", "other"]


def test_one_path_with_two_contents_is_refused(tmp_path):
    files = [
        write(tmp_path / f"{sha}.json", scorecard({"da": 4.0}, seed=int(sha), sha=sha)) for sha in ("1", "2")
    ]
    with pytest.raises(ConfigError, match=r"has scores of two different corpora; remove the older scores$"):
        gather(files)


def of_seeds(rows):
    return scorecard({}, details={"by_target": {"da": 1.0}, "by_seed": rows})


NO_SCORES = "expected `scores` of `ecsuite score --out`, or `by_target` of a results.json"
NO_TARGETS = "expected `by_target`, the cross-entropy on each target language"
NO_SEEDS = "by_seed: expected a list of objects with `seed` and `by_target`, and unique seeds"
MISTAKES = [
    ("{", "1: not JSON"),
    ("[" * 100_000, "not JSON: nesting that is too deep"),
    ([], NO_SCORES),
    ({"scores": [{"name": "elcc"}]}, "no XferBench score"),
    ({"scores": [{"name": f"{number}"} for number in range(9999)]}, "no XferBench score"),
    (scorecard({}, value=None, reason="no symbols"), "the XferBench score is undefined: no symbols"),
    (scorecard({}), NO_TARGETS),
    (scorecard([4.0]), NO_TARGETS),
    (scorecard({"da": "4"}), "by_target: expected a number for da, got '4'"),
    (scorecard({"da": "4" * 999}), "by_target: expected a number for da, got '4444444444444"),
    (scorecard({"da": True}), "by_target: expected a number for da, got True"),
    ('{"by_target": {"da": NaN}}', "not JSON: got NaN"),
    ('{"by_target": {"da": 1e999}}', "by_target: expected a number for da, got inf"),
    ('{"by_target": {"da": 1' + "0" * 400 + "}}", "not JSON: expected integers below"),
    *((of_seeds(rows), NO_SEEDS) for rows in ([], 3, [3], [{"by_target": {"da": 1.0}}], [ROW, ROW])),
    *(
        (
            scorecard({"da": 4.0}, signature=signature),
            "expected a signature with one seed, or `by_seed`, got 'xf",
        )
        for signature in ("xferbench|v:1", f"xferbench|seed:{'9' * 5000}")
    ),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES)
def test_each_mistake_in_a_file_gets_a_line_with_its_name(tmp_path, data, message):
    file = write(tmp_path / "scores.json", data)
    with pytest.raises(ConfigError) as error:
        gather([file])
    line = str(error.value)
    place = ":" if message[0].isdecimal() else ": "
    assert (
        line.startswith(f"{file}{place}{message}") and "\n" not in line and len(line) < len(str(file)) + 200
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "no such file or folder of results"),
        (
            ".",
            "no run, corpus or scores: expected a folder of `ecsuite sweep`, `train-game` or `grammar`, a "
            "corpus, or a file of `ecsuite score --out`",
        ),
    ],
)
def test_nothing_to_read(tmp_path, name, message):
    with pytest.raises(ConfigError) as error:
        gather([tmp_path / name])
    assert str(error.value) == f"{tmp_path / name}: {message}"


@pytest.mark.parametrize(
    ("by_target", "seeds", "message"),
    [
        ((), (), "a: expected at least one seed and one target, and a score for each"),
        (({"da": 1.0},), (), "a: expected at least one seed and one target, and a score for each"),
        (({},), (0,), "a: expected at least one seed and one target, and a score for each"),
        (({"da": 1.0, "eu": 1.0}, {"da": 1.0}), (0, 4), "a, seed 4: no score for eu, which seed 0 has"),
        (({"da": 1.0}, {"da": 1.0, "eu": 1.0}), (0, 4), "seed 0: no score for eu, which a, seed 4 has"),
        (({"da": float("inf")},), (0,), "a: inf is not a score (da, seed 0)"),
    ],
)
def test_invariants_of_results(by_target, seeds, message):
    with pytest.raises(ConfigError) as error:
        Sample(name="a", by_target=by_target, seeds=seeds, signature="s")
    assert str(error.value) == message


def test_matrix_is_of_means_over_seeds_in_the_order_asked_for():
    first = source("a", [1.0, 2.0], [3.0, 4.0], targets=["da", "eu"])
    second = source("b", [6.0, 5.0], targets=["eu", "da"])
    np.testing.assert_array_equal(as_matrix([first, second], ["eu", "da"]), [[3, 2], [6, 5]])


def test_plain_names():
    names = [plain(name) for name in ("No pretrain", "no-pretrain", "/dev/null")]
    assert names == ["no_pretrain", "no_pretrain", "dev_null"]


def scores(path, name="topsim", value=0.5, ci95=None, signature="topsim|n:9|v:2", **more):
    """A file of `ecsuite score` with one score; `more` is about the corpus."""
    score = {"name": name, "value": value, "ci95": ci95, "details": {}, "signature": signature}
    corpus = {"source_path": "runs/words/corpus.jsonl"} | more
    return write(path, {"corpus": corpus, "scores": [score, {"name": "ami", "value": None, "reason": "few"}]})


def run(folder, seed, value, **settings):
    """A run folder of a game with its scores."""
    config = {"name": "disc", "training": {"seed": seed} | settings}
    write(folder / "metadata.json", {"config": config})
    return scores(
        folder / "scores.json", value=value, source_path=f"{folder}/corpus.jsonl", sha256={"a": folder.name}
    )


def test_a_score_of_any_metric(tmp_path):
    [result] = gather([scores(tmp_path / "a.json", ci95=[0.4, 0.6])], "topsim")
    assert (result.name, result.score, result.ci95, result.seeds) == ("words", 0.5, (0.4, 0.6), (0,))
    assert (result.signature, result.sizes) == ("topsim|v:2", ("9",))


def test_runs_of_a_game_with_several_seeds_are_one_source(tmp_path):
    for seed, value in ((2, 0.3), (1, 0.5)):
        run(tmp_path / f"a-{seed}", seed, value)
    run(tmp_path / "b", 1, 0.9, lr=0.1)
    first, second = gather([tmp_path], "topsim")
    assert (first.seeds, first.values().ravel().tolist()) == ((1, 2), [0.5, 0.3])
    assert (second.seeds, second.score) == ((1,), 0.9)
    assert first.name != second.name


def test_seeds_that_failed_leave_the_others_of_their_game(tmp_path):
    def of(seed, **more):
        score = {"name": "topsim", "value": seed / 10, "details": {}, "signature": "topsim|v:2"}
        training = {"stopped": "epochs", "measures": {"accuracy": 0.5}}
        run = {
            "settings": {},
            "seed": seed,
            "folder": f"runs/{seed}",
            "training": training,
            "scores": [score],
        }
        return run | more

    failed = of(3, training={}, scores=[], failure="step 1: the loss is nan")
    write(
        tmp_path / "sweep.json",
        {"format": 1, "name": "s", "metrics": ["topsim"], "runs": [of(1), of(2), failed]},
    )
    [result] = gather([tmp_path], "topsim")
    assert result.seeds == (1, 2) and result.score == pytest.approx(0.15)
    write(tmp_path / "sweep.json", {"format": 1, "name": "s", "metrics": ["topsim"], "runs": [failed]})
    with pytest.raises(ConfigError, match="no score topsim"):
        gather([tmp_path], "topsim")


def test_of_several_signatures_the_common_one_is_taken(tmp_path):
    """A run folder keeps the scores of former versions."""
    newer, older = tmp_path / "a" / "scores.json", tmp_path / "b.json"
    scores(newer)
    data = json.loads(newer.read_text())
    data["scores"].append(data["scores"][0] | {"signature": "topsim|n:9|v:1"})
    write(newer, data)
    scores(older, signature="topsim|n:9|v:1", source_path="runs/others")
    assert [result.signature for result in gather([newer, older], "topsim")] == ["topsim|v:1"] * 2


def test_a_score_beside_a_name(tmp_path):
    """As `ecsuite translate` writes it, with seeds in the signature."""
    files = [
        write(
            tmp_path / f"{seed}.json",
            {"name": "perm", "chrf": 20.0 + seed, "seed": seed, "signature": f"translate|seed:{seed}|v:1"},
        )
        for seed in (0, 1)
    ]
    [result] = gather(files, "chrf")
    assert (result.name, result.seeds, result.score) == ("perm", (0, 1), 20.5)
    assert result.signature == "translate|v:1"


BAD_INTERVAL = {"scores": [{"name": "topsim", "value": 1, "ci95": [1]}]}
OTHERS = (
    "compute it with `ecsuite score --metrics xferbench`, or choose another score with --metric: topsim, ami"
)


@pytest.mark.parametrize(
    ("metric", "data", "message"),
    [
        ("topsin", None, "no score topsin; did you mean 'topsim'? It has topsim, ami"),
        ("xferbench", None, f"no XferBench score; {OTHERS}"),
        ("ami", None, "the score ami is undefined: few"),
        ("chrf", {"name": "a", "chrf": "x"}, "no score chrf"),
        ("chrf", {"name": "a"}, "no score chrf"),
        ("chrf", [1], "no score chrf"),
        ("topsim", BAD_INTERVAL, "ci95 of topsim: expected two numbers, got [1]"),
    ],
)
def test_mistakes_in_scores_of_any_metric(tmp_path, metric, data, message):
    file = scores(tmp_path / "a.json") if data is None else write(tmp_path / "a.json", data)
    with pytest.raises(ConfigError) as error:
        gather([file], metric)
    assert str(error.value) == f"{file}: {message}"
