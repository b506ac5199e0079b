"""Options that several commands share."""

import inspect
from collections import defaultdict
from importlib import import_module

import numpy as np
import pytest
import typer.main

from ecsuite.cli import app
from ecsuite.commands.command_help import expand_options
from ecsuite.commands.options import MAX_SEED, MAX_SEEDS, read_seeds
from ecsuite.commands.score import SAMPLING
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("1", (123,)),
        ("3", (123, 124, 125)),
        ("123-125", (123, 124, 125)),
        ("7-7", (7,)),
        ("5,9,2", (5, 9, 2)),
        ("5,", (5,)),
        (" 4 , 6 ", (4, 6)),
        (None, None),
    ],
)
def test_seeds_as_users_write_them(text, seeds):
    assert read_seeds(text, 123) == seeds


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-3",
        "5-3",
        "abc",
        "",
        ",",
        "1.5",
        "1-2-3",
        "1,x",
        "1-",
        str(10**30),
        f"1-{10**30}",
        str(MAX_SEEDS + 1),
    ],
)
def test_what_is_no_seeds(text):
    with pytest.raises(
        ConfigError, match=r"--seeds .*: expected a number \(10\), a range .* or a list"
    ) as error:
        read_seeds(text, 123)
    assert str(error.value).startswith(f"--seeds {text}: ")


def test_the_largest_seed():
    assert read_seeds(f"{MAX_SEED - 1}-{MAX_SEED}", 0) == (MAX_SEED - 1, MAX_SEED)
    assert (MAX_SEED << 32) + 2**32 - 1 < 2**63, "XferBench makes such seeds for each language"
    for text in ("2", f"1,{MAX_SEED + 1}", "-5,1"):
        with pytest.raises(ConfigError, match=rf"^--seeds {text}: expected seeds from 0 to 2,147,483,647$"):
            read_seeds(text, MAX_SEED)


SHARED = ("--workers", "--cache", "--seeds", "--seed", "--device", "--json")
FILES = {"evaluate", "methods", "report", "people export", "people play", "people serve", "people simulate"}
"""Commands whose --out is neither JSON nor a folder in runs/."""


def test_options_that_commands_share_have_one_help():
    group = typer.main.get_command(app)
    helps = defaultdict(set)
    for name in group.list_commands(None):
        for parameter in group.get_command(None, name).params:
            option = parameter.opts[0]
            if option in SHARED or (option == "--out" and name not in FILES and not name.startswith("data ")):
                helps[option].add(parameter.help)
    assert {option: len(texts) for option, texts in helps.items()} == dict.fromkeys(SHARED, 1) | {"--out": 2}


@pytest.mark.parametrize("command", ["score", "reference", "icy", "xtreme", "correlations", "features"])
def test_what_a_choice_reads_are_options_of_the_command(command):
    module = import_module(f"ecsuite.commands.{command}")
    reads = {"xferbench": module.XFERBENCH} if command == "score" else module.READS
    names = {name for each in reads.values() for name in each}
    assert names <= set(inspect.signature(expand_options(getattr(module, command))).parameters)


TRAITS = {name: find_metric(name).shared for name in METRICS.parts}


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "name", [name for name, traits in TRAITS.items() if not (traits.trains or traits.needs_agents)]
)
def test_metrics_read_the_options_that_the_command_says(name):
    """Metrics with random draws read the seed; no metric but xferbench reads more."""

    class Recorder:
        def __getattr__(self, option):
            read.add(option)
            return getattr(Options(), option)

    read = set()
    rows = np.random.default_rng(1).integers(0, 3, (40, 5))
    corpus = Corpus(
        messages=Ragged.from_rows(rows[:, :3].tolist()),
        meanings=rows[:, 3:],
        concepts=Ragged.from_rows((rows[:, 3:] + [0, 3]).tolist()),
        concept_names=tuple("abcdef"),
    )
    find_metric(name)(corpus, Recorder())
    assert read <= {"progress", "run", *(SAMPLING if TRAITS[name].draws else ())}


def test_quiet_prints_no_notes_and_the_next_command_does(ecsuite, tmp_path):
    """Notes of readers, of runs and of scoring, by whatever they are printed."""
    rows = "".join(f"{a},{b},{'ab'[a]} {'cd'[b]}\n" for a in range(2) for b in range(2) for _ in range(3))
    (tmp_path / "table.csv").write_text("color,shape,message\n" + rows)
    noted = ecsuite("score", "table.csv", "--metrics", "topsim")
    assert noted[0] == 0 and "note: " in noted[2]
    assert ecsuite("score", "table.csv", "--metrics", "topsim", "-q")[::2] == (0, "")
    assert "note: " in ecsuite("score", "table.csv", "--metrics", "topsim")[2]
    assert "note: " in ecsuite("show", "table.csv")[2]
    line = ["train-game", "disc_tiny", "--out", "run", "--set", "training.num_examples=64", "--epochs", "1"]
    assert ecsuite(*line, "-q") == (0, "", "")
    for command in (
        "train-game run/config.yaml --out run --resume", "score run --metrics topsim,rsa", "verify run",
        "score run run run --metrics topsim", "data --help", "sweep study.yaml",
    ):  # fmt: skip
        (tmp_path / "study.yaml").write_text(
            "base: disc_tiny\nset: {training.num_examples: 64}\nvary: {channel.vocab_size: [5]}\nseeds: 1\n"
        )
        code, _, err = ecsuite(*command.split(), *([] if "help" in command else ["-q"]))
        assert (code, err) == (0, ""), command
