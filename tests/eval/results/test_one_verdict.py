"""Commands and Python agree: of one question there is one verdict, one family of comparisons, one set of numbers."""

import json
import re

import numpy as np
import pytest

import ecsuite as ec

LENGTHS = {"a": 1, "b": 2}


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
        for size in (60, 120) for seed in (1, 2, 3)
    ], ["topsim", "posdis"])  # fmt: skip


def societies(folder):
    return study(folder, [
        run(folder / "runs" / f"{length}-{seed}", {"channel.max_len": length}, seed, ["topsim", "posdis"],
            corpus=language(120, seed if length == 2 else 1, 2))
        for length in (2, 3) for seed in (1, 2, 3)
    ], ["topsim", "posdis"])  # fmt: skip


def with_failures(folder):
    """Runs that failed, diverged or were ended by the clock count in no command."""
    ends = {
        ("a", 3): {"failure": "broken"},
        ("a", 4): {"stopped": "minutes"},
        ("b", 4): {"failure": "the loss is nan"},
    }
    return study(folder, [
        run(folder / "runs" / f"{kind}{seed}", {"channel.kind": kind}, seed,
            {"topsim": 0.2 * length + seed / 20, "cbm": 0.4 + seed / 10} if "failure" not in end else {}, **end)
        for kind, length in LENGTHS.items() for seed in (1, 2, 3, 4) for end in [ends.get((kind, seed), {})]
    ], ["topsim", "cbm"])  # fmt: skip


def corpora(folder):
    """Two corpora of other people, without a run."""
    for name, size, seed in (("one", 60, 1), ("two", 120, 3)):
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
def test_all_commands_give_one_verdict(tmp_path, ecsuite, make):
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
