import json
from collections import defaultdict
from pathlib import Path

import pytest
import typer.main

import ecsuite as ec
from ecsuite.cli import app
from ecsuite.commands.named import KINDS, singular
from ecsuite.eval.experiments.grids import shipped_studies
from ecsuite.parts.config import parse_yaml


@pytest.mark.sample(20)
@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_details(as_json, kind):
    names = list(KINDS[kind].names())
    for name in names[:: 1 + len(names) // 8]:
        details = as_json("list", singular(kind).replace(" ", "-"), name.replace("CELL", "lstm"))
        assert details["about"] and details["kind"] == singular(kind)


def test_details_of_a_part_are_its_options(printed, succeeded, as_json):
    out = printed("list", "channel", "gumbel")
    assert out.startswith("gumbel (channel): Gumbel-softmax (Jang et al. 2017, ")
    assert "temperature            1.0       number, above 0 " in out
    assert "Use it: ecsuite train-game disc_small --channel gumbel,vocab_size=5" in out
    options = {option["name"]: option for option in as_json("list", "sender", "husendz:lstm")["options"]}
    assert options["cell"]["default"] == "lstm" and options["hidden_size"]["values"] == "integer, at least 1"
    (option,) = as_json("list", "grammar", "shufdet")["options"]
    assert option == {"name": "decides", "default": "last", "values": "last, first", "about": ""}
    (option,) = as_json("list", "grammar", "dyck")["options"]
    assert (option["name"], option["default"]) == ("open_probability", "0.5")
    succeeded("new", "metric", "unique.py")
    told = " ".join(succeeded("list", "metric", "./unique.py:unique").split())
    assert "unique: Does a whole message tell its meaning? (higher is better)." in told


def test_a_game_is_told_in_twenty_lines_with_one_round(printed, as_json):
    out = printed("list", "games", "disc_tiny")
    assert "every setting: ecsuite config disc_tiny" in out and len(out.splitlines()) < 40
    details = as_json("list", "game", "disc_tiny")
    for name, begin in {
        "seen": "objects of 2 attributes of 4 values. The sender sees the target; the receiver",
        "said": "5 symbols, up to 3 per message", "asked": "Identify the target among the candidates.",
        "chance": "accuracy 0.25: ", "trained": "512 steps",
    }.items():  # fmt: skip
        assert details["sections"][name].startswith(begin)
    assert [line.split()[0] for line in details["round"][1:]] == ["target", *["distractor"] * 3]


def test_settings_and_differences(succeeded):
    out = succeeded("config", "disc_tiny", "--set", "channel.vocab_size=7")
    assert "  vocab_size: 7  # Number of content symbols" in out
    out = succeeded("config", "disc_tiny", "--diff", "disc_small")
    assert "task.num_distractors: 3 -> 5\n" in out and "vocab_size" not in out
    assert succeeded("config", "disc_tiny", "--diff", "disc_tiny") == ""


@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_study_is_printed_as_it_is_run(printed, succeeded, step):
    shipped = shipped_studies()
    for name in list(shipped)[::step]:
        out = printed("config", f"paper/{name}")
        assert parse_yaml(out, name) == parse_yaml(shipped[name].read_text(), name)
    assert out.startswith("# ecsuite sweep FILE.yaml runs it;")
    Path("mine.yaml").write_text(succeeded("config", "zoo_digits"))
    assert "18 jobs: 0 stored" in succeeded("sweep", "mine.yaml", "--plan")


def test_any_corpus_is_shown(printed):
    Path("words.jsonl").write_text('"da bu"\n"da ki"\n"da bu"\n')
    out = printed("show", "words.jsonl")
    assert out.splitlines()[0] == "words.jsonl" and "da bu" in out and "2  no concept in particular" in out


@pytest.mark.slow
def test_learning_curves_have_a_line_for_each_run(succeeded):
    quick = {"training.num_examples": 512, "training.num_epochs": 2, "training.evaluate_every": 2}
    for seed in (1, 2):
        changes = {**quick, "training.seed": seed}
        ec.train("disc_tiny", out=f"seed{seed}", overrides=changes, note=lambda _: None, device="cpu")
    pictures = []
    for _ in range(2):
        assert succeeded("show", "seed1", "seed2", "--plot", "a.svg") == "accuracy of 2 runs in a.svg\n"
        pictures.append(Path("a.svg").read_bytes())
    assert pictures[0].count(b"<path") > 4 and pictures[0] == pictures[1]
    succeeded("show", "seed1", "--measure", "loss", "--plot", "loss.png")


@pytest.mark.slow
def test_the_last_evaluation_of_training_is_repeated(as_json):
    quick = {"training.num_examples": 1024, "training.num_epochs": 1, "training.precision": "fp32"}
    run = ec.train("disc_tiny", out="run", overrides=quick, note=lambda _: None, device="cpu")
    assert as_json("evaluate", "run")["evaluations"]["valid"] == run.measures


SHARED = ("--workers", "--cache", "--seeds", "--seed", "--device", "--json")
FILES = {"evaluate", "methods", "report", "people export", "people play", "people serve", "people simulate"}


def test_options_that_commands_share_have_one_help():
    group = typer.main.get_command(app)
    helps = defaultdict(set)
    for name in group.list_commands(None):
        for parameter in group.get_command(None, name).params:
            option = parameter.opts[0]
            if option in SHARED or (option == "--out" and name not in FILES and not name.startswith("data ")):
                helps[option].add(parameter.help)
    assert {option: len(texts) for option, texts in helps.items()} == dict.fromkeys(SHARED, 1) | {"--out": 2}


def test_a_run_is_shown_as_text_and_as_a_page(ecsuite, succeeded):
    quick = [f"training.{each}" for each in ("num_examples=128", "num_epochs=1", "batch_size=32", "evaluate_every=1")]
    succeeded("train-game", "disc_tiny", *(word for each in quick for word in ("--set", each)))
    code, out, err = ecsuite("show", "runs/disc_tiny", "--plot", "deep/page.svg")
    lines = out.splitlines()
    assert (code, err, lines[0], lines[-1]) == (0, "", "disc_tiny", "Picture: deep/page.svg") and len(lines) < 32
    assert "attribute0, attribute1" in out and "Most used symbols, by place" in out and "train accuracy" not in out
    first, *_, last = (
        json.loads(line)["valid"]["accuracy"] for line in Path("runs/disc_tiny/log.jsonl").read_text().splitlines()
    )
    assert f"accuracy {first:.1%} " in out and f" {last:.1%}" in out
    page = Path("deep/page.svg").read_bytes()
    succeeded("show", "runs/disc_tiny/corpus.jsonl", "--plot", "deep/page.svg")
    assert Path("deep/page.svg").read_bytes() == page
