"""Reading of experiments from layers of settings, including settings written by earlier versions.

The layers are, from the lowest to the highest: the defaults, a shipped experiment or a YAML file, `--set`, and options
of the command. A layer is a tree: nested mappings as in a YAML file.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.games.config import sources
from ecsuite.games.config.registry import TASKS, WORLDS
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
    unread_settings,
)
from ecsuite.parts.config import named_source, parse_value, read_yaml, shipped_configs
from ecsuite.parts.registry import KIND, Layer, option_types, read_part, to_tree
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.plain_values import settings_of

HOLDING_OUT = ("held_out", "held_out_value", "rare_combinations")
"""Options of worlds that exclude objects or rules from training."""
CANDIDATES, DISTRACTORS, SHARED = "candidates", "distractors", "shared_values"
"""Options of worlds whose meaning or default has changed since earlier versions."""
NEAREST = "nearest"
"""Value of `distractors`: the objects that are most similar to the target."""
EARLIER_CANDIDATES = (
    "begun when the candidates of held-out rounds were only held-out objects; now they are all objects: choose "
    "another folder with --out, or set world.candidates: split"
)
"""Error about a run whose held-out rounds had other candidates."""


def holds_out(world: Mapping[str, Any]) -> bool:
    """Whether the options of a section `world` exclude objects or rules from training."""
    return world.get(KIND) == "features" or any(world.get(option) for option in HOLDING_OUT)


def may_hold_out(world: Mapping[str, Any]) -> bool:
    """Whether a section `world` excludes objects or rules from training, or names a file that may."""
    return world.get(KIND) == sources.OBJECTS or holds_out(world)


def worlds_of(tree: Tree) -> Iterator[Tree]:
    """Iterate over the sections of a config that describe a world."""
    environment = tree.get("play", {}).get("environment", {}) if isinstance(tree.get("play"), dict) else {}
    for world in (tree.get("world"), environment.get("world") if isinstance(environment, dict) else None):
        if isinstance(world, dict):
            yield world


def with_rules_of(tree: Tree) -> Tree:
    """Complete the config of a run with the rules under which it began: `candidates: split` if the option is missing.

    Versions without this option drew the candidates of held-out rounds only from held-out objects.
    """
    tree = copy.deepcopy(tree)
    for world in worlds_of(tree):
        kind = str(world.get(KIND))
        if kind in WORLDS.parts and CANDIDATES not in world and holds_out(world):
            if any(each.name == CANDIDATES for each in fields(WORLDS.load(kind).Options)):
                world[CANDIDATES] = "split"
    return tree


def require_same_rules(folder: Path, tree: Tree, *, mixes: bool = False) -> None:
    """Check that a run began under the rules that its settings imply now.

    Args:
        folder: Folder, for error messages.
        tree: Content of its config.
        mixes: Whether new runs of the same settings would be stored next to the run, as in a sweep.

    Raises:
        ConfigError: If the run began under other rules.
    """
    for world in worlds_of(tree):
        if mixes and CANDIDATES not in world and with_rules_of({"world": world})["world"] != world:
            raise ConfigError(f"{folder}: {EARLIER_CANDIDATES}")
        if world.get(DISTRACTORS) == NEAREST and CANDIDATES not in world:
            raise ConfigError(
                f"{folder}: begun when the nearest distractors of a target were equal in all rounds; now they "
                "are drawn among equally near ones: choose another folder with --out"
            )


def named_configs() -> dict[str, str]:
    """Descriptions of the shipped experiments, by name."""
    shipped = shipped_configs()
    return {name: read_yaml(name, "game", shipped).get("about", "") for name in shipped}


def ignore(_: str) -> None:
    """Discard a message."""


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
    """Read a shipped experiment by name, or a YAML file, and import the foreign parts that it names.

    Args:
        name_or_file: Name of a shipped experiment such as `disc_small`, a path that ends in `.yaml` or `.yml`, or user
            data: a table of objects (`objects.csv`, `objects.npz`), a folder of images, or a data set of Hugging Face
            (`hf:NAME`).
        overrides: Assignments `section.key=value` with a value in YAML; later ones take precedence.
        flags: Values of options of the command by `section.key`, a layer above the overrides, or below them for keys
            `section.kind`. None: option not given.
        note: Called with a line about user code that changed since the run began.
        changes: Values by `section.key`, a layer below the overrides.
        trust_code: Whether to import the foreign parts of a config that a run wrote.
        is_of_run: Whether the file was found in a run folder instead of being named by the user.
        flags_by_key: Option as the user wrote it, such as `--epochs`, by `section.key`, for error messages.
        changed_by: Name of the changes in error messages.

    Raises:
        ConfigError: If there is no such experiment or file, or a key or value is not valid.
        UntrustedError: If a run wrote the config, and it names foreign parts that the user has not named.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}

    def layer_of(key: str, value: Any) -> Layer:
        return (flags_by_key or {}).get(key, "command line"), settings_tree([(key, value)])

    # A flag that names a part, such as `--channel`, lies below the assignments, which may set its options.
    layers = [layer_of(key, value) for key, value in given.items() if key.endswith(f".{KIND}")]
    layers += [(changed_by, _tree(changes))] if changes else []
    layers.append(("--set", assignments_tree(overrides)))
    layers += [layer_of(key, value) for key, value in given.items() if not key.endswith(f".{KIND}")]
    own_code.trust(own_code.foreign_kinds(layers))
    shipped = shipped_configs()
    objects, world = given.get("world.objects"), given.get("world.kind")
    if name_or_file not in shipped and sources.is_own_data(name_or_file):
        _require_one_source(name_or_file, layers)
        objects = name_or_file
        layers.append(layer_of("world.objects", objects))
        kind = sources.kind_of(name_or_file)
        tree = {**read_yaml(kind, "game", shipped), "name": sources.name_of(name_or_file)}
    else:
        tree = read_yaml(name_or_file, "game", shipped)
    if is_of_run or own_code.CODE in tree or own_code.lies_in_run_folder(name_or_file):
        folder = Path(name_or_file).parent
        tree = with_rules_of(own_code.with_sources(tree, folder, note, trust_code=trust_code))
    else:
        own_code.trust(own_code.foreign_kinds(tree))
    below = [(name_or_file, tree)]
    if "world.train_data" in given:
        # The files determine the number of distractors, unless the user gives one.
        task = [DEFAULTS["task"][KIND], *(kind for _, kind in _kinds_named(below, "task"))][-1]
        if "num_distractors" in option_types(TASKS.load(task).Options):
            below.append((name_or_file, {"task": {"num_distractors": None}}))
        world = world or "text"
    if objects is not None and world is None:
        kind = sources.kind_of(objects)
        named = [kind for _, kind in _kinds_named([*below, *layers], "world")][-1:]
        if not any(each in sources.READERS[kind] or own_code.is_foreign(each) for each in named):
            world = kind
    if world is not None and "world.kind" not in given:
        layers.insert(0, layer_of("world.kind", world))
    return _read([*below, *layers])


def _require_one_source(name: str, layers: Iterable[Layer]) -> None:
    """Check that no layer names objects other than the data given as the game.

    Raises:
        ConfigError: If a layer does; the message names both.
    """
    for source, tree in layers:
        settings = tree.get("world")
        other = settings.get("objects", name) if isinstance(settings, Mapping) else name
        if other != name:
            raise ConfigError(f"{name}, {source} world.objects={shown(other)}: expected one of these")


def from_tree(tree: Mapping[str, Any], source: str) -> Experiment:
    """Make an experiment from a mapping, such as the config in the metadata of a corpus.

    Raises:
        ConfigError: If a key or value is not valid; the message begins with `source`.
    """
    return _read([(source, dict(tree))])


def override(experiment: Experiment, assignments: Iterable[str], given_by: str = "--set") -> Experiment:
    """Apply `section.key=value` assignments; later ones take precedence.

    Args:
        experiment: The experiment.
        assignments: The assignments.
        given_by: Source of the assignments in messages.

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
    """Set values by `section.key`.

    Args:
        experiment: The experiment.
        changes: Values by `section.key`.
        flags_by_key: See `load_experiment`.
        changed_by: Name, in error messages, of changes that were not made by a command option.

    Raises:
        ConfigError: If a key or value is not valid.
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
    """Make a layer from values by `section.key` given in Python."""
    if not isinstance(changes, Mapping):
        raise ConfigError(
            f"changes: expected values by key, such as {{'channel.vocab_size': 20}}; got {shown(changes)}"
        )
    return settings_tree(settings_of(changes).items())


def _with_layers(experiment: Experiment, layers: list[Layer]) -> Experiment:
    own_code.trust(own_code.foreign_kinds(layers))
    return _read([("experiment", experiment.to_tree()), *layers])


def _kinds_named(layers: Sequence[Layer], section: str) -> list[tuple[int, str]]:
    """Load the kinds of a part that layers name; return each kind with the index of its layer."""
    found: list[tuple[int, str]] = []
    for number, (source, tree) in enumerate(layers):
        with named_source(source):
            if (
                section in tree
                and (kind := PARTS[section].section(tree[section], section).get(KIND)) is not None
            ):
                PARTS[section].load(kind)
                found.append((number, kind))
    return found


def _read(layers: Sequence[Layer]) -> Experiment:
    """Make the experiment from layers, ordered from the lowest to the highest.

    Sections that the play does not read are dropped from the layers below the one that names the play.

    Raises:
        ConfigError: If a setting is not valid, or the layer that names the play, or a higher layer, has a section that
            the play does not read.
    """
    chosen, play = [(0, DEFAULTS["play"][KIND]), *_kinds_named(layers, "play")][-1]
    unread = [key.partition(".") for key in unread_settings(play)]
    for source, tree in layers[chosen:]:
        for section, dot, name in unread:
            if (name in (tree.get(section) or {})) if name else section in tree:
                raise ConfigError(f"{source}: {section}{dot}{name}: play {play} does not read it")
    left_out = {section for section, _, name in unread if not name}
    layers = [(source, {key: tree[key] for key in tree if key not in left_out}) for source, tree in layers]

    def checksums(built: dict[str, Any]) -> Tree:
        """Checksums of the files that no later layer names, and of the files of foreign parts."""
        data, weights = built.get("data", {}), built.get("weights", {})
        if data or weights:
            later = {path for _, tree in layers[1:] for path in paths_of(tree)}
            data = {
                key: digest
                for key, digest in data.items()
                if not {key, f"world.{key}", key.removesuffix(".language")} & later
            }
            weights = {role: weights[role] for role in weights if f"training.init_{role}" not in later}
        kinds = set[str]()
        if own_code.foreign_kinds([tree for _, tree in layers]):
            kinds |= {kind for value in built.values() for kind in foreign_parts(value)}
            if "evaluation" in built:
                kinds |= own_code.foreign_kinds(built["evaluation"].metrics)
            if "training" in built:
                kinds |= own_code.foreign_kinds(built["training"].after_step)
            for role in ROLES:
                kinds |= own_code.foreign_kinds(to_tree(built[role].options.taught))
        code = {each: own_code.checksum(each) for each in sorted(map(own_code.source_of, kinds))}
        return {"data": data, own_code.CODE: code, "weights": weights}

    experiment: Experiment = read_part(Experiment, _with_perceptions(layers), "", unknown_key, checksums)
    return experiment


def _with_perceptions(layers: Sequence[Layer]) -> list[Layer]:
    """Prepend the defaults, and insert a layer with the default perceptions of a world below each layer that names it.

    So `read_part` drops options that the new perceptions do not have, as for any layer that names another kind. A
    perception in a lower layer stays; a perception in the last naming layer or a higher layer replaces it.
    """
    named: list[tuple[int, str]] = []
    for number, world in _kinds_named(layers, "world"):
        if not named or world != named[-1][1]:
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
    """Make a layer with the default perceptions of a world for some roles."""
    kinds = dict(zip(ROLES, WORLDS.load(world).default_perceptions, strict=True))
    return {role: {"perception": {KIND: kinds[role]}} for role in roles}


def _perception_in(tree: Tree, role: Role) -> Mapping[str, Any]:
    """Perception of an agent in a layer, as a section even if given by name only."""
    agent = tree.get(role)
    found = agent.get("perception") if isinstance(agent, Mapping) else None
    if isinstance(agent, str) and "perception" in agent:
        return {KIND: agent}
    return found if isinstance(found, Mapping) else {} if found is None else {KIND: found}


def assignments_tree(assignments: Iterable[str], given_by: str = "--set") -> Tree:
    """Make the layer of `section.key=value` assignments.

    Args:
        assignments: The assignments; later ones take precedence.
        given_by: Source of the assignments in messages.

    Raises:
        ConfigError: If an assignment has no `=`, or its value is not YAML.
    """
    settings: list[tuple[str, Any]] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
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
    """Split a list of names at its commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings_tree(settings: Iterable[tuple[str, Any]]) -> Tree:
    """Make the layer of settings, pairs of `section.key` and value; later settings take precedence.

    Raises:
        ConfigError: If a key is not a string.
    """
    tree: Tree = {}
    for key, value in settings:
        _add_setting(tree, key, value)
    return tree


def _add_setting(tree: Tree, key: Any, value: Any) -> None:
    """Set `section.key` in a tree. What a section has already stays unless the value sets it again."""
    if not isinstance(key, str):  # as in YAML of users
        raise ConfigError(f"expected keys such as channel.max_len, got {shown(key)}")
    *sections, last = key.removesuffix(".").split(".")
    for section in sections:  # a section given by name becomes a mapping
        below = tree.get(section)
        if isinstance(below, Mapping):
            tree[section] = dict(below)
        else:
            tree[section] = {KIND: below} if section in tree else {}
        tree = tree[section]
    below = tree.get(last)
    if isinstance(below, Mapping) and isinstance(value, str):
        tree[last] = {**below, KIND: value}
    elif isinstance(below, Mapping) and isinstance(value, Mapping):
        tree[last] = dict(below)
        for name, each in value.items():
            _add_setting(tree[last], name, each)
    else:
        tree[last] = value


def paths_of(tree: Tree) -> Iterator[str]:
    """Iterate over the dotted keys of all settings of a tree, including those in `name,key=value`."""
    for key, value in tree.items():
        section = PARTS[key].section(value, key) if key in PARTS else value
        yield key
        if isinstance(section, Mapping):
            yield from (f"{key}.{path}" for path in paths_of(dict(section)))
