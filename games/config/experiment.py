"""Experiments, read from layers of settings.

The layers are the defaults, a shipped experiment or a YAML file, `--set`, and options of the command. Each is a tree: a
mapping as in a YAML file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.games.config.code_files import lies_in_run_folder, with_sources
from ecsuite.games.config.registry import PLAYS, TASKS, WORLDS
from ecsuite.games.config.sections import (
    DEFAULTS,
    LISTS,
    PARTS,
    ROLES,
    Experiment,
    Role,
    Tree,
    foreign_parts,
    unknown_key,
    unread_options,
    unread_sections,
)
from ecsuite.games.runs.identity import with_rules_of
from ecsuite.games.worlds import own_data
from ecsuite.parts.config import parse_value, read_yaml, shipped_configs
from ecsuite.parts.registry import KIND, Layer, option_types, read_layers, to_tree
from ecsuite.parts.sources import named_source
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.plain_values import settings_of


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
    changed_by: str = "set",
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
        changed_by: What messages call the changes.

    Raises:
        ConfigError: If there is no such experiment or file, or a key or value is not valid.
        UntrustedError: If a run wrote the config, and it names foreign parts that nobody else named.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    assigned = [(changed_by, _tree(changes or {})), ("--set", assignments_tree(overrides))]
    above = _with_flags(assigned, given, flags_by_key or {})
    own_code.trust(own_code.foreign_kinds(above))
    if name_or_file not in shipped_configs() and own_data.is_own_data(name_or_file):
        _require_one_source(name_or_file, above)
        given["world.objects"] = name_or_file
        kind = own_data.kind_of(name_or_file)
        tree = {**read_yaml(kind, "game", shipped_configs()), "name": own_data.name_of(name_or_file)}
    else:
        tree = read_yaml(name_or_file, "game", shipped_configs())
    if is_of_run or own_code.CODE in tree or lies_in_run_folder(name_or_file):
        tree = with_rules_of(with_sources(tree, Path(name_or_file).parent, note, trust_code=trust_code))
    else:
        own_code.trust(own_code.foreign_kinds(tree))
    layers = [(name_or_file, tree)]
    if "world.train_data" in given:
        # The files have their own number of distractors, unless the user gives one.
        with named_source(name_or_file):
            task = TASKS.load(_kind_in(tree, "task") or DEFAULTS["task"][KIND])
        if "num_distractors" in option_types(task.Options):
            layers.append((name_or_file, {"task": {"num_distractors": None}}))
        given = {"world.kind": "text", **given}
    if "world.objects" in given:
        given = {**_reader([tree, *(tree for _, tree in above)], given["world.objects"]), **given}
    return _read([*layers, *_with_flags(assigned, given, flags_by_key or {})])


def _reader(trees: list[Tree], source: str) -> dict[str, str]:
    """The setting of a world that reads a source of objects; empty if the trees name one that may."""
    kind = own_data.kind_of(source)
    kinds = (_kind_in(tree, "world") for tree in reversed(trees))
    named = next(filter(None, kinds), "")
    may_read = named in own_data.READERS[kind] or own_code.is_foreign(named)
    return {} if may_read else {"world.kind": kind}


def _require_one_source(name: str, layers: Iterable[Layer]) -> None:
    """Check that no setting names other objects than those that are named as the game.

    Raises:
        ConfigError: With both.
    """
    for source, tree in layers:
        settings = tree.get("world")
        other = settings.get("objects", name) if isinstance(settings, Mapping) else name
        if other != name:
            raise ConfigError(f"{name}, {source} world.objects={shown(other)}: expected one of these")


def _with_flags(
    assigned: list[Layer], given: Mapping[str, Any], flags_by_key: Mapping[str, str]
) -> list[Layer]:
    """Layers with those of flags, named as the user wrote each.

    A flag that names a part, such as `--channel`, lies below the assignments, which may set its options; others lie
    above them.
    """
    kinds: list[Layer] = []
    values: list[Layer] = []
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


def override(experiment: Experiment, assignments: Iterable[str], given_by: str = "--set") -> Experiment:
    """Apply `section.key=value` assignments; later ones take precedence.

    Args:
        experiment: The experiment.
        assignments: The assignments.
        given_by: What messages call what gave them.

    Raises:
        ConfigError: If an assignment has no `=`, an unknown key, or a value of another type.
    """
    return _with_layers(experiment, [(given_by, assignments_tree(assignments, given_by))])


def with_changes(
    experiment: Experiment,
    changes: Mapping[str, Any],
    flags_by_key: Mapping[str, str] | None = None,
    changed_by: str = "changes",
) -> Experiment:
    """Set values by `section.key`; an error is a `ConfigError`.

    Args:
        experiment: The experiment.
        changes: The values.
        flags_by_key: See `load_experiment`.
        changed_by: What messages call changes that no flag made.
    """
    if not flags_by_key:
        return _with_layers(experiment, [(changed_by, _tree(changes))])
    return _with_layers(
        experiment,
        [
            (flags_by_key.get(key, changed_by), settings_tree([(key, value)]))
            for key, value in changes.items()
        ],
    )


def _tree(changes: Mapping[str, Any]) -> Tree:
    """Values by `section.key`, as somebody gives them in Python."""
    if not isinstance(changes, Mapping):
        raise ConfigError(
            f"changes: expected values by key, such as {{'channel.vocab_size': 20}}; got {shown(changes)}"
        )
    return settings_tree(settings_of(changes).items())


def _with_layers(experiment: Experiment, layers: list[Layer]) -> Experiment:
    own_code.trust(own_code.foreign_kinds(layers))
    return _read([("experiment", experiment.to_tree()), *layers])


def _read_by_play(layers: Sequence[Layer]) -> list[Layer]:
    """Layers with what their play reads: sections of another play, in layers below it, are left out.

    Raises:
        ConfigError: If the layer that names the play, or one above it, has a section that the play does not read.
    """
    kind, chosen = DEFAULTS["play"][KIND], 0
    for number, (source, tree) in enumerate(layers):
        with named_source(source):
            if (named := _kind_in(tree, "play")) is not None:
                PLAYS.load(named)
                kind, chosen = named, number
    unread = unread_sections(kind)
    for source, tree in layers[chosen:]:
        for key in unread:
            if key in tree:
                raise ConfigError(f"{source}: {key}: play {kind} does not read it")
        for section, name in unread_options(kind):
            if name in (tree.get(section) or {}):
                raise ConfigError(f"{source}: {section}.{name}: play {kind} does not read it")
    return [(source, {key: tree[key] for key in tree if key not in unread}) for source, tree in layers]


def _read(layers: Sequence[Layer]) -> Experiment:
    """Build the experiment of these layers, the lowest first."""
    layers = _read_by_play(layers)
    experiment: Experiment = read_layers(Experiment, _with_perceptions(layers), "", unknown_key)
    # A file that a later layer names has its own checksum.
    later = {path for _, tree in layers[1:] for path in paths_of(tree)}
    data = {
        key: digest
        for key, digest in experiment.data.items()
        if not {key, f"world.{key}", key.removesuffix(".language")} & later
    }
    weights = {
        role: digest for role, digest in experiment.weights.items() if f"training.init_{role}" not in later
    }
    kinds = {*foreign_parts(experiment), *own_code.foreign_kinds(experiment.evaluation.metrics)}
    kinds |= own_code.foreign_kinds(experiment.training.after_step)
    for role in ROLES:
        kinds |= own_code.foreign_kinds(to_tree(getattr(experiment, role).options.taught))
    code = {source: own_code.checksum(source) for source in sorted(map(own_code.source_of, kinds))}
    return replace(experiment, data=data, weights=weights, code=code)


def _with_perceptions(layers: Sequence[Layer]) -> list[Layer]:
    """The defaults, then the layers, and below each that names another world a layer with that world's perceptions.

    So `read_part` drops options that these do not have, as wherever a layer names another kind. A perception that is
    named below such a layer stays. One that the last of them or a layer above names takes the place of the former ones.
    """
    named: list[tuple[int, str]] = []
    for number, (source, tree) in enumerate(layers):
        with named_source(source):
            if (world := _kind_in(tree, "world")) is not None and (not named or world != named[-1][1]):
                WORLDS.load(world)
                named.append((number, world))
    first, *others = named or [(0, DEFAULTS["world"][KIND])]
    kinds = _perceptions(first[1], ROLES)
    found: list[Layer] = [("", {**DEFAULTS, **{role: {**DEFAULTS[role], **kinds[role]} for role in ROLES}})]
    places = dict(others)
    for number, layer in enumerate(layers):
        if number in places:
            namers = layers if number == max(places) else layers[:number]
            roles = [
                role for role in ROLES if all(KIND not in _perception_in(tree, role) for _, tree in namers)
            ]
            found.append((layer[0], _perceptions(places[number], roles)))
        found.append(layer)
    return found


def _perceptions(world: str, roles: Iterable[Role]) -> Tree:
    """The layer with the perceptions of a world, of some of its agents."""
    kinds = dict(zip(ROLES, WORLDS.load(world).default_perceptions, strict=True))
    return {role: {"perception": {KIND: kinds[role]}} for role in roles}


def _perception_in(tree: Tree, role: Role) -> Mapping[str, Any]:
    """What a layer says of the perception of an agent; a name is its kind."""
    agent = tree.get(role)
    found = agent.get("perception") if isinstance(agent, Mapping) else None
    if isinstance(agent, str) and "perception" in agent:
        return {KIND: agent}
    return found if isinstance(found, Mapping) else {} if found is None else {KIND: found}


def _kind_in(tree: Tree, key: str) -> str | None:
    """The kind of a section in a layer; None if it names none."""
    kind: str | None = PARTS[key].section(tree[key], key).get(KIND) if key in tree else None
    return kind


def assignments_tree(assignments: Iterable[str], given_by: str = "--set") -> Tree:
    """The layer of `section.key=value` assignments.

    Args:
        assignments: The assignments; later ones take precedence.
        given_by: What messages call what gave them.

    Raises:
        ConfigError: If one has no `=`, or its value is not YAML.
    """
    settings: list[tuple[str, Any]] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"{given_by} {assignment}: expected key=value, such as channel.temperature=2")
        if key in LISTS and text[:1] != "[":
            settings.append((key, listed(text)))
            continue
        is_part = key in PARTS or key.rpartition(".")[2] in (KIND, "perception", "taught")
        # A name may be followed by options, whose commas are not YAML's.
        settings.append(
            (key, text if is_part and text[:1] not in "{[" else parse_value(text, f"{given_by} {key}"))
        )
    return settings_tree(settings)


def listed(text: str) -> list[str]:
    """The names in a list that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings_tree(settings: Iterable[tuple[str, Any]]) -> Tree:
    """The layer of settings, each with its `section.key`; later ones take precedence.

    Raises:
        ConfigError: If a key is no text.
    """
    tree: Tree = {}
    for key, value in settings:
        if not isinstance(key, str):  # as in YAML of users
            raise ConfigError(f"expected keys such as channel.max_len, got {shown(key)}")
        set_value(tree, key, value)
    return tree


def set_value(tree: Tree, path: str, value: Any) -> None:
    """Set a value of a tree by its dotted path; a section that is given by its name becomes a mapping."""
    section, _, rest = path.partition(".")
    below = tree.get(section)
    if rest:
        if isinstance(below, Mapping):
            tree[section] = dict(below)
        else:
            tree[section] = {KIND: below} if section in tree else {}
        set_value(tree[section], rest, value)
    elif isinstance(below, dict) and isinstance(value, str):
        tree[section] = {**below, KIND: value}
    else:
        tree[section] = value


def paths_of(tree: Tree) -> Iterator[str]:
    """The dotted path of each setting of a tree, also of those that follow a name after a comma."""
    for key, value in tree.items():
        section = PARTS[key].section(value, key) if key in PARTS else value
        yield key
        if isinstance(section, Mapping):
            yield from (f"{key}.{path}" for path in paths_of(dict(section)))
