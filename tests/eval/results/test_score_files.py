"""Results are read from both kinds of files, seeds of a source are merged, and errors name the file."""

import json

import pytest

from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import samples_of
from ecsuite.runtime.errors import ConfigError

SIGNATURE = "xferbench|preset:mini|targets:da+eu#1|seed:{}|precision:fp32|v:1"
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


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def by_seed(seeds):
    """A scorecard of several seeds."""
    rows = [{"seed": seed, "value": 1.0, "by_target": {"da": 4.0 + seed, "eu": 5.0}} for seed in seeds]
    signature = SIGNATURE.format("-").replace("seed:-", f"seeds:{seeds[0]}-{seeds[-1]}")
    details = {"by_target": {"da": 9.0, "eu": 9.0}, "by_seed": rows}
    return scorecard({}, details=details, signature=signature)


def test_two_scores_of_one_seed_or_path_are_refused(tmp_path):
    first = write(tmp_path / "1.json", scorecard({"da": 4.0}))
    second = write(tmp_path / "2.json", scorecard({"da": 4.5}))
    with pytest.raises(ConfigError, match=r"^words: seed 0 has different scores in .*1\.json and .*2\.json$"):
        gather([first, second])
    cards = {sha: scorecard({"da": 4.0}, seed=int(sha), sha=sha) for sha in ("1", "2")}
    files = [write(tmp_path / f"{sha}.json", card) for sha, card in cards.items()]
    with pytest.raises(ConfigError, match=r"has scores of two different corpora; remove the older scores$"):
        gather(files)


def test_sources_of_one_name_get_the_names_of_their_folders(tmp_path):
    places = ["x/words", "y/words", "z/other"]
    cards = [scorecard({"da": 4.0}, source=f"{place}/corpus.jsonl", sha=place) for place in places]
    files = [write(tmp_path / f"{at}.json", card) for at, card in enumerate(cards)]
    assert [result.name for result in gather(files)] == ["x/words", "y/words", "other"]


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
        (scorecard({"da": 4.0}, signature=signature), "expected a signature with one seed, or `by_seed`, got 'xf")
        for signature in ("xferbench|v:1", f"xferbench|seed:{'9' * 5000}")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), MISTAKES)
def test_each_mistake_in_a_file_gets_a_line_with_its_name(tmp_path, data, message):
    file = write(tmp_path / "scores.json", data)
    with pytest.raises(ConfigError) as error:
        gather([file])
    line = str(error.value)
    place = ":" if message[0].isdecimal() else ": "
    assert line.startswith(f"{file}{place}{message}") and "\n" not in line
    assert len(line) < len(str(file)) + 200
