"""Scores of settings: their table, and their differences to a base, with one correction for all of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.results.comparison import Means
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import Difference
from ecsuite.eval.views.comparison import family_notes
from ecsuite.eval.views.runs import shown
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError, unknown_name

Settings = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreAbout:
    """Meaning, direction and signatures of a score."""

    name: str
    about: str
    """Its meaning in a line; empty for a measure of the training."""
    direction: str | None
    """The better direction: higher, lower, or None."""
    signatures: tuple[str, ...]
    """All its signatures; scores with several are not comparable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Differences:
    """Differences of settings to a base."""

    base: str
    """The base in words."""
    is_chosen: bool
    """Whether the user named it."""
    rows: tuple[tuple[str, str, Difference], ...]
    """Setting, score and difference."""
    reasons: tuple[str, ...]
    """Reasons why scores could not be compared."""
    notes: tuple[str, ...]
    """Tests, the family of Holm's correction, and the sizes at which scores are compared."""


def about_scores(sources: Sequence[Source], names: Sequence[str]) -> list[ScoreAbout]:
    """Meaning, direction and signatures of scores by name."""
    found = []
    for name in names:
        records = [record for source in sources for record in source.records_of(name)]
        signatures = dict.fromkeys(record.signature for record in records if record.signature)
        about = next((record.about for record in records if record.about), "")
        direction = traits_of(name).direction or DIRECTIONS.get(name)
        found.append(ScoreAbout(name=name, about=about, direction=direction, signatures=tuple(signatures)))
    return found


def differences(
    table: Means,
    sources: Sequence[Source],
    base: str | None,
    sizes: EqualSizes | None = None,
    by: Sequence[str] | None = None,
) -> Differences | None:
    """Differences of the rows of a table to a base.

    Args:
        table: A row for each combination of settings.
        sources: The runs of the table.
        base: Settings (`channel.kind=gumbel`), of which a row is compared with the row that has these and otherwise its
            own values; or the path of a run, whose row is the base of all; None: the first row, of the comparison of
            all pairs.
        sizes: Draws from larger corpora.
        by: Settings of a row that the user named; None: all that vary.

    Returns:
        None if there is only one row, or no base was named and no row has several seeds.

    Raises:
        ConfigError: If no row has these settings, or no run this path.
    """
    rows = [dict(zip(table.keys, row.settings, strict=True)) for row in table.rows]
    if base is not None:
        changed, words = _base(base, rows, table.keys, sources)
    else:
        changed, words = (rows[0], label(rows[0])) if rows else ({}, "")
    if len(rows) < 2 or table.comparison is None:
        return None
    names = [row.name for row in table.rows]
    pairs = []
    for name, row in zip(names, rows, strict=True):
        other = {**row, **changed}
        if other != row and other in rows:
            pairs.append((name, names[rows.index(other)]))
    compared = table.comparison
    if base is not None:
        chosen = [score.name for score in compared.scores]
        compared = (
            Results(sources)
            .group(by)
            .compare(chosen, as_rows=True, sizes=sizes, pairs=partial(_chosen, pairs))
        )
    elif all(each.p_value is None for each in compared.differences) and not any(
        score.reason for score in compared.scores
    ):
        return None  # one seed each: nothing can be said of the differences
    found = [
        (label(rows[names.index(first)]), score.name, each)
        for score in compared.scores
        for first, second in pairs
        if (each := score.difference(first, second)) is not None
    ]
    return Differences(
        base=words,
        is_chosen=base is not None,
        rows=tuple(found),
        reasons=tuple(
            dict.fromkeys(f"{score.name}: {score.reason}" for score in compared.scores if score.reason)
        ),
        notes=tuple(family_notes(compared)),
    )


def _chosen(names: Sequence[tuple[str, str]], samples: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """The pairs of samples with these names."""
    by_name = {sample.name: sample for sample in samples}
    return [(by_name[one], by_name[two]) for one, two in names if one in by_name and two in by_name]


def label(settings: Settings) -> str:
    """Settings in a line."""
    return ", ".join(f"{key}={shown(value)}" for key, value in settings.items()) or "all runs"


def _base(
    base: str, rows: Sequence[Settings], keys: Sequence[str], sources: Sequence[Source]
) -> tuple[dict[str, Any], str]:
    """The settings in which a base differs from a row, and the base in words."""
    if "=" not in base:
        for folder, settings in ((source.folder, source.settings) for source in sources):
            if folder is not None and (folder.name == base or folder.resolve() == Path(base).resolve()):
                own = {key: settings.get(key) for key in keys}
                return own, label(own)
        raise ConfigError(
            f"--base {base}: none of the runs: expected settings such as channel.kind=gumbel, or the path of a run"
        )
    changed = {}
    values_of = {key: {shown(row[key]): row[key] for row in rows} for key in keys}
    parts: list[str] = []
    for piece in base.split(","):
        before, key = parts[-1].partition("=")[0] if parts else "", piece.strip().partition("=")[0]
        if key not in keys and any("," in value for value in values_of.get(before, ())):
            parts[-1] += f",{piece}"  # of a value with commas
        else:
            parts.append(piece.strip())
    for part in parts:
        key, equals, text = part.partition("=")
        if not equals:
            raise ConfigError(
                f"--base {base}: expected settings such as channel.kind=gumbel, or the path of a run"
            )
        if key not in keys:
            if not keys:
                raise ConfigError(f"--base {base}: no setting differs between these runs")
            raise unknown_name("--base: setting", key, list(keys))
        values = values_of[key]
        wanted = shown(parse_yaml(f"value: {text}", "--base")["value"]) if text else text
        if wanted not in values:
            raise unknown_name(f"--base: value of {key}", text, list(values))
        changed[key] = values[wanted]
    if not any(all(row[key] == value for key, value in changed.items()) for row in rows):
        raise ConfigError(f"--base {base}: no run has these settings")
    return changed, label(changed)
