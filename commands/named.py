"""Names for the command line and YAML files, by kind; the modules of a kind are imported on use.

`ecsuite list` prints the names, and shells complete them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecsuite.parts.config import parse_yaml, shipped_configs
from ecsuite.runtime.errors import ConfigError, look_up

if TYPE_CHECKING:
    from ecsuite.parts.registry import Registry


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Names of one kind."""

    names: Callable[[], Mapping[str, str]]
    """Function that returns all names with one-line descriptions."""
    use: str = ""
    """Command that uses the name `{name}`; empty: none, or it depends on the name."""
    usual: tuple[str, ...] = ()
    """Names to list first."""
    registry: str | None = None
    """`module:NAME` of the registry of parts, whose classes have `Options`, or of metrics; None: not in a registry."""
    functions: str | None = None
    """`module:NAME` of the registry of functions, or of classes without options."""
    table: str | None = None
    """`module:NAME` of a dict of settings or descriptions."""


def _of_registry(place: str, use: str, *usual: str) -> Kind:
    return Kind(names=lambda: found(place).lines(), use=use, usual=usual, registry=place)


def _of_functions(place: str, use: str, *usual: str) -> Kind:
    return Kind(names=lambda: found(place).lines(), use=use, usual=usual, functions=place)


def _of_agents(place: str, use: str, *usual: str) -> Kind:
    return Kind(
        names=lambda: agent_names(found(place), found("agents.registry:CELLS")),
        use=use,
        usual=usual,
        registry=place,
    )


def _of_table(place: str, use: str, line: Callable[[Any], str] = str) -> Kind:
    return Kind(
        names=lambda: {name: line(entry) for name, entry in found(place).items()}, use=use, table=place
    )


def about(entry: Any) -> str:
    """The one-line description of an entry."""
    return str(entry.about)


def found(place: str) -> Any:
    """Import the object `module:NAME` of `ecsuite`."""
    module, name = place.split(":")
    return getattr(import_module(f"ecsuite.{module}"), name)


def agent_names(agents: "Registry", cells: "Registry") -> dict[str, str]:
    """Names of agents with one-line descriptions; recurrent agents are named by their cell."""
    lines = agents.lines()
    recurrent = lines.pop("recurrent")
    return {**cells.lines(), "CELL-2l": recurrent, **lines}


def _described(folder: str = "", prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the shipped configs of a folder with the value of `about`, the key in their first line."""
    for name, file in shipped_configs(folder).items():
        if name.startswith(prefix):
            line = file.read_text("utf-8").partition("\n")[0]
            yield f"{folder}/{name}" if folder else name, str(parse_yaml(line, name)["about"])


def game_of(play: str) -> str:
    """The first shipped game with a play; `disc_small` for signalling, the default that no game names."""
    for game, file in shipped_configs().items():
        if parse_yaml(file.read_text("utf-8"), game).get("play", {}).get("kind") == play:
            return game
    return "disc_small"


def settings_to_show(game: str) -> list[str]:
    """Assignments that replace a required file of the user, so that a shipped game can be shown."""
    shipped = shipped_configs()
    tree = parse_yaml(shipped[game].read_text("utf-8"), game) if game in shipped else {}
    needs_file = tree.get("world", {}).get("kind") == "features"
    return ["world.features=FILE.npz"] if needs_file else []


_GAME = "ecsuite train-game disc_small"
_ACTING = "ecsuite train-game speaker_listener"
_NAMING = "ecsuite train-game naming"
_XFERBENCH = "ecsuite score runs/disc_small --metrics xferbench"

KINDS: Mapping[str, Kind] = {
    "actors": _of_registry("games.config.registry:ACTORS", f"{_ACTING} --set play.agents={{name}}"),
    "backends": _of_registry(
        "language_models.backend:BACKENDS",
        f"{_NAMING} --set play.participant=language_model --set play.participant.backend={{name}}",
    ),
    "baselines": _of_functions("eval.xferbench.presets:SOURCES", "ecsuite score reference {name}"),
    "cells": _of_functions("agents.registry:CELLS", f"{_GAME} --set sender.cell={{name}}"),
    "channels": _of_registry(
        "games.config.registry:CHANNELS", f"{_GAME} --channel {{name}}", "gumbel", "reinforce", "quantized"
    ),
    "claims": Kind(
        names=lambda: {name.removeprefix("claims/"): line for name, line in _described("claims")},
        use="ecsuite reproduce {name} --plan",
    ),
    "distances": _of_table(
        "eval.metrics.topsim:OF_MESSAGES",
        "ecsuite score runs/disc_small --metrics topsim,message_distance={name}",
    ),
    "environments": _of_registry(
        "games.config.registry:ENVIRONMENTS",
        f"{_ACTING} --set play.environment={{name}}",
        "speaker_listener",
        "riddle",
    ),
    "frequencies": _of_registry(
        "games.worlds.candidates:FREQUENCIES", f"{_GAME} --set world.frequencies={{name}}"
    ),
    "games": Kind(
        names=lambda: dict(_described()),
        use="ecsuite train-game {name}",
        usual=("disc_small", "recon_large", "objects", "shape_gs"),
    ),
    "grammars": _of_functions(
        "grammars.registry:GRAMMARS", "ecsuite grammar {name}", "concat", "shufdet", "hol", "zipf_parentheses"
    ),
    "layouts": Kind(
        names=lambda: {name.removeprefix("layouts/"): line for name, line in _described("layouts")},
        use="ecsuite score FILE --layout {name}; your own: ecsuite new layout lab.yaml",
        usual=("otree", "jspsych", "psychopy", "egg_channel"),
    ),
    "learners": _of_registry("games.config.registry:LEARNERS", f"{_ACTING} --set play.learner={{name}}"),
    "loggers": _of_registry("games.config.registry:LOGGERS", f"{_GAME} --log {{name}}"),
    "lookup tables": _of_table(
        "agents.registry:TABLES", "ecsuite icy --model {name}; as receivers: --role receiver"
    ),
    "losses": _of_registry("games.config.registry:LOSSES", f"{_GAME} --loss {{name}}"),
    "meetings": _of_registry(
        "games.config.registry:MEETINGS",
        f"{_GAME} --set society.senders=4 --set society.receivers=4 --set society.meets={{name}}",
    ),
    "metrics": _of_registry(
        "eval.metrics:METRICS",
        "ecsuite score runs/disc_small --metrics {name}",
        "topsim",
        "posdis",
        "cbm",
        "xferbench",
    ),
    "noises": _of_registry("games.config.registry:NOISES", f"{_GAME} --set channel.noise={{name}}"),
    "optimizers": _of_registry("games.config.registry:OPTIMIZERS", f"{_GAME} --set optimizer={{name}}"),
    "participants": _of_registry(
        "games.config.registry:PARTICIPANTS", f"{_NAMING} --set play.participant={{name}}"
    ),
    "perceptions": _of_registry(
        "agents.registry:PERCEPTIONS", f"{_GAME} --set sender.perception={{name}}", "linear", "mlp", "conv"
    ),
    "plays": _of_registry("games.config.registry:PLAYS", f"{_GAME} --set play={{name}}"),
    "presets": _of_table("eval.xferbench.presets:PRESETS", f"{_XFERBENCH},preset={{name}}", about),
    "prompts": _of_table(
        "language_models.prompts:SHIPPED",
        f"{_NAMING} --set play.participant=language_model --set play.participant.prompt={{name}}",
    ),
    "protocols": Kind(
        names=lambda: found("eval.icy.protocol:PROTOCOLS"), use="ecsuite icy --protocol {name}"
    ),
    "reasonings": _of_registry("games.config.registry:REASONINGS", f"{_GAME} --set reasoning={{name}}"),
    "receivers": _of_agents(
        "agents.registry:RECEIVERS", f"{_GAME} --receiver {{name}}", "gru", "lstm", "hier"
    ),
    "rewards": _of_registry(
        "games.config.registry:REWARDS",
        f"{_GAME} --set channel=reinforce --set loss=reward --set loss.reward={{name}}",
    ),
    "schedules": _of_registry("games.config.registry:SCHEDULES", f"{_GAME} --set schedule={{name}}"),
    "senders": _of_agents(
        "agents.registry:SENDERS", f"{_GAME} --sender {{name}}", "gru", "lstm", "transformer"
    ),
    "studies": Kind(
        names=lambda: dict(_described("paper")),
        usual=("paper/icy_table3", "paper/cbm_table1", "paper/xferbench_search"),
    ),
    "tasks": _of_registry("games.config.registry:TASKS", f"{_GAME} --task {{name}}"),
    "translation presets": _of_table(
        "eval.translation.presets:PRESETS",
        "ecsuite translate runs/disc_small --pairs FILE --preset {name}",
        lambda preset: (
            f"BART with {preset.model.num_layers} + {preset.model.num_layers} layers of {preset.model.width}"
        ),
    ),
    "worlds": _of_registry(
        "games.config.registry:WORLDS", f"{_GAME} --world {{name}}", "attributes", "objects", "shapeworld"
    ),
    "xferbench protocols": _of_table(
        "eval.xferbench.presets:PROTOCOLS", f"{_XFERBENCH},protocol={{name}}", about
    ),
    "xtreme presets": _of_table(
        "eval.xtreme.presets:PRESETS", "ecsuite xtreme runs/disc_small --preset {name}", about
    ),
    "xtreme protocols": _of_table(
        "eval.xtreme.presets:PROTOCOLS", "ecsuite xtreme runs/disc_small --protocol {name}", about
    ),
    "xtreme tasks": _of_table(
        "eval.xtreme.scoring:ENTRIES",
        "ecsuite xtreme runs/disc_small --tasks {name}",
        lambda entry: f"{entry['title']}, {len(entry['languages'])} languages: {entry['about']}",
    ),
}
"""Kinds in alphabetical order."""


def read_kind(text: str) -> str:
    """Parse the name of a kind, which may be singular, or have hyphens instead of spaces.

    Raises:
        ConfigError: If the kind is unknown.
    """
    written = text.lower().replace("-", " ").replace("_", " ")
    for kind in KINDS:
        if written in (kind, singular(kind)):
            return kind
    if singular(f"{written.removesuffix('s')}s") in ("agent", "model"):
        raise ConfigError(
            f"unknown kind '{text}': agents are listed as senders and receivers: ecsuite list senders, ecsuite list "
            "receivers"
        )
    if of := [singular(kind) for kind, names in registered_names().items() if text in names]:
        some = [f"ecsuite list {kind.replace(' ', '-')} {text}" for kind in of]
        kinds = " and ".join(", ".join(map(with_article, of)).rsplit(", ", 1))
        raise ConfigError(f"{text} is {kinds}: {' or '.join(some)}")
    look_up("kind", text, {kind.replace(" ", "-"): None for kind in KINDS})
    raise AssertionError


def singular(kind: str) -> str:
    """Singular of a kind: `studies` gives `study`; `frequencies` has no singular."""
    for ending, one in (("cies", "cies"), ("ies", "y"), ("sses", "ss"), ("s", "")):
        if kind.endswith(ending):
            return kind.removesuffix(ending) + one
    raise AssertionError


def with_article(word: str) -> str:
    """A singular kind with its article: `a channel`, `an actor`, `frequencies`."""
    return word if word == "frequencies" else f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def registered_names() -> dict[str, dict[str, str]]:
    """All names with one-line descriptions, by kind."""
    return {kind: dict(entry.names()) for kind, entry in KINDS.items()}
