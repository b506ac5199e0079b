"""Facts of the configs of one or several runs: parts with their options and works, values, sizes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ecsuite.agents.registry import CELLS, PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.eval.views.citations import keys_of
from ecsuite.eval.views.figures.canvas import AXIS_WORDS
from ecsuite.games.config.experiment import CANDIDATES, may_hold_out
from ecsuite.games.config.registry import (
    CHANNELS,
    LOSSES,
    MEETINGS,
    OPTIMIZERS,
    PLAYS,
    SCHEDULES,
    TASKS,
    WORLDS,
)
from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.registry import KIND, Registry

Tree = Mapping[str, Any]
"""Config of a run, or a section of one."""
ASIDE = re.compile(r" ?\([^()]*(\b(19|20)\d\d\b|of a run|asked for by name)[^()]*\)")
"""Parentheses in the description of a part that contain works (which are cited) or commands."""
CELL_SUFFIX = re.compile(r", \w+:CELL")
"""Part of a description on how to append a cell to a name."""
AGENTS = ("sender", "receiver")
"""Kinds of parts whose descriptions end with their names on the command line."""
NEUTRAL = ("none", "uniform")
"""Kinds of a nested part that change nothing."""
SIZES = {"num_examples", "batch_size", "num_epochs"}
"""Settings of the training that determine the number of steps."""
STOPS = {
    "until_accuracy": "when an evaluation reaches an accuracy of {}",
    "max_minutes": "after {} minutes",
    "patience": "after {} evaluations without a better value",
}
"""Settings that stop a training early, in words."""
MODES = {"greedy": "greedy decoding", "sample": "sampled symbols"}
"""Modes of an evaluation in words."""


@dataclass(frozen=True, slots=True)
class Cite:
    """Citation of works; empty if there are none."""

    keys: tuple[str, ...]
    """Keys in the list of works."""

    @classmethod
    def of(cls, *names: object) -> "Cite":
        """Cite the works of games, parts, metrics and so on by their names."""
        return cls(tuple(keys_of(map(str, names))))


Piece = str | Cite
Phrase = Sequence[Piece]
"""Text with citations."""
Facts = Mapping[str, Any]
"""Facts of a template by name: a text, a citation, a phrase, a list of further facts, or a bool; None: missing."""


def config_facts(
    configs: Sequence[Tree], endings: Sequence[Tree] = (), chance: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, Any]:
    """Collect the facts of games, agents, training and evaluation.

    Args:
        configs: Configs of runs.
        endings: Metadata of the end of each training; empty for runs that have not ended.
        chance: Chance levels of each measure.
    """
    is_played = are_rounds(configs)
    kinds = values_of(sections(configs, "play"), "kind")
    is_validated = not kinds or any(is_foreign(kind) or PLAYS.load(kind).plays_validation for kind in kinds)
    games = values_of(configs, "name")
    plays, training = sections(configs, "play"), sections(configs, "training")
    evaluation, society = sections(configs, "evaluation"), sections(configs, "society")
    without_others = () if any(values_of(plays, "num_others")) else ("num_others", "other")
    meetings = [tree["meets"] for tree in society if isinstance(tree.get("meets"), Mapping)]
    has_agents = any(values_of(society, "agents"))
    unshared = ("shares",) if values_of(society, "shares") == ["nothing"] else ()
    numbers = listed(f"{value_text(values_of(society, role))} {role}" for role in ("senders", "receivers"))
    answers = "the best of several strategies that read no message (by position, frequency and similarity)"
    facts = {
        "is_played": is_played,
        "is_trained": not is_played,
        "ecsuite_works": Cite.of("ecsuite"),
        "games": f"{'game' if len(games) == 1 else 'games'} {listed(games)}",
        "games_works": Cite.of(*games),
        "play": part_phrase(plays, PLAYS, without=without_others),
        "world": part_phrase(sections(configs, "world"), WORLDS),
        "task": part_phrase(sections(configs, "task"), TASKS),
        "channel": part_phrase(sections(configs, "channel"), CHANNELS),
        "num_agents": value_text(values_of(society, "agents")) if has_agents else None,
        "num_by_role": numbers if society and not has_agents else None,
        "meets": part_phrase(meetings, MEETINGS),
        "society": options_text(society, without=("senders", "receivers", "agents", "meets", *unshared))
        or None,
        "loss": _loss_phrase(sections(configs, "loss")),
        "optimizer": part_phrase(sections(configs, "optimizer"), OPTIMIZERS),
        "schedule": part_phrase(sections(configs, "schedule"), SCHEDULES),
        "num_valid": value_text(values_of(evaluation, "num_valid")) if evaluation and is_validated else None,
        "corpus_size": value_text(values_of(evaluation, "corpus_size")) if evaluation else None,
        "mode": value_text([MODES.get(mode, mode) for mode in values_of(evaluation, "mode")]),
        "window": value_text(values_of(plays, "window")) if evaluation else None,
        "chance": [
            {
                "measure": name.replace("_", " "),
                "levels": value_text(map(_rounded, levels)),
            }
            for name, levels in (chance or {}).items()
            if evaluation
        ],
        "answers": answers if is_validated else "answers drawn at random",
    }
    if generations := sections(configs, "generations"):
        facts["generations"] = options_text(generations)
    facts |= _agent_facts(configs, "sender", SENDERS) | _agent_facts(configs, "receiver", RECEIVERS)
    return facts | (_training_facts(training, endings) if training else {})


def _rounded(level: Any) -> Any:
    """Round a number to three digits; metadata may hold anything."""
    return float(f"{level:.3g}") if isinstance(level, float) else level


def _agent_facts(configs: Sequence[Tree], role: str, registry: Registry) -> dict[str, Any]:
    agents = sections(configs, role)
    cells = [cell for cell in values_of(agents, "cell") if cell]
    lines = [line_of(CELLS, str(cell)) for cell in cells]
    about_cells = f" ({'; '.join(filter(None, lines))})" if any(lines) else ""
    seen = [tree["perception"] for tree in agents if isinstance(tree.get("perception"), Mapping)]
    return {
        role: part_phrase(agents, registry, without=("cell", "perception")),
        f"{role}_cell": [f"{value_text(cells)}{about_cells}", Cite.of(*cells)] if cells else None,
        f"{role}_perception": part_phrase(seen, PERCEPTIONS),
    }


def _training_facts(training: Sequence[Tree], endings: Sequence[Tree]) -> dict[str, Any]:
    epochs = value_text(values_of(training, "num_epochs"))
    accumulated = values_of(training, "accumulate")
    gradients = (
        "" if accumulated in ([], [1]) else f", with gradients of {value_text(accumulated)} batches a step"
    )
    # In the order of runs, like the numbers of rounds and epochs that they follow from.
    steps = list(dict.fromkeys(end["num_steps"] for end in endings if isinstance(end.get("num_steps"), int)))
    rounds = f"{value_text(values_of(training, 'num_examples'))} rounds"
    for tree, end in zip(training, endings, strict=False):
        if tree.keys() >= SIZES:  # otherwise not a config written by a run
            batches = -(-tree["num_examples"] // (tree["batch_size"] * tree.get("accumulate", 1)))
            if end.get("num_steps") not in (None, batches * tree["num_epochs"]):
                rounds = "all rounds of the world"
    stops = [
        text.format(value_text(values))
        for key, text in STOPS.items()
        if (values := [value for value in values_of(training, key) if value is not None])
    ]
    best = [value for value in values_of(training, "keep_best") if value is not None]
    switches = [f"{verb}_{role}" for verb in ("init", "freeze") for role in AGENTS]
    return {
        "epochs": f"{epochs} epoch{'' if epochs == '1' else 's'}",
        "rounds": rounds,
        "batches": f"{value_text(values_of(training, 'batch_size'))}{gradients}",
        "steps": f", that is {value_text(steps)} steps" if steps else "",
        "precision": value_text(values_of(training, "precision")),
        "stops": listed(stops, "or") if stops else None,
        "runs_to_end": not stops,
        "evaluate_every": value_text(values_of(training, "evaluate_every")),
        "keep_best": value_text(best) if best else None,
        **{key: any(values_of(training, key)) for key in switches},
    }


def _loss_phrase(losses: Sequence[Tree]) -> Phrase | None:
    """Describe the loss; the cost of symbols is mentioned only if there is one."""
    if values_of(losses, KIND) != ["task"]:
        return part_phrase(losses, LOSSES)
    options = options_text(losses, without=(KIND,))
    return [f"the loss of the task{f' and a cost of symbols: {options}' if options else ''}"]


def sections(configs: Sequence[Tree], name: str) -> list[Tree]:
    """Return a section of each config that has it."""
    return [config[name] for config in configs if isinstance(config.get(name), Mapping)]


def are_rounds(configs: Sequence[Tree]) -> bool:
    """Return whether all configs are plays of rounds, without training."""
    return bool(configs) and all("participant" in (config.get("play") or ()) for config in configs)


def line_of(registry: Registry, kind: str) -> str:
    """Return the description of a part without works; users' parts share one description."""
    if is_foreign(kind):
        return "a part of our own"
    line = CELL_SUFFIX.sub("", ASIDE.sub("", registry.lines().get(kind, "")))
    return line.partition("; ")[0] if registry.word in AGENTS else line


def part_phrase(trees: Sequence[Tree], registry: Registry, *, without: Sequence[str] = ()) -> Phrase | None:
    """Describe a part with its options: `gumbel (Gumbel-softmax): vocab size 5, max len 3`; None without trees.

    Args:
        trees: Section of the part in each config.
        registry: Registry of its kind.
        without: Options to leave out.
    """
    if not trees:
        return None
    pieces: list[Piece] = []
    for kind in values_of(trees, KIND):
        line = line_of(registry, str(kind))
        about = f" ({line})" if line and line.lower() != str(kind) else ""
        of_kind = [tree for tree in trees if tree.get(KIND) == kind]
        options = options_text(of_kind, without=(KIND, *without, *_usual(registry, str(kind), of_kind)))
        pieces += [
            f"{'; or ' if pieces else ''}{kind}{about}",
            Cite.of(kind),
            f": {options}" if options else "",
        ]
    return pieces


def _usual(registry: Registry, kind: str, trees: Sequence[Tree]) -> list[str]:
    """Return the options that are words and have their defaults in all trees: a reader need not know of them."""
    if is_foreign(kind):
        return []
    defaults = {entry.name: entry.default for entry in fields(registry.load(kind).Options)}
    return [
        key
        for key, default in defaults.items()
        if isinstance(default, str) and values_of(trees, key) == [default]
    ]


def values_of(trees: Sequence[Tree], key: str) -> list[Any]:
    """Return the distinct values of an option, in order."""
    values: list[Any] = []
    for tree in trees:
        if key in tree and tree[key] not in values:
            values.append(tree[key])
    return values


def value_text(values: Iterable[Any]) -> str:
    """Format values as in YAML: `2 or 4`."""
    return listed([_value(value) for value in values], "or")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        rest = options_text([value], without=(KIND,))
        return f"{value.get(KIND, '')}{f' ({rest})' if rest else ''}".strip()
    return f"{value:,}" if isinstance(value, int) else str(value)


def listed(values: Iterable[Any], word: str = "and") -> str:
    """Join values for a sentence: `1, 2 and 3`."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}" if texts else ""


def options_text(trees: Sequence[Tree], *, without: Sequence[str] = ()) -> str:
    """Format the options of a part that are on: `hidden size 64, temperature 1.0 or 2.0`.

    Options that are null, false, empty or 0 in all trees are left out, except numbers of items and seeds.

    Args:
        trees: Section of the part in each config.
        without: Options to leave out.
    """
    return ", ".join(_options(trees, without))


def _options(trees: Sequence[Tree], without: Sequence[str]) -> Iterator[str]:
    for key in dict.fromkeys(key for tree in trees for key in tree):
        values = values_of(trees, key)
        if key in without or not any(_is_on(key, value) for value in values):
            continue
        if key == CANDIDATES and not any(map(may_hold_out, trees)):
            continue
        words = AXIS_WORDS.get(key) or key.replace("num_", "number of ").replace("_", " ")
        words = re.sub(r"^(.+) min$", r"minimum \1", re.sub(r"^(.+) max$", r"maximum \1", words))
        is_switch = all(isinstance(value, bool) for value in values)
        yield words if is_switch and values == [True] else f"{words} {value_text(values)}"


def _is_on(key: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and value.get(KIND) not in NEUTRAL
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return bool(value) or (is_number and key.startswith(("num_", "seed")))
