"""The command line as users meet it: output, messages, exit codes, and what it must not import."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from ecsuite import __version__
from ecsuite.agents.registry import CELLS, RECEIVERS, SENDERS, TABLES
from ecsuite.cli import COMMANDS, app, commands_of
from ecsuite.commands.named import KINDS, found
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.claims.claim import shipped_claims
from ecsuite.eval.experiments.grids import CBM, ICY, SWEEP, XFERBENCH
from ecsuite.eval.icy.protocol import PROTOCOLS
from ecsuite.eval.metrics.topsim import OF_MESSAGES
from ecsuite.eval.translation.presets import PRESETS as TRANSLATION
from ecsuite.eval.xferbench.presets import PRESETS
from ecsuite.eval.xferbench.presets import PROTOCOLS as RULES
from ecsuite.eval.xtreme.presets import PRESETS as TRANSFER
from ecsuite.eval.xtreme.presets import PROTOCOLS as WAYS
from ecsuite.eval.xtreme.scoring.tasks import TASKS as XTREME
from ecsuite.formats import write_corpus
from ecsuite.formats.layouts import shipped_layouts
from ecsuite.games.config.experiment import load_experiment, named_configs
from ecsuite.language_models.prompts import SHIPPED
from ecsuite.parts.error_messages import one_line

PYTHON = [sys.executable, "-c", "from ecsuite.cli import main; main()"]


def test_help_imports_nothing_heavy():
    """One process asks for every help; importing torch alone would take seconds."""
    script = """
import sys
from ecsuite.cli import COMMANDS, main
for arguments in [[], ["--help"], *([*command.split(), "--help"] for command in COMMANDS if command not in HEAVY)]:
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
    "list", "list games", "list metrics", "list grammars", "list baselines",
    "score c.jsonl", "score c.jsonl --json --metrics cbm,topsim", "show run",
    "convert c.jsonl c.csv --to csv", "compare c.jsonl run", "cite cbm",
    "score run --metrics conflict_count", "score nowhere",
    "train-game nowhere", "config nowhere", "show nowhere", "compare table nowhere", "compare nowhere run",
    "convert nowhere d.csv --to csv", "grammar nowhere", "translate nowhere",
]  # fmt: skip
"""Commands that train nothing, and mistakes."""


@pytest.mark.slow
def test_what_trains_nothing_imports_nothing_heavy(tmp_path):
    """One process runs all; one that imports torch, or SciPy's half a second of distributions, is named."""
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
    heavy = {"torch", "scipy.stats", "tokenizers", "transformers", "sklearn"}
    heavy |= {"numpy"} if line.startswith("list") else set()
    assert not heavy & set(sys.modules), (line, heavy)
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
            words = 2 if " ".join(arguments[:2]) in COMMANDS else 1
            name, rest = " ".join(arguments[:words]), arguments[words:]
            group.get_command(None, name).make_context(name, rest)
        else:
            assert arguments in (["--help"], ["--version"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_work_and_fits(ecsuite, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "100")
    assert 1 + (" " not in name) <= len(COMMANDS[name].examples) <= 3
    code, out, err = ecsuite(*name.split(), "--help")
    assert (code, err) == (0, "") and "<" not in out
    assert len(out.splitlines()) <= 45
    examples = out.split("Examples:\n")[1].splitlines()
    assert len(examples) == len(COMMANDS[name].examples)
    for line in examples:
        parsed(line.strip())
    code, every, err = ecsuite(*name.split(), "--help-all")
    assert (code, err) == (0, "") and len(every) >= len(out) - 80
    options = {option for option in LISTING[name].split() if option.startswith("--")} - {"--help"}
    assert all(option in every for option in options)


def test_the_help_has_the_commands_in_groups_a_line_each(ecsuite):
    """On a screen of 80 columns and 40 lines."""
    code, out, err = ecsuite("--help")
    assert (code, err) == (0, "") and max(map(len, out.splitlines())) <= 80 and out.count("\n") <= 40
    lines = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert [name for name in lines if name in COMMANDS] == list(commands_of())
    groups = [entry.group for entry in COMMANDS.values()]
    assert len([group for group, _ in itertools.groupby(groups)]) == len(set(groups)) == 6
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


def test_ctrl_c_is_told_in_a_line(ecsuite, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/config.yaml").touch()
    monkeypatch.setattr("ecsuite.games.runs.run.load_run", interrupted)
    for command in (["audit", "a"], ["cross-play", "a", "b"], ["evaluate", "a"]):
        assert ecsuite(*command) == (130, "", "stopped\n")


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
        kind: found(entry.registry or entry.functions).parts
        for kind, entry in KINDS.items()
        if entry.registry or entry.functions
    }
    registries |= {
        "games": named_configs(), "senders": senders, "receivers": receivers, "prompts": SHIPPED,
        "distances": OF_MESSAGES, "presets": PRESETS, "protocols": PROTOCOLS,
        "studies": {f"paper/{name}" for files in (ICY, CBM, XFERBENCH, SWEEP) for name in files.shipped()},
        "claims": shipped_claims(), "lookup tables": TABLES, "layouts": shipped_layouts(), "xferbench protocols": RULES,
        "translation presets": TRANSLATION,
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


def test_a_message_keeps_its_place_and_its_way_out(ecsuite):
    name = f"{'a' * 200}\n\x1b[31m.jsonl"
    code, out, err = ecsuite("score", name)
    assert (code, out, err.count("\n")) == (2, "", 1) and "\x1b" not in err
    cut = f"a.json:3: {'x' * 160} … {'x' * 109}; save it as UTF-8"
    assert one_line(f"a.json:3: {'x' * 999}; save it as UTF-8") == cut
    assert len(one_line("x" * 999)) == 300 and one_line("x" * 300) == "x" * 300
