"""`ecsuite config`: the complete YAML of an experiment, with a comment at each key."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.named import settings_to_show
from ecsuite.commands.options import Set, TrustCode
from ecsuite.eval.experiments.grids import FOLDER, command_of, shipped_studies
from ecsuite.parts.config import shipped_configs
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError, look_up

TEXTS = ("name", "about")
"""Keys that need no comment."""
LONGEST = 110
"""Maximum length of a comment with several sentences."""


def config(
    game: Annotated[
        str,
        typer.Argument(help="A shipped game or study (see `ecsuite list`), or a YAML file of a game."),
        names_of("games"),
    ],
    assign: Set = None,
    diff: Annotated[
        str | None, typer.Option(help="Print only the differences from this experiment."), names_of("games")
    ] = None,
    trust_code: TrustCode = False,
) -> None:
    """Print every setting of a game, or a shipped study, as YAML with comments, to save, edit and run."""
    from ecsuite.games.config.experiment import load_experiment

    if game.startswith(f"{FOLDER}/") or (game in shipped_studies() and game not in shipped_configs()):
        if assign or diff is not None:
            raise ConfigError(
                f"{game}: --set and --diff are for games only; save the study and edit the file"
            )
        print(_study(game), end="")
        return

    assigned = [*settings_to_show(game), *(assign or [])]
    experiment = load_experiment(game, assigned, trust_code=trust_code)
    if diff is None:
        print("\n".join(commented(experiment)))
        return
    other = load_experiment(diff, settings_to_show(diff), trust_code=trust_code)
    before, now = (dict(_leaves(each.to_tree())) for each in (experiment, other))
    for key in {**before, **now}:
        if before.get(key) != now.get(key):
            print(f"{key}: {before.get(key, 'not there')} -> {now.get(key, 'not there')}")


def _study(name: str) -> str:
    """The YAML of a shipped study, with a comment about the command that runs it."""
    text = look_up("study", name.removeprefix(f"{FOLDER}/"), shipped_studies()).read_text("utf-8")
    return f"# ecsuite {command_of(name)} FILE.yaml runs it; ecsuite config GAME has the settings of a game.\n{text}"


def commented(experiment: Any) -> Iterator[str]:
    """Yield the YAML lines of an experiment, each key with the first sentence of its documentation.

    Args:
        experiment: An `Experiment`, or options in it.
    """
    from ecsuite.games.config.sections import CHECKSUMS

    tree = {key: value for key, value in experiment.to_tree().items() if key not in CHECKSUMS}
    yield from _section(experiment, tree, 0)


def _section(options: Any, tree: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield the lines of a section: its keys in order, with nested sections indented."""
    from ecsuite.parts.registry import KIND, Part, option_docs

    kind: Any = type(options)
    docs = option_docs(kind)
    for key, value in tree.items():
        comment = _short(docs.get(key, "")) if key not in TEXTS else ""
        indent, inner = "  " * depth, getattr(options, key, None)
        if isinstance(inner, Part):
            yield f"{indent}{key}:  # {comment}"
            yield f"{indent}  {KIND}: {inner.kind}"
            yield from _section(
                inner.options, {name: each for name, each in value.items() if name != KIND}, depth + 1
            )
        elif isinstance(value, dict) and value and not isinstance(inner, dict):
            yield f"{indent}{key}:  # {comment}"
            yield from _section(inner, value, depth + 1)
        else:
            yield f"{indent}{key}: {_written(value)}" + (f"  # {comment}" if comment else "")


def _short(doc: str) -> str:
    """The documentation of a setting, or its first sentence if it is long."""
    return (doc if len(doc) <= LONGEST else re.split(r"\. (?=[A-Z])", doc)[0]).rstrip(".")


def _written(value: Any) -> str:
    """Format a value as YAML in one line."""
    return as_yaml(value, default_flow_style=True, width=10**6).removesuffix("...\n").strip()


def _leaves(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
