"""`ecsuite new`: write a template for a user's own part."""

import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import NEW
from ecsuite.commands.named import KINDS, read_kind, with_article
from ecsuite.runtime.errors import ConfigError, look_up

FOLDER = resources.files("ecsuite").joinpath("commands", "templates")
TEST = '''"""The checks of `ecsuite check`, as tests: run them with `pytest {test}`."""

import pytest

from ecsuite.testing import checks


@pytest.mark.parametrize("check", checks("{kind}", "{part}"), ids=str)
def test_{stem}(check):
    check()
'''


LAYOUT = """\
about: data of our experiment
# columns that a file needs to be recognised; not needed with --layout
# has: [trial_id, participant]
# conditions on rows that are trials; also !=, and `typed!=` for any text
# where: [task=naming]
# roles by name of a column or of a part of an object, or by pattern; all other columns are stored
columns:
  message: message
  participant: speaker
  "*": kept
# the columns that are attributes of the meaning
attributes: [color, shape]
# content of cells: split (spaces, letters, or a sign), eos, numeric (values, features), missing (leave, value)
split: spaces
"""
"""Template of a layout."""


def new(
    kind: Annotated[
        str,
        typer.Argument(help="Kind of the part: channel, sender, receiver, world, metric, ..."),
        NEW,
    ],
    file: Annotated[Path, typer.Argument(help="The file to write, such as noisy.py.")],
) -> None:
    """Write a file with a working part of your own, and a test next to it."""
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
            raise ConfigError(f"{each}: exists already: choose another name")
    words = re.split("_+", file.stem.strip("_"))
    is_function = kind in ("metric", "grammar", "distance")
    name = file.stem if is_function else "".join(word.capitalize() for word in words)
    if re.search(
        rf"^from .* import .*\b{name}\b", template, re.MULTILINE
    ):  # such as the name of its base class
        name = f"my_{name}" if is_function else f"My{name}"
    part = f"{'' if file.is_absolute() else './'}{file}:{name}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template.replace("NAME", name), encoding="utf-8")
    test.write_text(TEST.format(kind=kind, part=part, stem=file.stem, test=test), encoding="utf-8")
    use = KINDS[read_kind(kind)].use.format(name=part)
    use += f" && ecsuite score runs/{name}" if kind == "grammar" else ""
    print(
        f"{file}: {with_article(kind)} to change; {test}: its test\ntry it: ecsuite check {part}\nuse it: {use}"
    )


def _write_layout(file: Path) -> None:
    if file.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{file}: expected a name for a YAML file, such as lab.yaml")
    if file.exists():
        raise ConfigError(f"{file}: exists already: choose another name")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(LAYOUT, encoding="utf-8")
    place = file if file.is_absolute() else f"./{file}"
    print(
        f"{file}: a layout to change\nuse it: ecsuite score FILE --layout {place}\nothers: ecsuite list layouts"
    )
