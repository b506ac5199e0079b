"""Study files, and the values of settings in them: lists, ranges, their combinations, and draws from them.

Study files are YAML, some of them shipped in `configs/paper/`; each command has its own. A list whose last items are
`int`, `float` or `log` is a range from its first number to its second number, such as `[1e-4, 1e-2, log]`; any other
list contains the values themselves.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.parts.config import line_of_key, read_yaml, shipped_configs
from ecsuite.runtime.errors import ConfigError, shown

if TYPE_CHECKING:
    import numpy as np

FOLDER = "paper"
"""The folder of `configs/` with the shipped studies; their names may begin with it: `paper/icy_table3`."""
StudySource = str | Path | Mapping[str, Any] | None
"""A study as users give it: name of a shipped study, YAML file, or content; None: all defaults."""


def shipped_studies() -> dict[str, Traversable]:
    """The shipped files of all commands by name, without the folder."""
    return shipped_configs(FOLDER)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyFiles:
    """The studies of one command."""

    command: str
    """The command."""
    prefixes: tuple[str, ...]
    """Prefixes of the names of its shipped studies; the folder also has studies of other commands."""

    def shipped(self) -> dict[str, Traversable]:
        """The shipped files by name, without the folder."""
        return {
            name: file for name, file in shipped_configs(FOLDER).items() if name.startswith(self.prefixes)
        }

    def read(self, study: StudySource) -> tuple[dict[str, Any], str]:
        """Read the content of a study with its name, and its source for error messages.

        Raises:
            ConfigError: If there is no such study or file, or it is not YAML with keys.
        """
        if study is None:
            return {}, f"ecsuite {self.command}"
        if isinstance(study, Mapping):
            return {"name": self.command, **study}, self.command
        source = str(study)
        is_file = source.endswith((".yaml", ".yml"))
        name = source if is_file else source.removeprefix(f"{FOLDER}/")
        return read_yaml(name, "study", self.shipped()), source


ICY = StudyFiles(command="icy", prefixes=("icy_",))
CBM = StudyFiles(command="cbm", prefixes=("cbm_",))
XFERBENCH = StudyFiles(command="xferbench", prefixes=("xferbench_main",))
SWEEP = StudyFiles(command="sweep", prefixes=("xferbench_search", "zoo_", "society_", "collection_", "elcc"))


def command_of(name: str) -> str:
    """The command that runs a shipped study."""
    plain = name.removeprefix(f"{FOLDER}/")
    return next(files.command for files in (ICY, CBM, XFERBENCH, SWEEP) if plain.startswith(files.prefixes))


WORDS = ("int", "float", "log")
"""Last items of a range: integers, real numbers, and a uniform distribution of the logarithm."""
SEEDS = ("training.seed", "seed")
"""Settings that a study sets with its key `seeds`."""
MAX_COMBINATIONS = 1_000_000
"""Maximum number of combinations of settings, also before `random` draws from them."""
DIGITS = 6
"""Significant digits of drawn numbers, so that they can be read and typed."""

Settings = Mapping[str, Any]
"""Values by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """A range of numbers, bounds included."""

    low: float
    """Lower bound."""
    high: float
    """Upper bound."""
    is_int: bool
    """Whether the numbers are integers."""
    is_log: bool
    """Whether the logarithm is drawn uniformly, not the number."""

    def ends(self) -> list[Any]:
        """The bounds, as values of the setting."""
        return [self.value(self.low), self.value(self.high)]

    def value(self, number: float) -> Any:
        """Convert a number of the range to a value of the setting."""
        return round(number) if self.is_int else float(f"{number:.{DIGITS}g}")

    def draw(self, rng: "np.random.Generator") -> Any:
        """Draw a random value."""
        margin = 0.5 if self.is_int else 0.0  # so that the bounds are as likely as the numbers between them
        low, high = self.low - margin, self.high + margin
        if self.is_log:
            number = math.exp(rng.uniform(math.log(low), math.log(high)))
        else:
            number = rng.uniform(low, high)
        return self.value(min(max(number, self.low), self.high))


Values = list[Any] | Range
"""Values of a setting: a list or a range."""


def at(source: str, *path: str) -> str:
    """Location in a study for messages: the file with the line of the key, and the path of keys."""
    line = line_of_key(source, path)
    return f"{source}{'' if line is None else f':{line}'}: {'.'.join(path)}"


def mapping(tree: Any, source: str) -> dict[str, Any]:
    """Validate a mapping with strings as keys; raises `ConfigError`."""
    if not isinstance(tree, Mapping) or not all(isinstance(key, str) for key in tree):
        raise ConfigError(f"{source}: expected keys such as channel.kind with values, got {shown(tree)}")
    return dict(tree)


def read_values(tree: Any, source: str) -> dict[str, Values]:
    """Read the values of each setting of a mapping.

    Raises:
        ConfigError: If a setting has neither a list of values nor a range, or is a seed.
    """
    found: dict[str, Values] = {}
    for key, values in mapping(tree, source).items():
        if key in SEEDS:
            raise ConfigError(f"{source}: {key}: use the key `seeds` of the study")
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{source}: {key}: expected a list of values, got {shown(values)}")
        found[key] = _range(values, f"{source}: {key}") if values[-1] in WORDS else values
    return found


def _range(values: list[Any], source: str) -> Range:
    numbers, words = values[:2], values[2:]
    are_numbers = len(numbers) == 2 and all(type(number) in (int, float) for number in numbers)
    are_known = all(word in WORDS and words.count(word) == 1 for word in words) and words != ["int", "float"]
    if not are_numbers or not are_known:
        raise ConfigError(
            f"{source}: expected a range such as [1e-4, 1e-2, log] or [64, 512, int], got {shown(values)}"
        )
    low, high = numbers
    is_int, is_log = "int" in words, "log" in words
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"{source}: expected a range from a lower to a higher number, got {shown(values)}")
    if is_log and low <= 0:
        raise ConfigError(f"{source}: expected a lower bound above 0 for log, got {low}")
    if is_int and not (float(low).is_integer() and float(high).is_integer()):
        raise ConfigError(f"{source}: expected whole numbers for int, got {shown(values)}")
    return Range(low=low, high=high, is_int=is_int, is_log=is_log)


def combinations(
    grids: Sequence[tuple[str, Any]],
    zipped: tuple[str, Any],
    *,
    number: int | None,
    seed: int,
) -> list[Settings]:
    """Combine every grid with every zipped row, and return all combinations or a random sample.

    Without ranges, no combination is drawn twice. With ranges, each draw takes a combination of the lists and a number
    from each range; the first draws do not depend on `number`.

    Args:
        grids: Each grid with its location for messages.
        zipped: Lists of equal lengths, with their location.
        number: Number of draws; None: all combinations.
        seed: Seed of the draw.

    Raises:
        ConfigError: If values are not valid, or there is a range and no `number`.
    """
    import numpy as np

    source, tree = zipped
    lists_by_key = read_values(tree, source)
    for key, values in lists_by_key.items():
        if isinstance(values, Range):
            raise ConfigError(f"{source}: {key}: expected a list of values, got a range (use vary)")
    columns = [each for each in lists_by_key.values() if isinstance(each, list)]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise ConfigError(f"{source}: expected lists of equal lengths, got {lengths}")
    rows = [dict(zip(lists_by_key, row, strict=True)) for row in zip(*columns, strict=True)] or [{}]
    found: list[dict[str, Any]] = []
    for source, grid in grids:
        settings = read_values(grid, source)
        ranges = {key: each for key, each in settings.items() if isinstance(each, Range)}
        if ranges and number is None:
            raise ConfigError(
                f"{source}: {next(iter(ranges))}: a range needs the number of draws, such as random: 20"
            )
        lists = [each if isinstance(each, list) else [each] for each in settings.values()]
        # Long lists have more combinations than fit in memory: stop at the maximum.
        if len(found) + len(rows) * math.prod(map(len, lists)) > MAX_COMBINATIONS:
            raise ConfigError(f"{source}: expected at most {MAX_COMBINATIONS:,} combinations, got more")
        found += [
            {**dict(zip(settings, choice, strict=True)), **row} for row in rows for choice in product(*lists)
        ]
    if number is None:
        return list(found)
    if any(isinstance(value, Range) for each in found for value in each.values()):
        return [_drawn(found, np.random.default_rng([seed, draw])) for draw in range(number)]
    if number >= len(found):
        return list(found)
    chosen = np.random.default_rng(seed).choice(len(found), number, replace=False)
    return [found[index] for index in sorted(chosen)]


def _drawn(found: Sequence[Settings], rng: "np.random.Generator") -> Settings:
    """A random combination, with a number for each range."""
    chosen = found[int(rng.integers(len(found)))]
    return {key: value.draw(rng) if isinstance(value, Range) else value for key, value in chosen.items()}
