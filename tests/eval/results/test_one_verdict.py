"""Commands and Python agree: of one question there is one verdict, one family of comparisons, one set of numbers."""

import json
import re

import numpy as np
import pytest

import ecsuite as ec
from ecsuite.eval.results import equal_sizes

LENGTHS = {"a": 1, "b": 2}
CAP = 60.0
"""Rounds after which runs end without consensus."""


def run(folder, settings, seed, scores, *, corpus=None, **more):
    """A run folder with scores; returns what sweep.json has of it."""
    config = {"name": "game", "training": {"seed": seed}, "world": {"held_out": 0}}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = value
    if corpus is None:
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text(json.dumps({"config": config}))
    else:
        ec.write_corpus(ec.Corpus(corpus.messages, meanings=corpus.meanings, columns=corpus.columns,
                                  metadata={"config": config}), folder)  # fmt: skip
        scores = [score.to_json() for score in ec.score(ec.read_corpus(folder), scores).scores]
    (folder / "config.yaml").write_text(json.dumps(config))
    if isinstance(scores, dict):
        scores = [
            {"name": name, "value": value, "ci95": None, "reason": None, "signature": f"{name}|v:1"}
            for name, value in scores.items()
        ]
    corpus_json = {"source_path": str(folder), "sha256": {"corpus.jsonl": folder.name}}
    (folder / "scores.json").write_text(json.dumps({"corpus": corpus_json, "scores": scores}))
    training = {"stopped": "epochs", "measures": {"accuracy": 0.5 + seed / 10}, "step": 9, **more}
    return {"settings": settings, "seed": seed, "folder": str(folder), "training": training, "scores": scores,
            "failure": more.get("failure")}  # fmt: skip


def study(folder, runs, metrics):
    (folder / "sweep.json").write_text(json.dumps({"name": "game", "metrics": metrics, "runs": runs}))
    return folder


def small(folder):
    """Two settings of two seeds: one command called one of them best, two others did not."""
    values = {5: [(0.3282, 0.6457), (0.3318, 0.6664)], 10: [(0.4674, 0.8338), (0.4924, 0.8962)]}
    return study(folder, [
        run(folder / "runs" / f"{size}-{seed}", {"channel.vocab_size": size}, seed, {"topsim": one, "cbm": two})
        for size, rows in values.items() for seed, (one, two) in enumerate(rows, 1)
    ], ["topsim", "cbm"])  # fmt: skip


def language(size, seed, speakers=1):
    rng = np.random.default_rng([seed, speakers])
    meanings = rng.integers(0, 6, (size, 2))
    words = np.where(rng.random(meanings.shape) < 0.15 * seed, rng.integers(0, 6, meanings.shape), meanings)
    columns = {"speaker": np.arange(size) % speakers} if speakers > 1 else {}
    return ec.Corpus((words + np.array([1, 7])).tolist(), meanings=meanings.tolist(), columns=columns)


def sizes(folder):
    """Corpora of two sizes: values of own sizes stood beside a difference at equal ones."""
    return study(folder, [
        run(folder / "runs" / f"{size}-{seed}", {"evaluation.corpus_size": size}, seed, ["topsim", "posdis"],
            corpus=language(size, seed))
        for size in (24, 48) for seed in (1, 2)
    ], ["topsim", "posdis"])  # fmt: skip


def societies(folder):
    return study(folder, [
        run(folder / "runs" / f"{length}-{seed}", {"channel.max_len": length}, seed, ["topsim", "posdis"],
            corpus=language(120, seed if length == 2 else 1, 2))
        for length in (2, 3) for seed in (1, 2, 3)
    ], ["topsim", "posdis"])  # fmt: skip


def with_failures(folder):
    """Runs that failed, diverged or were ended by the clock count in no command."""
    ends = {("a", 3): {"failure": "broken"}, ("a", 4): {"stopped": "minutes"}, ("b", 4): {"failure": "the loss is nan"}}
    return study(folder, [
        run(folder / "runs" / f"{kind}{seed}", {"channel.kind": kind}, seed,
            {"topsim": 0.2 * length + seed / 20, "cbm": 0.4 + seed / 10} if "failure" not in end else {}, **end)
        for kind, length in LENGTHS.items() for seed in (1, 2, 3, 4) for end in [ends.get((kind, seed), {})]
    ], ["topsim", "cbm"])  # fmt: skip


def corpora(folder):
    """Two corpora of other people, without a run."""
    for name, size, seed in (("one", 30, 1), ("two", 60, 3)):
        ec.write_corpus(language(size, seed), folder / name)
        card = ec.score(ec.read_corpus(folder / name), ["topsim", "posdis"])
        (folder / name / "scores.json").write_text(json.dumps(card.to_json()))
    return folder


def compared(data):
    """By score: the two values by source, and difference, p, conclusion of the first minus the second by name."""
    found = {}
    for score in data["scores"]:
        values = {each["name"].rpartition("=")[2]: each["score"] for each in score["sources"]}
        [each] = score["differences"]
        names = [each["source"].rpartition("=")[2], each["baseline"].rpartition("=")[2]]
        sign = 1 if names == sorted(names) else -1
        conclusion = each["conclusion"]
        if sign < 0:
            conclusion = {"higher": "lower", "lower": "higher"}.get(conclusion, conclusion)
        found[score["name"]] = (values, sign * each["mean"], each["p_holm"], conclusion)
    return found


@pytest.mark.parametrize("make", [small, sizes, societies, with_failures, corpora])
def test_all_commands_give_one_verdict(tmp_path, ecsuite, monkeypatch, make):
    monkeypatch.setattr(equal_sizes, "NUM_DRAWS", 5)
    folder = make(tmp_path / "study") if (tmp_path / "study").mkdir() is None else None
    paths = sorted(map(str, folder.iterdir())) if make is corpora else [str(folder)]
    data = json.loads(ecsuite("compare", *paths, "--json")[1])
    expected = compared(data)
    family = data["correction"]
    assert family["comparisons"] == len(expected) == 2

    assert compared(dict(ec.compare(*paths))) == expected

    for metric, (values, mean, _, _) in expected.items():
        alone = json.loads(ecsuite("compare", *paths, "--metric", metric, "--json")[1])
        assert {each["name"].rpartition("=")[2]: each["score"] for each in alone["sources"]} == values
        assert abs(alone["differences"][0]["mean"]) == pytest.approx(abs(mean))

    table = json.loads(ecsuite("compare", "table", *paths, "--json")[1])
    assert table["correction"] == family
    for metric, (values, _, p_holm, conclusion) in expected.items():
        cells = {str(list(row["settings"].values())[-1]): row["figures"][metric] for row in table["rows"]}
        assert {name: cell["mean"] for name, cell in cells.items()} == pytest.approx(values)
        best = max(values, key=values.get) if conclusion in ("higher", "lower") else None
        assert [name for name, cell in cells.items() if cell["is_best"]] == ([] if best is None else [best])
        assert (p_holm is not None and p_holm < 0.05) == (best is not None)
    text = ecsuite("compare", "table", *paths, "--as", "latex")[1]
    assert text.count("textbf") == sum(each[3] in ("higher", "lower") for each in expected.values())

    if make is not corpora:
        ecsuite("report", *paths, "--out", str(tmp_path / "page.html"))
        page = (tmp_path / "page.html").read_text()
        part = page[page.index('id="differences"') :].partition("</section>")[0]
        rows = re.findall(r"<tr><th.*?</tr>", part, flags=re.DOTALL)[1:]
        assert len(rows) == len(expected)
        for row, (metric, (_, mean, p_holm, conclusion)) in zip(rows, expected.items(), strict=True):
            assert f"<td>{metric}</td>" in row
            shown = [float(value) for value in re.findall(r'data-value="([^"]+)"', row)]
            assert [abs(shown[0]), *shown[1:]] == pytest.approx([abs(mean), p_holm])
            assert (conclusion == "not significant") == ("not significant" in row)


def levels(folder, measure="accuracy", others=lambda value: {}, *, small, large):
    """A sweep over the vocabulary, whose runs have these values of a measure, a run a seed."""
    return study(folder, [
        run(folder / "runs" / f"{size}-{seed}", {"channel.vocab_size": size}, seed, {},
            measures={measure: value, **others(value)})
        for size, values in ((5, small), (10, large)) for seed, value in enumerate(values, 1)
    ], [])  # fmt: skip


def difference_of(folder, measure):
    """The difference, and the conclusion on 5 symbols against 10."""
    [each] = ec.results(folder).compare([measure]).scores[0].differences
    is_turned = each.source.rpartition("=")[2] == "10"
    opposite = {"higher": "lower", "lower": "higher"}
    return each, opposite.get(each.conclusion, each.conclusion) if is_turned else each.conclusion


@pytest.mark.parametrize(
    ("small", "large", "conclusion", "marks"),
    [
        ([1, 1, 1], [1, 1, 1], "unknown", ("≥1.000", "≥1.000")),  # none makes a mistake: none is told apart
        ([0.5, 0.51, 0.52], [1, 1, 0.99], "lower", ("0.510", "≥0.997")),  # at least so much lower
        ([0.0, 0.01, 0.02], [1, 1, 0.99], "lower", ("≤0.010", "≥0.997")),
        ([0.5, 0.9, 1], [0.7, 0.8, 0.9], "unknown", ("≥0.800", "0.800")),  # not "not significant"
        ([0.5, 0.9, 0.99], [0.7, 0.8, 0.9], "not significant", ("0.797", "0.800")),
    ],
    ids=["ceiling", "above", "both", "noise", "exact"],
)
def test_values_at_a_bound_bound_differences_in_all_commands(tmp_path, ecsuite, small, large, conclusion, marks):
    folder = levels(tmp_path / "sweep", small=small, large=large)
    assert difference_of(folder, "accuracy")[1] == conclusion
    code, out, err = ecsuite("compare", folder, "--metric", "accuracy")
    assert code == 0, err
    is_bounded = "values are censored" in out or "≥, ≤: bounds" in out
    assert is_bounded == any(mark[0] in "≥≤" for mark in marks)
    code, out, _ = ecsuite("compare", "table", folder, "--metrics", "accuracy")
    assert code == 0 and all(mark in out for mark in marks), out


@pytest.mark.parametrize("measure", ["consensus", "others_share", "recall", "attribute_accuracy", "num_names"])
def test_shares_of_success_are_censored_as_accuracies_are_and_counts_are_not(tmp_path, measure):
    found, conclusion = difference_of(levels(tmp_path / "a", measure, small=[1, 1, 1], large=[1, 1, 1]), measure)
    is_count = measure == "num_names"
    assert (conclusion, found.bound) == (("not significant", None) if is_count else ("unknown", "none"))


@pytest.mark.parametrize(("first", "second"), [(40, 50), (40, 90), (50, 70), (70, 50), (90, 95), (90, 150)])
def test_a_conclusion_on_censored_times_is_that_of_the_true_ones(tmp_path, first, second):
    """How long runs would have been that end before the consensus is unknown; what is concluded is true."""
    rng = np.random.default_rng(first * second)
    true, other_true = (rng.normal(mean, 10, 12) for mean in (first, second))
    one, other = np.minimum(true, CAP), np.minimum(other_true, CAP)
    folder = levels(tmp_path / "sweep", "consensus_round", lambda value: {"has_consensus": float(value < CAP)},
                    small=one, large=other)  # fmt: skip
    found, conclusion = difference_of(folder, "consensus_round")
    sign = 1 if found.source.rpartition("=")[2] == "5" else -1
    of_true = sign * (true.mean() - other_true.mean())
    sides = tuple(bool((values == CAP).any()) for values in (one, other)[::sign])
    assert found.bound == {(0, 0): None, (1, 0): "lower", (0, 1): "upper", (1, 1): "none"}[sides]
    if found.bound == "lower":
        assert found.mean <= of_true and found.conclusion in ("higher", "unknown")
    if found.bound == "upper":
        assert found.mean >= of_true and found.conclusion in ("lower", "unknown")
    assert found.bound != "none" or conclusion == "unknown"
    if found.is_clear:
        assert (found.conclusion == "higher") == (of_true > 0)


def test_copies_of_messages_are_compared_as_their_originals(tmp_path, ecsuite):
    """At 32 messages, posdis of ten copies of each was 0.088 and that of the originals 0.010."""
    rng, meanings = np.random.default_rng(0), np.array(list(np.ndindex(4, 4, 2)))
    messages = rng.integers(1, 5, meanings.shape)
    for times in (1, 10):
        rows = np.repeat(np.arange(32), times)
        ec.write_corpus(ec.Corpus(messages[rows].tolist(), meanings=meanings[rows]), tmp_path / str(times))
        metrics = "posdis,hce,cbm,word_entropy"
        assert ecsuite("score", tmp_path / str(times), "--metrics", metrics, "--out", f"{times}.json")[0] == 0
    code, printed, _ = ecsuite("compare", "1.json", "10.json", "--json")
    found = {score["name"]: score["differences"][0]["mean"] for score in json.loads(printed)["scores"]}
    assert code == 0 and len(found) == 5 and list(found.values()) == pytest.approx([0] * 5, abs=1e-9)


def test_subsamples_have_the_meanings_of_the_smallest_corpus():
    labels = np.array([2, 0, 2, 1, 0, 1, 2])
    assert equal_sizes.of_some_meanings(labels, 2).tolist() == [0, 1, 2, 4, 6, 3, 5]
    assert equal_sizes.of_some_meanings(np.arange(5)[::-1], 5).tolist() == [0, 1, 2, 3, 4]
