"""The table at a glance: at most 30 lines of 80 columns, for every kind of corpus and of terminal."""

import io
import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRIC_OF, traits_of
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import Traits
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.views.language import examples_of
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.runtime.ragged import Ragged

XFERBENCH = Score(
    name="xferbench",
    value=5.06,
    about="transfer",
    signature="xferbench|passes:1|v:1",
    details={
        "note": "reduced",
        "reference": {"French text": 4.951, "uniform noise": 5.174},
        "warning": "left out: fr: the text of it ends before the words that are asked for are read; left out: eu",
    },
)


def lines_of(card, width=80, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(file=stream, width=width).print(card.short_table())
    stream.flush()
    return stream.buffer.getvalue().decode(encoding).splitlines()


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    """Scorecards of the five kinds of corpora, from what the commands write."""
    from typer.testing import CliRunner

    from ecsuite.cli import app

    folder = tmp_path_factory.mktemp("corpora")
    make = {
        "run": "train-game disc_tiny --epochs 1 --set training.num_examples=256 --set evaluation.corpus_size=250",
        "grammar": "grammar shufdet --num-attributes 2 --num-values 4",
        "baseline": "grammar zipf_parentheses --num-symbols 3000 --vocab-size 100",
        "sets": "train-game thing_gs --epochs 1 --set training.num_examples=64 --set evaluation.corpus_size=60",
    }
    for name, command in make.items():
        done = CliRunner().invoke(app, [*command.split(), "--out", str(folder / name)])
        assert done.exit_code == 0, done.output
    rng = random.Random(0)
    messages = [" ".join(rng.choices(["da", "bu", "ki"], k=rng.randint(2, 6))) for _ in range(210)]
    (folder / "foreign.jsonl").write_text("".join(json.dumps(each) + "\n" for each in messages))
    quick = [name for name in ("elcc", "cbm", "topsim", "posdis", "bosdis", "context_independence", "word_entropy",
                               "has", "zla", "ami", "ncnpmi", "hce")]  # fmt: skip
    return {name: score_corpus(read_corpus(folder / name), quick) for name in (*make, "foreign.jsonl")}


KINDS = ("run", "grammar", "baseline", "sets", "foreign.jsonl")


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measured", [False, True], ids=["", "with XferBench"])
def test_at_most_30_lines_of_80_columns(cards, kind, measured):
    card = cards[kind]
    if measured:
        card = replace(card, scores=(*card.scores, XFERBENCH))
    lines = lines_of(card)
    assert len(lines) <= 30 and max(map(len, lines)) <= 80, "\n".join(lines)
    assert len(card.samples) == 10 and sum("Is it" in line for line in lines) == 2
    assert any("add --all" in line for line in lines)
    assert measured == any(line.startswith("xferbench: left out: fr: ") for line in lines)
    assert not any(line.endswith("…") and "chance" in line for line in lines)  # no conclusion is cut


def test_meanings_and_messages_are_side_by_side(cards):
    lines = lines_of(cards["sets"])
    assert lines[1].startswith("60 messages (")
    assert lines[2].startswith("meanings of 5 attributes, ")
    assert all(" → " in line for line in lines[3:13])
    assert not any("→" in line for line in lines_of(cards["foreign.jsonl"]))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_arrows(cards, encoding):
    lines = lines_of(cards["grammar"], encoding=encoding)
    row = next(line for line in lines if "topsim" in line)
    assert "^" in row and " ~ " in row
    assert "?" not in row


def test_what_is_as_by_chance_is_grey(cards):
    found = Score(
        name="topsim", value=0.1, about="x", signature="topsim|v:1",
        chance=Chance.from_permutations([0.0, 0.05, 0.1, 0.15, 0.2], seed=0, bounds=(-1, 1)),
    )  # fmt: skip
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system="standard")
    console.print(replace(cards["run"], scores=(found,)).short_table())
    row = next(line for line in stream.getvalue().splitlines() if "topsim" in line)
    assert row.startswith("\x1b[2m") and "as by chance" in row


def test_a_conclusion_that_is_wide_is_wrapped_and_not_cut(cards):
    found = Score(
        name="zla_messages", value=-0.267, ci95=(-0.432, 0.103), about="x", signature="zla_messages|v:1",
        chance=Chance(kind="shuffle", level=0.01, draws=(-0.1, 0.12) * 50, seed=0, num_meanings=9999),
    )  # fmt: skip
    [conclusion] = replace(cards["grammar"], scores=(found,)).conclusions
    lines = lines_of(replace(cards["grammar"], scores=(found,)))
    place = next(number for number, line in enumerate(lines) if "zla_messages" in line)
    assert conclusion.word == "can't tell: wide interval" and all(len(line) <= 80 for line in lines)
    assert " ".join([*lines[place].split()[-3:], *lines[place + 1].split()]).endswith(conclusion.word)


def test_xferbench_is_shown_between_its_references(cards):
    lines = lines_of(replace(cards["grammar"], scores=(XFERBENCH,)))
    place = next(number for number, line in enumerate(lines) if "human languages" in line)
    assert lines[place].endswith("(not comparable with published scores)")
    assert lines[place + 1].split() == ("xferbench 5.060 ↓ between French text and uniform noise".split())
    assert "French text 4.951 … uniform noise 5.174" in lines[place + 2]
    too_small = structs.replace(XFERBENCH, signature="xferbench|passes:109.4|v:1")
    shown = "\n".join(lines_of(replace(cards["grammar"], scores=(too_small,))))
    assert re.search(r"xferbench +5\.060 ↓ too small to be placed \(read 109 times\)", shown)
    assert "uniform noise" not in shown


def test_mini_says_that_it_does_not_rank_games(cards):
    mini = structs.replace(XFERBENCH, signature="xferbench|preset:mini|protocol:strict|v:3")
    lines = lines_of(replace(cards["grammar"], scores=(mini,)))
    place = next(number for number, line in enumerate(lines) if "for comparison" in line)
    assert lines[place + 1] == "    mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)"
    assert len(lines[place + 1]) <= 80
    both = lines_of(replace(cards["grammar"], scores=(*cards["grammar"].scores, mini)))
    assert lines[place + 1] in both and len(both) <= 30
    for signature in ("xferbench|preset:danish|v:3", "other|preset:mini|v:1", "xferbench|v:1"):
        other = structs.replace(XFERBENCH, signature=signature)
        assert not any("games" in line for line in lines_of(replace(cards["grammar"], scores=(other,))))
    full = structs.replace(mini, details=dict(mini.details) | {"limits": limits_of(mini.signature)})
    assert "danish (39 PFLOP" in " ".join(replace(cards["grammar"], scores=(full,)).full().split())


def test_every_message_empty_is_said():
    lines = lines_of(score_corpus(Corpus([[], [], []]), ["elcc", "has"]))
    assert lines[-1] == "Every message is empty, so no score is defined."


def test_few_messages_are_told(cards):
    few, seeds = lines_of(cards["run"])[-2:]
    assert "16 messages are few" in few and "not over seeds" in seeds
    assert "few" not in lines_of(cards["foreign.jsonl"])[-1]


def test_a_score_of_ones_own_says_its_question(cards):
    traits = Traits(name="mine", direction="lower", question="natural")
    own = Score(name="mine", value=1.0, about="mine", signature="mine|v:1", traits=traits)
    other = structs.replace(own, name="another", traits=Traits(name="another"))
    lines = lines_of(replace(cards["run"], scores=(*cards["run"].scores, own, other)))
    assert any(re.match(r"  mine +1\.000 ↓", line) for line in lines)
    assert lines[[line.strip() for line in lines].index("Further scores") + 1].startswith("  another")
    data = replace(cards["run"], scores=(own,)).to_json()["scores"][0]
    assert (data["direction"], data["question"], data["conclusion"]) == ("lower", "natural", None)


def test_every_detail_has_a_word_of_explanation(cards):
    details = {
        (score.name, key)
        for score in cards["grammar"].scores
        for key, value in score.details.items()
        if (isinstance(value, float) or (isinstance(value, dict) and value))
        and not (isinstance(value, dict) and not all(isinstance(each, float) for each in value.values()))
    }
    assert details and all(key in traits_of(name).details for name, key in details)


def test_the_full_table_names_nothing_twice_in_a_block(cards):
    blocks, names = [], []
    for line in cards["foreign.jsonl"].full().splitlines():
        if line[:2] == "  " and line[2:3].isalpha():
            names.append(line[:26].strip())
        elif line[:1].isalnum():
            blocks.append(names)
            names = []
    assert all(len(set(block)) == len(block) for block in blocks)
    row = next(line for line in cards["foreign.jsonl"].full().splitlines() if line.startswith("  segments "))
    assert "." not in row.split()[1]


def test_what_is_of_drawn_messages_is_told():
    meanings = np.random.default_rng(0).integers(0, 3, (40, 2))
    card = score_corpus(Corpus(np.add(meanings, [1, 5]).tolist(), meanings=meanings), ["morphemes", "posdis"])
    line = "morphemes uses 20,000 messages, drawn at random."
    assert line not in str(card)
    large = str(replace(card, corpus={**card.corpus, "num_messages": 30_000}))
    assert line in large and "posdis is of" not in large


def test_samples_are_distinct_and_spread():
    rows = [[1, 2]] * 50 + [[2, 1]] * 50 + [[value] for value in range(3, 40)]
    found = examples_of(Corpus(rows))
    assert len({each.message for each in found}) == 10
    assert (found[0].message, found[-1].message) == ("1 2", "39")
    assert [each.message for each in examples_of(Corpus([[1]] * 12))] == ["1"] * 10
    assert examples_of(Corpus(Ragged.from_rows([]))) == ()


def test_meanings_as_people_read_them():
    def meaning(**known):
        return examples_of(Corpus([[1]], **known))[0].meaning

    named = {"concepts": Ragged.from_rows([[0, 1]]), "concept_names": ("color=red", "shape=star")}
    assert meaning(**named) == "color=red shape=star"
    assert meaning(**named, meanings=np.array([[0, 1]])) == "color=red shape=star"
    assert meaning(
        **named | {"concept_names": ("attribute0=3", "attribute2=1")}, meanings=np.array([[3, -1, 1]])
    ) == ("3 - 1")
    assert meaning(meanings=np.array([["red", "star"]])) == "red star"
    assert meaning(meanings=np.array([[0.5, 1.0, 2.0, 3.0]])) == "0.50 1.00 2.00 … (4 numbers)"
    assert meaning() is None


def test_the_scores_of_each_question_are_in_the_order_of_the_table(cards):
    lines = lines_of(cards["grammar"])
    shown = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in METRIC_OF]
    assert shown == [name for name in METRIC_OF if name in shown]


def test_commands_print_where_characters_are_lacking(tmp_path, monkeypatch):
    from ecsuite.cli import main

    (tmp_path / "a.txt").write_text("1 2 3\n2 1\n3 1\n" * 10)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setattr(
        "sys.argv", ["ecsuite", "score", str(tmp_path / "a.txt"), "--metrics", "has", "--all"]
    )
    with pytest.raises(SystemExit) as caught:
        main()
    stream.flush()
    assert caught.value.code == 0 and b" ? " in stream.buffer.getvalue()


def test_what_is_cut_says_so():
    messages, meanings = [[0, 1], [1, 0], [0, 0], [1, 1]] * 10, [[a, b] for a in (0, 1) for b in (0, 1)] * 10
    card = score_corpus(Corpus(messages, meanings=np.array(meanings)), ["zla"])
    for encoding, end in (("utf-8", "…"), ("ascii", "~")):
        line = next(line for line in lines_of(card, encoding=encoding) if "zla_messages" in line)
        assert line.endswith(f"the same f{end}") and len(line) == 80


def test_columns_of_large_numbers_have_a_space_between_them():
    score = Score(
        name="conflict_count", value=1325, ci95=(1297.0, 1353.0), about="", signature="s", details={},
        chance=Chance.from_permutations([1325.0, 1325.0], seed=0, bounds=(0.0, np.inf)),
    )  # fmt: skip
    corpus = Corpus(messages=Ragged.from_rows([[1], [2]] * 800))
    card = replace(score_corpus(corpus, ["elcc"]), scores=(score,))
    line = next(line for line in lines_of(card) if "conflict_count" in line)
    assert re.search(r"1,297\.0 … 1,353\.0 +1,325", line)


@pytest.mark.parametrize("each", [1, 4])
def test_that_messages_of_an_episode_are_no_independent_ones_is_said(each):
    columns = {"episode": np.arange(300) // each}
    training = {"step": 5, "num_steps": 10, "reward": 0.5}
    corpus = Corpus(
        messages=Ragged.from_rows([[1], [2]] * 150), columns=columns, metadata={"training": training}
    )
    lines = lines_of(score_corpus(corpus, ["elcc"]))
    assert any("assume that messages of an episode are independent" in line for line in lines) == (each > 1)
    assert "(trained 5 of 10 steps)" in lines[0] and any("not over seeds" in line for line in lines)
