"""`ecsuite list`: everything that can be named on the command line and in a YAML file."""

import inspect

from ecsuite.commands.options import Json
from ecsuite.components import Registry
from ecsuite.eval.reports.console import print_json


def registered_names() -> dict[str, dict[str, str]]:
    """What can be named, by kind, with a line each."""
    from ecsuite.agents.registry import CELLS, PERCEPTIONS, RECEIVERS, SENDERS
    from ecsuite.eval.concept_games.study import named_studies as cbm_studies
    from ecsuite.eval.icy.study import PROTOCOLS, named_studies
    from ecsuite.eval.metrics import METRICS
    from ecsuite.eval.translation.presets import PRESETS as TRANSLATION
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS as RULES
    from ecsuite.eval.xferbench.sources import SOURCES
    from ecsuite.eval.xtreme.presets import PRESETS as TRANSFER
    from ecsuite.eval.xtreme.protocols import PROTOCOLS as WAYS
    from ecsuite.eval.xtreme.scoring.tasks import TASKS as XTREME
    from ecsuite.games.experiment import named_configs
    from ecsuite.games.registry import CHANNELS, LOSSES, OPTIMIZERS, SCHEDULES, TASKS, WORLDS
    from ecsuite.grammars import GRAMMARS

    return {
        "games": named_configs(),
        "worlds": WORLDS.lines(),
        "tasks": TASKS.lines(),
        "channels": CHANNELS.lines(),
        "perceptions": PERCEPTIONS.lines(),
        "senders": agent_names(SENDERS, CELLS),
        "receivers": agent_names(RECEIVERS, CELLS),
        "losses": LOSSES.lines(),
        "optimizers": OPTIMIZERS.lines(),
        "schedules": SCHEDULES.lines(),
        "grammars": {name: first_line(grammar) for name, grammar in GRAMMARS.items()},
        "metrics": METRICS.lines(),
        "protocols": PROTOCOLS,
        "studies": named_studies() | cbm_studies(),
        "presets": {name: preset.about for name, preset in PRESETS.items()},
        "xferbench protocols": {name: protocol.about for name, protocol in RULES.items()},
        "baselines": {name: first_line(source) for name, source in SOURCES.items()},
        "translation presets": {
            name: f"BART with {sizes.num_layers} + {sizes.num_layers} layers of {sizes.width}"
            for name, sizes in ((name, preset.model) for name, preset in TRANSLATION.items())
        },
        "xtreme tasks": {
            name: f"{task.title}, {len(task.languages)} languages" for name, task in XTREME.items()
        },
        "xtreme presets": {name: preset.about for name, preset in TRANSFER.items()},
        "xtreme protocols": {name: protocol.about for name, protocol in WAYS.items()},
    }


def agent_names(agents: Registry, cells: Registry) -> dict[str, str]:
    """Names of agents with a line each: a recurrent agent is named by its cell."""
    lines = agents.lines()
    recurrent = lines.pop("recurrent")
    return {**cells.lines(), "CELL-2l": recurrent, **lines}


def first_line(entry: object) -> str:
    """The first line of a thing's documentation."""
    return (inspect.getdoc(entry) or "").split("\n")[0]


def list_names(as_json: Json = False) -> None:
    """List every game, world, grammar, sender, receiver, channel, metric, study and preset, a line each."""
    names = registered_names()
    if as_json:
        print_json(names)
        return
    for kind, entries in names.items():
        print(kind)
        for name, about in entries.items():
            print(f"  {name:23}{about}")
