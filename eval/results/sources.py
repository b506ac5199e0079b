"""A source of scores, such as a run or a corpus, with its records: values with intervals and chance levels."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.metrics import METRIC_OF
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.statistics.estimates import share_interval
from ecsuite.files.checksums import is_sealed_text
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.parts.config import decoded, dotted_values, parse_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import value_text

Status = Literal["done", "failed", "capped", "diverged"]
"""End of a run: done: as its settings say; failed: with an error; capped: by the clock, a stop or pruning; diverged:
with values that are not finite."""
STORE = "jobs"
"""Folder in a sweep's folder with the stored results of its jobs."""
PROVENANCE = ("about", "data", "code", "format")
"""Keys of a config that are not settings."""
MEASURES = (*DIRECTIONS, "length", "steps")
"""Measures of trainings."""
MOST_SETTINGS = 4
"""Maximum number of varying settings in a title."""
CAPPED = ("minutes", "limit", "interrupt", "preempted", "pruned")
"""Values of `stopped` for runs that were ended early."""
PROTOCOL = "protocol"
"""Figure of a run of a claim: 1 if it formed a protocol, otherwise 0."""
NUM_VALID = "evaluation.num_valid"
"""Setting with the number of rounds of an evaluation."""
UNENDED = "unended"
"""Value of `stopped` for a training that is running, or was killed."""
INCOMPLETE = (*CAPPED, UNENDED)
"""Values of `stopped` for incomplete runs."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run, a corpus, or a file of scores."""

    name: str
    """Name in tables."""
    file: Path
    """File that describes it, named in errors."""
    records: tuple[Score, ...] = ()
    """Scores, and measures of the training."""
    is_run: bool = False
    """Whether a game was trained."""
    is_of_run: bool = False
    """Whether its messages come from trained agents, even if the run folder is unknown."""
    folder: Path | None = None
    """Folder of the run or corpus; None for a single file."""
    corpus: Path | None = None
    """Path of its messages as recorded in its file; they may have moved."""
    how: str = ""
    """Reading options of the messages, see `Messages`."""
    system: str | None = None
    """System that produced it, in the layout of ELCC, `SYSTEM/data/VARIANT`."""
    game: str | None = None
    """Name of the game of a run."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings by `section.key`; for runs that were read together, the settings that differ between them."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Further settings by `section.key` that all runs of its sweep share, from the key `set` of the study."""
    seed: int | None = None
    """Seed of the run."""
    group: str = ""
    """Identifier shared by runs that differ only in their seeds; empty if unknown."""
    row: str = ""
    """Name of the row of a table that it is in, see `Results.group`; empty: not in a table."""
    block: str = ""
    """Identifier of its settings that a row averages over; empty: none."""
    digest: str = ""
    """Checksums of the files of the corpus as JSON text; empty if unknown."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """Sizes of the corpus by name, such as `num_messages`."""
    status: Status = "done"
    """End of the training."""
    stopped: str | None = None
    """Reason why the training ended: epochs, accuracy, minutes, …; None if unknown, or if it failed."""
    failure: str | None = None
    """Reason of a failure; None if it did not fail."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Result of the training in a sweep, see `ecsuite.games.runs.run_folder.RunResult.to_json`."""
    asked: tuple[str, ...] = ()
    """Metrics that were requested by name; tables omit other metrics of the same runs."""
    seconds: float | None = None
    """Time of training and scores of a run of a claim, in seconds; None: unknown."""
    cache: dict[Path, dict[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    """Contents of read files of its folder, shared by its copies (`replace`)."""

    @property
    def config(self) -> dict[str, Any]:
        """All settings of its run folder by `section.key`, and the name of the game; empty without a folder.

        Raises:
            ConfigError: If the file can't be read.
            DamagedError: If it was changed.
        """
        if self.folder is None:
            return {}
        if (file := RunFolder(self.folder).config) not in self.cache:
            kept = self.metadata.get("config")
            # Unchanged files have the same settings in the metadata, and reading JSON takes a tenth of the time.
            tree: dict[str, Any] = {}
            if isinstance(kept, dict) and file.is_file() and is_sealed_text(file.read_bytes()):
                tree = kept
            elif file.is_file():
                tree = read_config(file)
            self.cache[file] = dotted_values({key: tree[key] for key in tree if key not in PROVENANCE})
        return self.cache[file]

    @property
    def metadata(self) -> dict[str, Any]:
        """The content of its `metadata.json`; empty without one."""
        if self.folder is None:
            return {}
        if (file := RunFolder(self.folder).metadata) not in self.cache:
            content = read_json(file) if file.is_file() else None
            self.cache[file] = content if isinstance(content, dict) else {}
        return self.cache[file]

    @property
    def machine(self) -> str | None:
        """Hardware in its metadata; None if not recorded."""
        versions = self.metadata.get("versions")
        hardware = versions.get("hardware") if isinstance(versions, Mapping) else None
        return hardware if isinstance(hardware, str) else None

    @property
    def title(self) -> str:
        """Varying settings and seed if they are few, else the name."""
        settings = [f"{key}={value_text(value)}" for key, value in self.settings.items()]
        if self.is_run and 0 < len(settings) <= MOST_SETTINGS:
            return ", ".join([*settings, f"seed {self.seed}"])
        return self.name

    @property
    def has_protocol(self) -> bool | None:
        """Whether its agents understand each other: accuracy above its chance level; None: unknown.

        True if the lower end of the exact 95 % interval of the accuracy over the rounds of evaluation is above the best
        accuracy without reading messages. Unknown for runs that diverged, failed or are incomplete, and for plays
        without rounds of evaluation, such as naming games.
        """
        if (formed := self.values.get(PROTOCOL)) is not None:
            return bool(formed)
        level = (self.training.get("chance") or self.metadata.get("chance") or {}).get("accuracy")
        if level is None or not self.counts():
            return None
        measures = self.measures
        accuracy = measures.get("accuracy") if measures.keys() & {"loss", "reward"} else None  # not in talks
        rounds = next(
            (own[NUM_VALID] for own in (self.settings, self.fixed, self.config) if NUM_VALID in own), None
        )
        if rounds is None or accuracy is None:
            return None
        return share_interval(accuracy * rounds, rounds)[0] > float(level)

    @property
    def is_whole(self) -> bool:
        """Whether its training ended as its settings say, and not by the clock, a stop or pruning."""
        return self.stopped not in INCOMPLETE

    def counts(self, *, with_incomplete: bool = False) -> bool:
        """Whether it counts in means and comparisons: it did not fail or diverge, and ended as its settings say.

        A run of which one score failed counts in none, so that all columns of a row are over the same runs.
        """
        is_ended = self.failure is None and self.status != "diverged"
        return is_ended and (with_incomplete or self.stopped not in INCOMPLETE)

    def has(self, name: str) -> bool:
        """Whether it has a value of a score or measure."""
        return any(
            record.value is not None and name == (record.figure if record.is_measure else record.name)
            for record in self.records
        )

    @property
    def ending(self) -> str:
        """End of the training in words."""
        return "has not ended" if self.stopped == UNENDED else f"ended by {self.stopped}"

    @property
    def measures(self) -> dict[str, float]:
        """Measures of the training by name: `accuracy`, `held out accuracy`, `length` and more."""
        return {record.figure: float(record.value) for record in self.records if record.is_measure}  # type: ignore[arg-type]

    @property
    def scores(self) -> dict[str, float | None]:
        """Scores by name, for tables: all, or the requested ones and users' own."""
        values = {record.name: record.value for record in self.records if not record.is_measure}
        # Options in the name of a score belong to it; options of other metrics, such as XferBench, do not.
        asked = {each if each in values else each.partition(",")[0] for each in self.asked}
        wanted = {name: value for name, value in values.items() if name in asked or name not in METRIC_OF}
        return wanted if self.asked and wanted else values

    @cached_property
    def values(self) -> dict[str, float | None]:
        """Values of all records by name; None if undefined."""
        return {record.figure: record.value for record in self.records}

    @property
    def figures(self) -> dict[str, float | None]:
        """Measures and scores by name."""
        return {**self.measures, **self.scores}

    def records_of(self, score: str) -> list[Score]:
        """Records of a score, one per signature."""
        return [record for record in self.records if record.name == score and not record.is_measure]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the record table: one per value, and one per value of a part."""
        about_source = {
            "source": self.name,
            "system": self.system,
            "game": self.game,
            **{setting_column(name, VALUE_COLUMNS): value for name, value in self.settings.items()},
            "seed": self.seed,
            "status": self.status,
            "why": self.failure or self.stopped,
            "num_messages": self.sizes.get("num_messages"),
            "num_symbols": self.sizes.get("num_symbols"),
        }
        for record in self.records:
            low, high = record.ci95 or (None, None)
            chance = record.chance
            about_score = {
                "score": record.name,
                "value": record.value,
                "low": low,
                "high": high,
                "chance": None if chance is None else chance.level,
                "chance_low": None if chance is None else chance.low,
                "chance_high": None if chance is None else chance.high,
                "reason": record.reason or None,
                "signature": record.signature or None,
                "version": Signature(record.signature).options.get("v"),
                "machine": self.machine,
            }
            yield {**about_source, "unit": unit_text(record.unit), **about_score}
            no_interval = dict.fromkeys(("low", "high", "chance", "chance_low", "chance_high", "reason"))
            for unit, value in _parts(record):
                of_part = {**about_source, "unit": unit_text({**record.unit, **unit})}
                yield {**of_part, **about_score, **no_interval, "value": value}


def _parts(score: Score) -> Iterator[tuple[dict[str, Any], float]]:
    """Values of the parts of the source with their units: seed and target, speaker, pair."""
    seeds = score.details.get("by_seed")
    for row in seeds if isinstance(seeds, list) else ():
        if isinstance(row, Mapping):
            yield from _values({"seed": row.get("seed")}, "target", row.get("by_target"))
    if not isinstance(seeds, list):
        yield from _values({}, "target", score.details.get("by_target"))
    for unit in ("speaker", "pair"):
        yield from _values({}, unit, score.details.get(f"by_{unit}"))


def _values(unit: Mapping[str, Any], key: str, values: Any) -> Iterator[tuple[dict[str, Any], float]]:
    """Numbers of a mapping with their units."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        if type(value) in (int, float):
            yield {**unit, key: name}, value


def read_config(file: Path) -> dict[str, Any]:
    """Read the settings of a `config.yaml` by section, without keys that do not affect the play.

    Raises:
        ConfigError: If it is not YAML, or not a mapping.
        DamagedError: If it was changed.
    """
    try:
        tree = parse_yaml(decoded(file.read_bytes(), file), str(file))
        return {key: value for key, value in tree.items() if key not in PROVENANCE}
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{file.parent}: can't be read as a run folder: {error}") from None


def unit_text(unit: Mapping[str, Any]) -> str:
    """Unit as text in a cell: `seed=0, target=da`; `whole` without a part."""
    return ", ".join(f"{key}={value}" for key, value in unit.items()) or "whole"


VALUE_COLUMNS = ("source", "status", "why", "num_messages", "num_symbols", "unit", "score", "value", "low", "high",
                 "chance", "chance_low", "chance_high", "reason", "signature", "version", "machine")  # fmt: skip
"""Reserved columns of the record table, which no setting may have."""


def setting_column(name: str, taken: Container[str]) -> str:
    """Column name of a setting: its own, or `setting.NAME` if a measure or score has this name.

    Args:
        name: The setting.
        taken: Names of the table's other columns.
    """
    return f"setting.{name}" if name in taken or name in MEASURES or name in METRIC_OF else name


GRAMMAR = "a grammar"
"""Value of `speaker` for the first language of an iterated-learning chain; corpora of grammars have no speaker."""
PEOPLE = ("a participant", "participants")
"""Values of `speaker` for people: one, or several."""
PROGRAMS = ("a simulated participant", "simulated participants")
"""Values of `speaker` for simulated participants."""


def speaker_of(metadata: Mapping[str, Any]) -> str:
    """Speaker in the metadata; empty for a grammar, or if unknown."""
    speaker = metadata.get("speaker")
    return speaker if isinstance(speaker, str) and speaker != GRAMMAR else ""


def kind_of(metadata: Mapping[str, Any]) -> Literal["people", "grammar", "corpus"]:
    """Kind of a corpus; a corpus of learners of a grammar is not a corpus of the grammar."""
    if (speaker := speaker_of(metadata)) in PEOPLE:
        return "people"
    return "grammar" if "grammar" in metadata and not speaker else "corpus"
