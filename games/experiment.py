"""Experiments are read from layers of YAML: the defaults, a shipped experiment or a YAML file, `--set`, and flags."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.games.code_files import lies_in_run_folder, with_sources
from ecsuite.games.registry import PLAYS, WORLDS
from ecsuite.games.sections import (
    DATA,
    DEFAULTS,
    PARTS,
    PLAIN,
    ROLES,
    TEXTS,
    WEIGHTS,
    Experiment,
    Tree,
    foreign_parts,
    unread_options,
    unread_sections,
)
from ecsuite.games.settings_layers import (
    assignments_tree,
    located,
    merged_trees,
    named_source,
    settings_tree,
)
from ecsuite.games.worlds import own_data
from ecsuite.parts.config import checked, read_yaml, shipped_configs
from ecsuite.parts.registry import KIND, merge_section, read_options, read_part
from ecsuite.runtime.errors import ConfigError


def named_configs() -> dict[str, str]:
    """The descriptions of the shipped experiments by their names."""
    shipped = shipped_configs()
    return {name: read_yaml(name, "game", shipped).get("about", "") for name in shipped}


def ignore(_: str) -> None:
    """Take no note."""


def load_experiment(
    name_or_file: str,
    overrides: Iterable[str] = (),
    flags: Mapping[str, Any] | None = None,
    note: Callable[[str], None] = ignore,
    *,
    changes: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    is_of_run: bool = False,
    flags_by_key: Mapping[str, str] | None = None,
) -> Experiment:
    """Read a shipped experiment by its name, or any YAML file; the foreign parts that it names are imported.

    Args:
        name_or_file: `disc_small`, a path that ends in `.yaml` or `.yml`, or own data: a table of objects
            (`objects.csv`, `objects.npz`), a folder of images, or a data set of Hugging Face (`hf:NAME`).
        overrides: `section.key=value` each; the value is read as YAML. Later ones take precedence.
        flags: Values by `section.key`, above the overrides; those of `section.kind` below them. None: not given.
        note: Called with a line about users' own code that changed since a run was begun with it.
        changes: Values by `section.key`, a layer below the overrides.
        trust_code: Whether the foreign parts of a config that a run wrote are imported, too.
        is_of_run: Whether the file was not named by the user, but found in a run folder.
        flags_by_key: How the user wrote a flag, such as `--epochs`, by its `section.key`, for messages.

    Raises:
        ConfigError: If there is no such experiment or file, or a key or value is not valid.
        UntrustedError: If a run wrote the config, and it names foreign parts that nobody else named.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    assigned = [("set", settings_tree((changes or {}).items())), ("--set", assignments_tree(overrides))]
    above = _with_flags(assigned, given, flags_by_key or {})
    own_code.trust(own_code.foreign_kinds(above))
    if name_or_file not in shipped_configs() and own_data.is_own_data(name_or_file):
        given["world.objects"] = name_or_file
        kind = own_data.kind_of(name_or_file)
        tree = {**read_yaml(kind, "game", shipped_configs()), "name": own_data.name_of(name_or_file)}
    else:
        tree = read_yaml(name_or_file, "game", shipped_configs())
    if is_of_run or own_code.CODE in tree or lies_in_run_folder(name_or_file):
        tree = with_sources(tree, Path(name_or_file).parent, note, trust_code=trust_code)
    else:
        own_code.trust(own_code.foreign_kinds(tree))
    file = tree
    if "world.train_data" in given:
        # The files have their own number of distractors, unless the user gives one.
        own_number = {"task": {"num_distractors": None}}
        file = merged_trees([DEFAULTS, file, own_number], name_or_file, drop=ignore)
        given = {"world.kind": "text", **given}
    if "world.objects" in given:
        given = {**_reader([file, *(tree for _, tree in above)], given["world.objects"]), **given}
    return _read([(name_or_file, file), *_with_flags(assigned, given, flags_by_key or {})])


def _reader(trees: list[Tree], source: str) -> dict[str, str]:
    """The setting of a world that reads a source of objects; empty if the trees name one that may."""
    kind = own_data.kind_of(source)
    worlds = [WORLDS.section(tree["world"], "world").get(KIND) for tree in trees if "world" in tree]
    named = next((world for world in reversed(worlds) if world), "")
    may_read = named in own_data.READERS[kind] or own_code.is_foreign(named)
    return {} if may_read else {"world.kind": kind}


def _with_flags(
    assigned: list[tuple[str, Tree]], given: Mapping[str, Any], flags_by_key: Mapping[str, str]
) -> list[tuple[str, Tree]]:
    """Layers with those of flags, named as the user wrote each.

    A flag that names a part, such as `--channel`, lies below the assignments, which may set its options; others lie
    above them.
    """
    kinds: list[tuple[str, Tree]] = []
    values: list[tuple[str, Tree]] = []
    for key, value in given.items():
        layers = kinds if key.endswith(f".{KIND}") else values
        layers.append((flags_by_key.get(key, "command line"), settings_tree([(key, value)])))
    return [*kinds, *assigned, *values]


def from_tree(tree: Mapping[str, Any], source: str) -> Experiment:
    """The experiment of a mapping, such as the config in the metadata of a corpus.

    Raises:
        ConfigError: If a key or value is not valid; the message begins with `source`.
    """
    return _read([(source, dict(tree))])


def override(experiment: Experiment, assignments: Iterable[str]) -> Experiment:
    """Apply `section.key=value` assignments; later ones take precedence.

    Raises:
        ConfigError: If an assignment has no `=`, an unknown key, or a value of another type.
    """
    return _with_layer(experiment, "--set", assignments_tree(assignments))


def with_changes(experiment: Experiment, changes: Mapping[str, Any]) -> Experiment:
    """Set values by `section.key`; an error is a `ConfigError`."""
    return _with_layer(experiment, "changes", settings_tree(changes.items()))


def _with_layer(experiment: Experiment, source: str, changes: Tree) -> Experiment:
    own_code.trust(own_code.foreign_kinds(changes))
    return _read([("experiment", experiment.to_tree()), (source, changes)])


def _with_perceptions(of_sender: str, of_receiver: str) -> Tree:
    """The bottom layer with the perceptions of a world."""
    kinds = {"sender": of_sender, "receiver": of_receiver}
    agents = {role: {**DEFAULTS[role], "perception": {KIND: kind}} for role, kind in kinds.items()}
    return {**DEFAULTS, **agents}


def _read_by_play(layers: list[tuple[str, Tree]]) -> list[tuple[str, Tree]]:
    """Layers with what their play reads: sections of another play, in layers below it, are left out.

    Raises:
        ConfigError: If the layer that names the play, or one above it, has a section that the play does not read.
    """
    play, chosen = DEFAULTS["play"], 0
    for number, (source, tree) in enumerate(layers):
        if "play" in tree:
            with named_source(source):
                play, chosen = merge_section(PLAYS, play, tree["play"], "play"), number
    kind = play[KIND]
    unread = unread_sections(kind)
    for source, tree in layers[chosen:]:
        for key in unread:
            if key in tree:
                raise ConfigError(f"{source}: {key}: play {kind} does not read it")
        for section, name in unread_options(kind):
            if name in (tree.get(section) or {}):
                raise ConfigError(f"{source}: {section}.{name}: play {kind} does not read it")
    return [(source, {key: tree[key] for key in tree if key not in unread}) for source, tree in layers]


def _read(layers: list[tuple[str, Tree]]) -> Experiment:
    """Build the experiment of these layers, each with its source for messages, the lowest first."""
    layers = _read_by_play(layers)
    world = DEFAULTS["world"]
    for source, tree in layers:
        if "world" in tree:
            with named_source(source):
                world = merge_section(WORLDS, world, tree["world"], "world")
    merged = _with_perceptions(*WORLDS.load(world[KIND]).default_perceptions)
    for source, tree in layers:
        merged = merged_trees([merged, tree], source)
    with located(layers):
        values: Tree = {key: read_part(registry, merged[key], key) for key, registry in PARTS.items()}
        values |= {key: read_options(kind, merged.get(key, {}), key) for key, kind in PLAIN.items()}
        values |= {key: checked(merged[key], str, key) for key in TEXTS if key in merged}
        data = checked(merged.get(DATA, {}), dict[str, str], DATA)
        weights = checked(merged.get(WEIGHTS, {}), dict[str, str], WEIGHTS)
    # A file that a later layer names has its own checksum.
    above = {option for _, tree in layers[1:] for option in tree.get("world", {})}
    above |= {
        f"{role}.perception.{option}"
        for _, tree in layers[1:]
        for role in ROLES
        if isinstance(section := tree.get(role), dict) and isinstance(seen := section.get("perception"), dict)
        for option in seen
    }
    values[DATA] = {option: data[option] for option in data if option not in above}
    newly_named = {option for _, tree in layers[1:] for option in tree.get("training", {})}
    values[WEIGHTS] = {role: weights[role] for role in weights if f"init_{role}" not in newly_named}
    kinds = {kind for key in PARTS for kind in foreign_parts(values[key])}
    kinds |= own_code.foreign_kinds(values["evaluation"].metrics)
    values[own_code.CODE] = {
        source: own_code.checksum(source) for source in sorted(map(own_code.source_of, kinds))
    }
    return Experiment(**values)
