"""`ecsuite new`: write a file to begin a part of one's own with."""

import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import NEW
from ecsuite.runtime.errors import ConfigError, look_up

FOLDER = resources.files("ecsuite").joinpath("commands", "templates")
TEST = '''"""The checks of `ecsuite check`, as tests: run them with `pytest {test}`."""

import pytest

from ecsuite.testing import checks


@pytest.mark.parametrize("check", checks("{kind}", "{part}"), ids=str)
def test_{stem}(check):
    check()
'''
USE = {
    "play": "ecsuite train-game disc_small --set play={part}",
    "participant": "ecsuite train-game naming --set play.participant={part}",
    "backend": "ecsuite train-game naming --set play.participant=language_model --set play.participant.backend={part}",
    "environment": "ecsuite train-game speaker_listener --set play.environment={part}",
    "learner": "ecsuite train-game speaker_listener --set play.learner={part}",
    "actor": "ecsuite train-game speaker_listener --set play.agents={part}",
    "meeting": (
        "ecsuite train-game disc_small --set society.senders=4 --set society.receivers=4 --set society.meets={part}"
    ),
    "reasoning": "ecsuite train-game disc_small --set reasoning={part}",
    "reward": "ecsuite train-game disc_small --set channel=reinforce --set loss=reward --set loss.reward={part}",
    "frequencies": "ecsuite train-game disc_small --set world.frequencies={part}",
    "distance": "ecsuite score runs/disc_small --metrics topsim,message_distance={part}",
    "perception": "ecsuite train-game disc_small --set sender.perception={part}",
    "noise": "ecsuite train-game disc_small --set channel.noise={part}",
    "optimizer": "ecsuite train-game disc_small --set optimizer={part}",
    "schedule": "ecsuite train-game disc_small --set schedule={part}",
    "grammar": "ecsuite grammar {part} && ecsuite score runs/{name}",
    "logger": "ecsuite train-game disc_small --log {part}",
    "metric": "ecsuite score runs/disc_small --metrics {part}",
}
"""How a part is used, where that is not `--KIND`."""


LAYOUT = """\
about: data of our experiment
# columns by which a file is recognised for sure; only asked for with --layout, none are needed
# has: [trial_id, participant]
# which rows are trials; also !=, and a column of any text with `typed!=`
# where: [task=naming]
# roles by name of column, or of a part of an object, or pattern; all other columns are stored
columns:
  message: message
  participant: speaker
  "*": kept
# the only columns that were meant
attributes: [color, shape]
# how cells are written: split (spaces, letters, or a sign), eos, numeric (values, features), missing (leave, value)
split: spaces
"""
"""A layout to edit."""


def new(
    kind: Annotated[
        str,
        typer.Argument(help="What it shall be: channel, sender, receiver, world, metric, ..."),
        NEW,
    ],
    file: Annotated[Path, typer.Argument(help="The file to write, such as noisy.py.")],
) -> None:
    """Write a file with a part of your own that works as it stands, and a test beside it."""
    if kind == "layout":
        _write_layout(file)
        return
    templates = {entry.name.removesuffix(".txt"): entry for entry in FOLDER.iterdir()}
    kinds = dict(sorted({**templates, "layout": file}.items()))
    template = look_up("kind", kind, kinds).read_text(encoding="utf-8")
    if file.suffix != ".py" or not file.stem.isidentifier():
        raise ConfigError(f"{file}: expected a name for a Python file, such as noisy.py")
    test = file.with_name(f"test_{file.name}")
    for each in (file, test):
        if each.exists():
            raise ConfigError(f"{each} is there already: choose another name")
    words = re.split("_+", file.stem.strip("_"))
    is_function = kind in ("metric", "grammar", "distance")
    name = file.stem if is_function else "".join(word.capitalize() for word in words)
    if re.search(rf"^from .* import .*\b{name}\b", template, re.MULTILINE):  # such as that of its base class
        name = f"my_{name}" if is_function else f"My{name}"
    part = f"{'' if file.is_absolute() else './'}{file}:{name}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template.replace("NAME", name), encoding="utf-8")
    test.write_text(TEST.format(kind=kind, part=part, stem=file.stem, test=test), encoding="utf-8")
    use = USE.get(kind, f"ecsuite train-game disc_small --{kind} {{part}}").format(part=part, name=name)
    article = "an" if kind[0] in "aeiou" else "a"
    print(
        f"{file}: {article} {kind} to change; {test}: its test\ntry it: ecsuite check {part}\nuse it: {use}"
    )


def _write_layout(file: Path) -> None:
    """Write a layout to edit."""
    if file.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{file}: expected a name for a YAML file, such as lab.yaml")
    if file.exists():
        raise ConfigError(f"{file} is there already: choose another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(LAYOUT, encoding="utf-8")
    place = file if file.is_absolute() else f"./{file}"
    print(
        f"{file}: a layout to change\nuse it: ecsuite score FILE --layout {place}\nothers: ecsuite list layouts"
    )
