"""`ecsuite score --split`: the scores of the messages about held-out objects, which are not those of the run."""

import json
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.formats.converting import convert


def test_scores_of_a_split_are_not_kept(ecsuite):
    meanings = np.array([[a, b] for a in range(4) for b in range(4)])
    messages = [[1 + a, 5 + (b if a < 2 else a)] for a, b in meanings.tolist()]
    split = np.where(meanings[:, 0] < 2, "train", "held_out")
    write_corpus(Corpus(messages, meanings=meanings, columns={"split": split}), "run")
    values = {}
    for name in ("train", "held_out"):
        code, out, err = ecsuite("score", "run", "--metrics", "topsim", "--where", f"split={name}", "--json")
        assert code == 0, err
        values[name] = json.loads(out)["scores"][0]["value"]
    assert values["train"] > 0.9 > values["held_out"]
    assert not Path("run/scores.json").exists()
    code, _, err = ecsuite("score", "run", "--metrics", "topsim", "--where", "split=valid")
    assert (code, err) == (2, "no message with split valid; split is one of held_out, train\n")


def test_scores_by_column_stand_side_by_side(ecsuite):
    meanings = np.array([[a, b] for a in range(4) for b in range(4)])
    first, second = (
        [[1 + a, 5 + b] for a, b in meanings.tolist()],
        [[1 + (a * 4 + b) % 5] for a, b in meanings],
    )
    corpus = Corpus(
        first + second,
        meanings=np.concatenate([meanings, meanings]),
        columns={
            "turn": np.repeat([1, 2], 16),
            "speaker": np.tile(["asker", "answerer"], 16),
            "one": ["x"] * 32,
        },
    )
    write_corpus(corpus, "run")
    code, out, err = ecsuite("score", "run", "--metrics", "topsim", "--by", "turn", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [each["name"] for each in found["corpora"]] == ["turn=1", "turn=2"]
    values = [each["scores"][0]["value"] for each in found["corpora"]]
    assert values[0] > 0.9 > values[1] and found["comparison"]["sources"] == ["turn=1", "turn=2"]
    for name, value in zip(("1", "2"), values, strict=True):
        _, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--where", f"turn={name}", "--json")
        assert json.loads(out)["scores"][0]["value"] == value
    _, out, _ = ecsuite("score", "run", "--metrics", "posdis", "--by", "turn,speaker")
    assert "turn=1,speaker=answerer" in out and not Path("run/scores.json").exists()
    write_corpus(corpus, "other")
    for by, message in (
        (
            "trn",
            "no column trn: the corpus has the columns turn, speaker, one, and the attributes attribute0, attribute1\n",
        ),
        ("one", "--by one: all 32 messages have one=x: expected at least 2 values\n"),
        ("turn", "--by turn: expected one corpus, without --plan and without a folder of pictures\n"),
    ):
        paths = ["run", "other"][: 1 + (by == "turn")]
        assert ecsuite("score", *paths, "--by", by)[::2] == (2, message)


def test_a_part_without_scores_is_named(ecsuite):
    meanings = [[a, b] for a in range(4) for b in range(4)]
    messages = [*([[1 + a, 5 + b] for a, b in meanings] * 2), *([[]] * 16)]
    corpus = Corpus(messages, meanings=meanings * 3, columns={"turn": np.repeat([1, 2, 3], 16)})
    write_corpus(corpus, "run")
    code, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "turn")
    assert code == 0 and "turn=3 is not compared: topsim: " in out


def test_parts_are_told_apart_whatever_is_in_their_column(ecsuite):
    """Models are named with slashes; as names of files these two would be one, or the last word of it."""
    names = ["model/a//\x1b]0;x\x07b", "model/a/\x1b]0;x\x07b"]
    meanings = [[a, b] for a in range(4) for b in range(4)] * 2
    messages = [[1 + a, 5 + b] for a, b in meanings]
    write_corpus(Corpus(messages, meanings=meanings, columns={"model": np.repeat(names, 16)}), "run")
    _, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "model", "--json")
    found = json.loads(out)
    parts = [each["name"] for each in found["corpora"]]
    assert len(set(parts)) == 2 and sorted(found["comparison"]["sources"]) == sorted(parts)
    assert all(part.startswith("model=model/a/") for part in parts)
    code, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "model")
    assert code == 0 and "model=model/a/" in out and "\x1b" not in out


def test_noise_between_parts_of_a_run_is_not_that_of_seeds(ecsuite):
    rng = np.random.default_rng(0)
    meanings = np.tile([[a, b] for a in range(4) for b in range(4)], (2, 1))
    corpus = Corpus(
        [[1 + a, 5 + b] for a, b in rng.integers(4, size=(32, 2)).tolist()],
        meanings=meanings,
        columns={"speaker": np.repeat([0, 1], 16)},
        metadata={"training": {"step": 1}},
    )
    write_corpus(corpus, "run")
    code, out, err = ecsuite("score", "run", "--metrics", "topsim", "--by", "speaker")
    assert code == 0 and "train each source" not in out, err
    assert "Noise between repetitions, such as other seeds or other people, is not in these intervals." in out


def test_an_unknown_conclusion_has_its_reason(ecsuite):
    meanings = [[a, b] for a in range(2) for b in range(2)] * 2  # too few meanings for an interval
    columns = {"speaker": np.repeat([0, 1], 4)}
    write_corpus(
        Corpus([[1 + a, 5 + b] for a, b in meanings], meanings=np.array(meanings), columns=columns), "few"
    )
    code, out, _ = ecsuite("score", "few", "--metrics", "topsim", "--by", "speaker")
    assert code == 0 and "unknown (no interval): topsim." in out


def written(file, number, seed):
    """A table whose messages are words of letters, with a column `code`; in `held_out` the second letter is any."""
    rng = np.random.default_rng(seed)
    lines = ["said,code,color,shape,split"]
    for _ in range(number):
        color, shape, split = (
            rng.choice(list("rbgk")),
            rng.choice(list("xyzw")),
            rng.choice(["train", "held_out"]),
        )
        second = shape if split == "train" else rng.choice(list("xyzw"))
        lines.append(f"{color}{second},{rng.random()},{color},{shape},{split}")
    Path(file).write_text("\n".join(lines) + "\n")


READ = (
    "--split",
    "letters",
    "--column",
    "said=message",
    "--column",
    "code=kept",
    "--metrics",
    "topsim,posdis",
)


def test_scores_say_how_their_corpus_was_read(ecsuite):
    """Else it is read otherwise: `verify` said that they differ, and `compare` that the file has changed."""
    written("a.csv", 40, 1)
    written("b.csv", 60, 2)
    files = {"a.json": ("a.csv",), "train.json": ("b.csv", "--where", "split=train"), "b.json": ("b.csv",)}
    for file, given in files.items():
        assert ecsuite("score", *given, *READ, "--out", file)[0] == 0
    code, out, err = ecsuite("verify", *files, "--json")
    assert code == 0, err
    assert "differs" not in {row["verdict"] for each in json.loads(out)["sources"] for row in each["rows"]}
    assert json.loads(Path("train.json").read_text())["corpus"]["where"] == ["split=train"]
    for given in (("a.json", "b.json"), ("train.json", "b.json")):
        code, out, err = ecsuite("compare", *given, "--json")
        assert code == 0 and "can't be subsampled" not in out and "no longer" not in out, out
        assert " subsamples of larger corpora" in ecsuite("compare", *given)[1]
    code, out, _ = ecsuite("compare", "table", "train.json", "b.json", "--json")
    names = [row["settings"]["corpus"] for row in json.loads(out)["rows"]]
    assert code == 0 and names == ["b, split=train", "b"]


def test_corpora_that_are_read_with_options_are_compared_at_one_size(ecsuite):
    written("a.csv", 40, 1)
    written("b.csv", 60, 2)
    code, out, err = ecsuite("score", "a.csv", "b.csv", *READ, "--where", "split=train")
    assert code == 0 and " subsamples of larger corpora" in out and "not comparable" not in out, out + err


def test_a_file_of_scores_by_column_is_compared(ecsuite):
    written("a.csv", 60, 1)
    assert ecsuite("score", "a.csv", *READ, "--by", "split", "--out", "by.json")[0] == 0
    code, out, err = ecsuite("compare", "by.json")
    assert code == 0 and "split=train better" in out, out + err
    code, out, err = ecsuite("verify", "by.json")
    assert code == 0, out + err


@pytest.mark.parametrize("value", [3, None, "text", [1], {"half": 1}])
def test_metadata_of_ones_own_may_have_any_name_and_value(value, tmp_path):
    meta = dict.fromkeys(("where", "roles", "eos_source"), value)
    meanings = [[a, b] for a in range(4) for b in range(4)]
    columns = {"half": [0, 1] * 8, "episode": [None, {"a": 1}] * 8}
    corpus = Corpus([[1 + a, 5 + b] for a, b in meanings], meanings=meanings, columns=columns, metadata=meta)
    part = corpus.where("half", 1).where("attribute0", 2)
    assert part.metadata["where"] == ["half=1", "attribute0=2"]
    card = score_corpus(corpus, ["topsim"])
    assert card.corpus["num_episodes"] == 1 and "no EOS" in str(card) and "no EOS" in card.full()
    convert(corpus, "csv", tmp_path / "c.csv")
    assert list(read_corpus(tmp_path / "c.csv").columns["half"]) == columns["half"]


def test_what_metadata_say_of_how_they_were_read_is_not_believed(ecsuite):
    rows = Corpus([[1, 2], [2, 1]] * 6, meanings=[[1, 2], [2, 1]] * 6, metadata={"where": 3, "reading": "x"})
    write_corpus(rows, "run")
    code, out, err = ecsuite("score", "run", "--metrics", "ami", "--json")
    assert code == 0 and not {"where", "reading"} & json.loads(out)["corpus"].keys(), err
    Path("s.json").write_text(json.dumps({"corpus": {"source_path": "run", "where": 3}, "scores": []}))
    code, out, err = ecsuite("verify", "s.json")
    assert code == 2 and err.count("\n") == 1, err
