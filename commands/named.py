"""Names for the command line and YAML files, by kind; the modules of a kind are imported on use.

`ecsuite list` prints it, and the completion of a shell suggests it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecsuite.parts.config import parse_yaml, shipped_configs
from ecsuite.runtime.errors import look_up

if TYPE_CHECKING:
    from ecsuite.parts.registry import Registry


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Names of one kind."""

    names: Callable[[], Mapping[str, str]]
    """All names, with a line for people each."""
    usual: tuple[str, ...] = ()
    """Names to list first; empty: in their order."""
    registry: str | None = None
    """`module:NAME` of the registry of such parts; None: they are no parts of a game, and no metrics."""
    functions: str | None = None
    """`module:NAME` of the registry of functions with these names."""
    table: str | None = None
    """`module:NAME` of a dict of settings with these names."""


def _of_registry(place: str, *usual: str) -> Kind:
    return Kind(names=lambda: found(place).lines(), usual=usual, registry=place)


def _of_functions(place: str, *usual: str) -> Kind:
    return Kind(names=lambda: found(place).lines(), usual=usual, functions=place)


def _of_agents(place: str, *usual: str) -> Kind:
    return Kind(
        names=lambda: agent_names(found(place), found("agents.registry:CELLS")), usual=usual, registry=place
    )


def _of_table(place: str, line: Callable[[Any], str], *usual: str) -> Kind:
    return Kind(
        names=lambda: {name: line(entry) for name, entry in found(place).items()}, usual=usual, table=place
    )


def about(entry: Any) -> str:
    """The line of an entry that has one."""
    return str(entry.about)


def found(place: str) -> Any:
    """Import the object `module:NAME` of `ecsuite`."""
    module, name = place.split(":")
    return getattr(import_module(f"ecsuite.{module}"), name)


def agent_names(agents: "Registry", cells: "Registry") -> dict[str, str]:
    """Names of agents with a line each: a recurrent agent is named by its cell."""
    lines = agents.lines()
    recurrent = lines.pop("recurrent")
    return {**cells.lines(), "CELL-2l": recurrent, **lines}


def _described(folder: str = "", prefix: str = "") -> Iterator[tuple[str, str]]:
    """The shipped configs in a folder with the value of their key `about`, which is in the first line."""
    for name, file in shipped_configs(folder).items():
        if name.startswith(prefix):
            line = file.read_text("utf-8").partition("\n")[0]
            yield f"{folder}/{name}" if folder else name, str(parse_yaml(line, name)["about"])


def settings_to_show(game: str) -> list[str]:
    """Assignments with which a shipped game can be shown that else needs a file of the user's."""
    shipped = shipped_configs()
    tree = parse_yaml(shipped[game].read_text("utf-8"), game) if game in shipped else {}
    needs_file = tree.get("world", {}).get("kind") == "features"
    return ["world.features=FILE.npz"] if needs_file else []


KINDS: Mapping[str, Kind] = {
    "games": Kind(
        names=lambda: dict(_described()), usual=("disc_small", "recon_large", "objects", "shape_gs")
    ),
    "plays": _of_registry("games.config.registry:PLAYS"),
    "participants": _of_registry("games.config.registry:PARTICIPANTS"),
    "backends": _of_registry("language_models.backend:BACKENDS"),
    "prompts": _of_table("language_models.prompts:SHIPPED", str),
    "environments": _of_registry("games.config.registry:ENVIRONMENTS", "speaker_listener", "riddle"),
    "actors": _of_registry("games.config.registry:ACTORS"),
    "learners": _of_registry("games.config.registry:LEARNERS"),
    "worlds": _of_registry("games.config.registry:WORLDS", "attributes", "objects", "shapeworld"),
    "tasks": _of_registry("games.config.registry:TASKS"),
    "channels": _of_registry("games.config.registry:CHANNELS", "gumbel", "reinforce", "quantized"),
    "noises": _of_registry("games.config.registry:NOISES"),
    "perceptions": _of_registry("agents.registry:PERCEPTIONS", "linear", "mlp", "conv"),
    "senders": _of_agents("agents.registry:SENDERS", "gru", "lstm", "transformer"),
    "receivers": _of_agents("agents.registry:RECEIVERS", "gru", "lstm", "hier"),
    "losses": _of_registry("games.config.registry:LOSSES"),
    "optimizers": _of_registry("games.config.registry:OPTIMIZERS"),
    "schedules": _of_registry("games.config.registry:SCHEDULES"),
    "loggers": _of_registry("games.config.registry:LOGGERS"),
    "grammars": _of_functions("grammars.registry:GRAMMARS", "concat", "shufdet", "hol", "zipf_parentheses"),
    "metrics": _of_registry("eval.metrics:METRICS", "topsim", "posdis", "cbm", "xferbench"),
    "protocols": Kind(names=lambda: found("eval.icy.protocol:PROTOCOLS")),
    "studies": Kind(
        names=lambda: dict(_described("paper")),
        usual=("paper/icy_table3", "paper/cbm_table1", "paper/xferbench_search"),
    ),
    "claims": Kind(
        names=lambda: {name.removeprefix("claims/"): line for name, line in _described("claims")},
    ),
    "layouts": Kind(
        names=lambda: {name.removeprefix("layouts/"): line for name, line in _described("layouts")},
        usual=("otree", "jspsych", "psychopy", "egg_channel"),
    ),
    "presets": _of_table("eval.xferbench.presets:PRESETS", about),
    "xferbench protocols": _of_table("eval.xferbench.presets:PROTOCOLS", about),
    "baselines": _of_functions("eval.xferbench.presets:SOURCES"),
    "translation presets": _of_table(
        "eval.translation.presets:PRESETS",
        lambda preset: (
            f"BART with {preset.model.num_layers} + {preset.model.num_layers} layers of {preset.model.width}"
        ),
    ),
    "xtreme tasks": _of_table(
        "eval.xtreme.scoring:ENTRIES",
        lambda entry: f"{entry['title']}, {len(entry['languages'])} languages",
    ),
    "xtreme presets": _of_table("eval.xtreme.presets:PRESETS", about),
    "xtreme protocols": _of_table("eval.xtreme.presets:PROTOCOLS", about),
}
"""In the order of `ecsuite list`."""


def read_kind(text: str) -> str:
    """The key of a kind as users write it: in the singular, or with hyphens for spaces, too.

    Raises:
        ConfigError: If there is no such kind.
    """
    written = text.lower().replace("-", " ").replace("_", " ")
    for kind in KINDS:
        if written in (kind, singular(kind)):
            return kind
    look_up("kind", text, {kind.replace(" ", "-"): None for kind in KINDS})
    raise AssertionError


def singular(kind: str) -> str:
    """The word for one of a kind: `studies` gives `study`."""
    for ending, one in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if kind.endswith(ending):
            return kind.removesuffix(ending) + one
    raise AssertionError


def registered_names() -> dict[str, dict[str, str]]:
    """Everything that can be named, by kind, with a line each."""
    return {kind: dict(entry.names()) for kind, entry in KINDS.items()}
