"""The command line as users meet it: output, messages, exit codes, and what it must not import."""

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main

from ecsuite import __version__
from ecsuite.agents.registry import CELLS, PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.cli import COMMANDS, FORMER_OPTIONS, app, with_present_names
from ecsuite.corpus import Corpus
from ecsuite.eval.concept_games.study import named_studies as cbm_studies
from ecsuite.eval.icy.protocols import PROTOCOLS
from ecsuite.eval.icy.study import named_studies
from ecsuite.eval.metrics import METRICS
from ecsuite.eval.sweeps.study import shipped_studies
from ecsuite.eval.translation.presets import PRESETS as TRANSLATION
from ecsuite.eval.xferbench.presets import PRESETS
from ecsuite.eval.xferbench.protocols import PROTOCOLS as RULES
from ecsuite.eval.xferbench.sources import SOURCES
from ecsuite.eval.xtreme.presets import PRESETS as TRANSFER
from ecsuite.eval.xtreme.protocols import PROTOCOLS as WAYS
from ecsuite.eval.xtreme.scoring.tasks import TASKS as XTREME
from ecsuite.formats import write_corpus
from ecsuite.games.experiment import load_experiment, named_configs
from ecsuite.games.registry import CHANNELS, LOGGERS, LOSSES, OPTIMIZERS, SCHEDULES, TASKS, WORLDS
from ecsuite.grammars import GRAMMARS
from ecsuite.messages import one_line

QUICK = ["--epochs", "1", "--set", "training.num_examples=256", "--set", "evaluation.num_valid=64"]
PYTHON = [sys.executable, "-c", "from ecsuite.cli import main; main()"]


def test_help_imports_nothing_heavy():
    """One process asks for every help; importing torch alone would take seconds."""
    script = """
import sys
from ecsuite.cli import COMMANDS, main
for arguments in [[], ["--help"], *([command, "--help"] for command in COMMANDS if command not in HEAVY)]:
    sys.argv = ["ecsuite", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code
heavy = {"torch", "transformers", "scipy", "sklearn", "datasets", "pyarrow", "tokenizers"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run(
        [sys.executable, "-c", script.replace("HEAVY", repr(HEAVY))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


LIGHT = [
    "list", "list games", "list metrics", "score c.jsonl", "score c.jsonl --json --metrics cbm,topsim", "show run",
    "convert c.jsonl c.csv --to csv", "compare c.jsonl run", "cite cbm", "score nowhere",
    "train-game nowhere", "config nowhere", "preview nowhere", "table nowhere", "compare nowhere run",
    "convert nowhere d.csv --to csv", "grammar nowhere", "translate nowhere",
]  # fmt: skip
"""Commands that train nothing, and mistakes."""


def test_what_trains_nothing_does_not_import_torch(tmp_path):
    """One process runs all; one that imports torch is named."""
    script = """
import contextlib, io, sys
from ecsuite.cli import main
for line in LIGHT:
    sys.argv = ["ecsuite", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code == (2 if "nowhere" in line else 0), (line, code)
    heavy = {"torch", "tokenizers", "transformers", "sklearn"} & set(sys.modules)
    assert not heavy, (line, heavy)
"""
    (tmp_path / "c.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    corpus = Corpus([[1, 2], [3], [1, 1]], meanings=[[0, 1], [1, 1], [0, 0]])
    write_corpus(corpus, tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", script.replace("LIGHT", repr(LIGHT))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


HEAVY = ()
"""Commands whose help imports what it needs later."""


def test_ecsuite_alone_says_how_to_begin(ecsuite):
    code, out, err = ecsuite()
    assert (code, err) == (0, "") and len(out.splitlines()) <= 8
    for line in out.splitlines()[2:]:
        parsed(line.strip().partition("  ")[0].partition(" >")[0])


def parsed(line):
    """The context of a command line, which raises if an option or an argument is wrong; nothing is run."""
    group = typer.main.get_command(app)
    for each in line.split(" && "):
        program, *arguments = each.partition(" > ")[0].split()
        assert program == "ecsuite"
        if arguments[0] in COMMANDS:
            name, *rest = arguments
            group.get_command(None, name).make_context(name, rest)
        else:
            assert arguments in (["--help"], ["--version"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_work_and_fits(ecsuite, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "100")
    assert 2 <= len(COMMANDS[name].examples) <= 3
    code, out, err = ecsuite(name, "--help")
    assert (code, err) == (0, "") and "<" not in out
    assert len(out.splitlines()) <= 45
    examples = out.split("Examples:\n")[1].splitlines()
    assert len(examples) == len(COMMANDS[name].examples)
    for line in examples:
        parsed(line.strip())
    code, every, err = ecsuite(name, "--help-all")
    assert (code, err) == (0, "") and len(every) >= len(out) - 80
    options = {option for option in LISTING[name].split() if option.startswith("--")} - {"--help"}
    assert all(option in every for option in options)


def test_the_help_has_the_commands_in_groups_a_line_each(ecsuite, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = ecsuite("--help")
    assert (code, err) == (0, "") and max(map(len, out.splitlines())) <= 100
    lines = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert [name for name in lines if name in COMMANDS] == list(COMMANDS)
    groups = [entry.group for entry in COMMANDS.values()]
    assert len([group for group, _ in itertools.groupby(groups)]) == len(set(groups)) == 7
    assert all(f"\n{group}:\n" in out for group in groups)


LISTING = json.loads((Path(__file__).parent / "contracts" / "command_options.json").read_text())
OPTIONS = {command: set(options.split()) for command, options in LISTING.items()}
"""Scripts rely on these: adding one is fine, renaming or removing one breaks somebody's work."""


def the_commands():
    """All commands by name."""
    group = typer.main.get_command(app)
    return {name: group.get_command(None, name) for name in group.list_commands(None)}


def test_commands_and_options_are_the_known_ones():
    found = {
        name: {option for parameter in command.params for option in parameter.opts}
        - {"--help-all", "--max-memory"}
        | {"--help"}
        for name, command in the_commands().items()
    }
    assert found == OPTIONS


def test_former_names_keep_working_with_a_note(ecsuite):
    """The names of version 0.1.0 that changed since: hidden in the help, and told of on standard error."""
    for command, options in FORMER_OPTIONS.items():
        for former, present in options.items():
            assert former not in OPTIONS[command] and present in OPTIONS[command]
            assert with_present_names([command, "a", f"{former}=b", former, "b"]) == [
                command, "a", f"{present}=b", present, "b",
            ]  # fmt: skip


def test_the_version_and_short_help(ecsuite):
    assert ecsuite("--version") == (0, f"ecsuite {__version__}\n", "")
    for arguments in (["-h"], ["score", "-h"]):
        code, out, _ = ecsuite(*arguments)
        assert code == 0 and "Usage: " in out


def test_every_option_is_explained():
    for command in the_commands().values():
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"


def test_list_names_everything(ecsuite):
    """An agent of recurrent cells is named by its cell."""
    recurrent = {"recurrent": "CELL-2l"}
    senders, receivers = (
        {*CELLS.parts, *(recurrent.get(name, name) for name in agents.parts)}
        for agents in (SENDERS, RECEIVERS)
    )
    registries = {
        "games": named_configs(), "tasks": TASKS.parts, "channels": CHANNELS.parts, "worlds": WORLDS.parts,
        "senders": senders, "receivers": receivers, "perceptions": PERCEPTIONS.parts, "losses": LOSSES.parts,
        "optimizers": OPTIMIZERS.parts, "schedules": SCHEDULES.parts, "loggers": LOGGERS.parts,
        "grammars": GRAMMARS, "metrics": METRICS.parts, "presets": PRESETS, "protocols": PROTOCOLS,
        "studies": {*named_studies(), *cbm_studies(), *shipped_studies()},
        "xferbench protocols": RULES, "baselines": SOURCES, "translation presets": TRANSLATION,
        "xtreme tasks": XTREME, "xtreme presets": TRANSFER, "xtreme protocols": WAYS,
    }  # fmt: skip
    code, out, err = ecsuite("list", "--json")
    names = json.loads(out)
    assert code == 0 and err == ""
    assert {kind: set(entries) for kind, entries in names.items()} == {
        kind: set(registry) for kind, registry in registries.items()
    }
    assert all(about and "\n" not in about for entries in names.values() for about in entries.values())
    for role in ("sender", "receiver"):
        for name in names[f"{role}s"]:
            assert load_experiment("disc_tiny", flags={f"{role}.kind": name.replace("CELL", "gru")})


def test_train_then_score(ecsuite, tmp_path):
    code, out, _ = ecsuite("train-game", "disc_tiny", *QUICK)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "all epochs done, step 2 of 2"
    assert lines[-1] == "Corpus in runs/disc_tiny; next: ecsuite score runs/disc_tiny"
    assert [line.split()[0] for line in lines[1:-1]] == ["loss", "accuracy", "length"]

    for corpus in ("runs/disc_tiny/corpus.jsonl", "runs/disc_tiny"):
        code, out, _ = ecsuite("score", corpus, "--metrics", "cbm,elcc")
        assert code == 0
        assert "cbm" in out and "Unique Lines" in out
    code, out, _ = ecsuite("score", corpus, "--metrics", "cbm", "--json", "--out", "deep/scores.json")
    assert code == 0
    scores = json.loads(out)
    assert scores == json.loads(Path("deep/scores.json").read_text())
    assert [score["name"] for score in scores["scores"]] == ["cbm"]
    assert {"value", "ci95", "reason", "details", "signature"} <= set(scores["scores"][0])

    code, out, _ = ecsuite("train-game", "disc_tiny", *QUICK)
    assert code == 0 and out.startswith("already finished: all epochs done, step 2 of 2\n")
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--seed", "2")
    assert (code, out) == (2, "")
    assert err == (
        "runs/disc_tiny holds another run (training.seed is 1 in the folder, 2 requested): "
        "choose another folder with --out\n"
    )
    code, out, _ = ecsuite("train-game", "disc_tiny", *QUICK, "--seed", "2", "--out", "second", "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["folder"], result["stopped"], result["step"]) == ("second", "epochs", 2)
    assert result["was_done"] is False and set(result["measures"]) == {"loss", "accuracy", "length"}


def test_a_score_comes_with_pictures(ecsuite, tmp_path):
    assert ecsuite("train-game", "disc_tiny", *QUICK)[0] == 0
    names = [
        f"{name}.{suffix}" for name in ("translation", "heatmap", "accuracy") for suffix in ("svg", "png")
    ]
    code, out, err = ecsuite("score", "runs/disc_tiny/corpus.jsonl", "--metrics", "cbm", "--pictures")
    assert (code, err) == (0, "")
    drawn = [f"runs/disc_tiny/pictures/{name}" for name in names]
    assert out.splitlines()[-1] == f"Pictures: {', '.join(drawn)}"
    assert all(Path(file).stat().st_size for file in drawn)
    code, out, err = ecsuite(
        "score", "runs/disc_tiny", "--metrics", "cbm", "--picture-folder", "here", "--json"
    )
    assert code == 0 and [score["name"] for score in json.loads(out)["scores"]] == ["cbm"]
    assert err == f"Pictures: {', '.join(f'here/{name}' for name in names)}\n"

    (tmp_path / "plain.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    code, out, err = ecsuite("score", "plain.jsonl", "--metrics", "cbm", "--pictures")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "nothing to draw: the corpus has no concepts and is not in a run folder"

    code, out, err = ecsuite("score", "runs/disc_tiny", "--metrics", "cbm,topsim", "--plot", "one.svg")
    assert (code, err) == (0, "") and "<!-- disc_tiny: scores of the language -->" in Path(
        "one.svg"
    ).read_text()
    code, out, err = ecsuite(
        "score", "runs/disc_tiny", "plain.jsonl", "--metrics", "has", "--plot", "two.svg"
    )
    assert code == 0 and "<!-- disc_tiny and plain -->" in Path("two.svg").read_text()


def test_rounds_are_shown(ecsuite):
    code, out, err = ecsuite("preview", "thing_qt", "--set", "world.rule_length=2", "--out", "deep/sheet.svg")
    assert (code, err) == (0, "note: --out is now called --plot\n")
    lines = out.splitlines()
    assert lines[-1] == "Picture: deep/sheet.svg"
    assert lines[2].startswith("round 1: attribute") and lines[2].count(" and attribute") == 1
    assert Path("deep/sheet.svg").read_text().startswith("<?xml")
    small = [part for key in ("task.num_targets=2", "world.images_per_batch=9") for part in ("--set", key)]
    code, out, err = ecsuite("preview", "shape_qt", *small)
    assert (code, err) == (0, "") and out.endswith("\nPicture: shape_qt.png\n")
    assert Path("shape_qt.png").stat().st_size


def test_feature_files_are_made_up_and_trained_on(ecsuite):
    code, out, err = ecsuite("features", "deep/birds.npz", "--num-classes", "12", "--images-per-class", "20")
    assert (code, out, err) == (0, "240 rows of 12 classes, 64 features each, in deep/birds.npz\n", "")
    sizes = [
        "sender.hidden_size=8",
        "receiver.hidden_size=8",
        "training.num_examples=64",
        "evaluation.num_valid=32",
    ]
    sizes += ["evaluation.corpus_size=20"]
    settings = [argument for size in sizes for argument in ("--set", size)]
    code, out, _ = ecsuite("train-game", "mu_cub", "--features", "deep/birds.npz", "--epochs", "1", *settings)
    assert code == 0 and out.splitlines()[0] == "all epochs done, step 2 of 2"


def test_options_reach_the_config(ecsuite):
    code, _, err = ecsuite(
        "train-game", "disc_tiny", *QUICK, "--sender", "lstm", "--receiver", "rnn", "--until-accuracy", "0.99",
        "--max-minutes", "5", "--seed", "3", "--device", "cpu", "--set", "sender.hidden_size=8", "--batch-size", "64",
    )  # fmt: skip
    assert code == 0, err
    experiment = load_experiment("runs/disc_tiny/config.yaml")
    assert (experiment.sender.kind, experiment.receiver.kind) == ("recurrent", "recurrent")
    assert (experiment.sender.options.cell, experiment.receiver.options.cell) == ("lstm", "rnn")
    assert (experiment.training.until_accuracy, experiment.training.max_minutes) == (0.99, 5.0)
    assert experiment.training.batch_size == 64
    assert (experiment.training.seed, experiment.training.num_epochs) == (3, 1)
    assert experiment.sender.options.hidden_size == 8


def test_text_files_are_fitted(ecsuite, tmp_path):
    (tmp_path / "train.txt").write_text("0 1 2 . 3 3 3 . 1\n" * 40)
    (tmp_path / "valid.txt").write_text("0 1 2 . 3 3 3 . 1\n0 1 2 . 3 3 3 . 0\n")
    files = ["--train-data", "train.txt", "--valid-data", "valid.txt"]
    code, _, err = ecsuite("train-game", "disc_tiny", *files, "--epochs", "1")
    assert code == 0, err
    lines = [
        json.loads(line)["meaning"] for line in Path("runs/disc_tiny/meanings.jsonl").read_text().splitlines()
    ]
    assert lines == [[3, 3, 3], [0, 1, 2]]
    (tmp_path / "valid.txt").write_text("0 1 2 . 3 3 9 . 1\nx\n")
    code, out, err = ecsuite("train-game", "disc_tiny", *files, "--out", "other")
    assert (code, out) == (2, "")
    assert err == "valid.txt:1: expected values from 0 to 3 (world.num_values=4), got 9 (and 1 more)\n"


def test_damaged_state_exits_with_3(ecsuite):
    assert ecsuite("train-game", "disc_tiny", *QUICK)[0] == 0
    for file in Path("runs/disc_tiny").glob("checkpoint-*"):
        file.write_bytes(b"")
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--resume")
    assert (code, out) == (3, "")
    assert "checkpoint-000000002.safetensors is damaged: " in err
    assert err.splitlines()[-1] == (
        "runs/disc_tiny: none of its 1 checkpoints can be read; nothing was changed"
    )


def test_a_loss_that_is_not_finite_exits_with_1(ecsuite):
    command = ["train-game", "disc_tiny", *QUICK, "--set", "optimizer.lr=1e30"]
    code, out, err = ecsuite(*command)
    assert (code, out, err.count("\n")) == (1, "", 4)  # after three lines about what is trained
    err = err.splitlines()[-1]
    assert err.startswith("step ") and "try a smaller optimizer.lr, or training.precision=fp32" in err
    code, out, err = ecsuite(*command, "--out", "other", "--json")
    told = json.loads(out)
    assert (code, told["folder"], told["stopped"], told["measures"]) == (1, "other", "diverged", {})
    assert err.startswith(f"step {told['step']}: ")
    code, out, err = ecsuite(*command)
    assert (code, out) == (2, "")
    assert err.startswith(
        f"runs/disc_tiny holds this run, which diverged at step {told['step']}: try a smaller"
    )
    code, out, err = ecsuite("train-game", "disc_tiny", *QUICK, "--set", "optimizer.lr=1e-3")
    assert code == 0 and out.startswith("all epochs done, step 2 of 2\n")
    assert err.splitlines()[0] == f"runs/disc_tiny: the run that diverged at step {told['step']} is replaced"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 0)])
def test_signals_end_a_process_well_and_resume_goes_on_to_the_same_bytes(ecsuite, tmp_path, number, code):
    """SIGTERM: checkpoint, exit 75. Ctrl-C: complete corpus, exit 0."""
    settings = [
        "disc_tiny", "--epochs", "3", "--set", "training.num_examples=2048", "--set", "training.checkpoint_every=4",
        "--device", "cpu",
    ]  # fmt: skip
    child = subprocess.Popen(
        [*PYTHON, "train-game", *settings, "--out", tmp_path / "run", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list((tmp_path / "run").glob("checkpoint-*")) and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == code, err
    result = json.loads(out)
    assert result["stopped"] == ("preempted" if code else "interrupt") and 0 < result["step"] < 48
    assert (tmp_path / "run" / "corpus.jsonl").exists() == (code == 0)

    assert ecsuite("train-game", *settings, "--out", "run", "--resume")[0] == 0
    assert ecsuite("train-game", *settings, "--out", "whole")[0] == 0
    for name in ("corpus.jsonl", "meanings.jsonl", "checkpoint-000000048.safetensors"):
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()


def test_a_message_keeps_its_place_and_its_way_out(ecsuite):
    name = f"{'a' * 200}\n\x1b[31m.jsonl"
    code, out, err = ecsuite("score", name)
    assert (code, out, err.count("\n")) == (2, "", 1) and "\x1b" not in err
    cut = f"a.json:3: {'x' * 160} … {'x' * 109}; save it as UTF-8"
    assert one_line(f"a.json:3: {'x' * 999}; save it as UTF-8") == cut
    assert len(one_line("x" * 999)) == 300 and one_line("x" * 300) == "x" * 300
