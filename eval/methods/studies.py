"""Results of the studies `icy` and `cbm`, whose files have all settings."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.study import READS
from ecsuite.eval.methods.prose import Cite, Paragraph, Sentence, listed
from ecsuite.eval.methods.settings import line_of, options_text
from ecsuite.eval.methods.training import (
    agents_paragraph,
    evaluation_paragraph,
    game_paragraph,
    seeds_text,
    training_paragraph,
)
from ecsuite.formats.strict_json import read_json
from ecsuite.grammars.registry import GRAMMARS
from ecsuite.parts.config import unread
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted

TOLD = (
    "name",
    "about",
    "protocol",
    "role",
    "models",
    "receivers",
    "grammars",
    "seeds",
    "published",
    "metrics",
)
"""Settings of an ICY study that have a sentence of their own, or say nothing of how it was done."""
PARTS = re.compile(r"[:,=-]")
"""Between the names of an agent, its cell and its options: `husendz:dgsend`."""


def study_paragraphs(place: Path) -> list[Paragraph] | None:
    """The paragraphs of the results of an ICY or CBM study; None of another file.

    Raises:
        ConfigError: If it is JSON of such a study that can't be read.
    """
    if place.suffix != ".json" or not place.is_file():
        return None
    data = read_json(place)
    rows = data.get("rows") if isinstance(data, Mapping) else None
    if not isinstance(rows, list) or not rows:
        return None
    try:
        if all(isinstance(row, Mapping) and {"config", "runs", "failures"} <= row.keys() for row in rows):
            return _cbm(rows)  # which also has a `study`
        if isinstance(data.get("study"), Mapping):
            return _icy(data["study"], rows)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigError(f"{place}: not the results of a study: {error!r}") from None
    return None


def _icy(study: Mapping[str, Any], rows: list[Any]) -> list[Paragraph]:
    """How fast models learn grammars."""
    models = list(study["models"])
    names = [part for model in [*models, *study["receivers"]] for part in PARTS.split(model)]
    roles = (
        f"as {study['role']}s"
        if not study["receivers"]
        else f"with the receivers {listed(study['receivers'])}"
    )
    grammars = list(dict.fromkeys(cell["grammar"] for row in rows for cell in row.get("cells", ())))
    lines = [
        f"{name} ({line_of(GRAMMARS, name).rstrip('.')})" for name in grammars if name in GRAMMARS.lines()
    ]
    options = options_text([study], without=(*TOLD, *unread(study, [study["protocol"]], READS)))
    sentences: list[Sentence] = [
        ["How fast models learn artificial languages was measured", Cite.of("icy"), " with ecsuite", Cite.of("ecsuite"),
         f", by the protocol {study['protocol']}."],
        [f"The models, {roles}, are {listed(models)}", Cite.of(*names), "."],
        [f"The languages beside CONCAT are {listed(lines or grammars)}", Cite.of(*grammars), "."],
        [f"Settings: {options}."],
    ]  # fmt: skip
    if seeds := sorted({seed for row in rows for seed in row.get("seeds", ())}):
        sentences.append([f"Each was learnt with {seeds_text(seeds)} of languages, weights and batches."])
    return [Paragraph(about="study", sentences=(*sentences, *_censored(rows)))]


def _censored(rows: list[Any]) -> list[Sentence]:
    """The runs that did not reach the target, by model and language."""
    told, number = [], 0
    for row in rows:
        for cell in row.get("cells", ()):
            runs = [run for run in cell.get("runs", ()) if "reached" in run]
            late = [run["seed"] for run in runs if not run["reached"]]
            number += len(runs)
            told += [f"{row['model']} on {cell['grammar']} ({seeds_text(late)})"] if late else []
    if not number:
        return []
    if not told:
        return [[f"All {counted(number, 'run')} reached the target."]]
    return [[f"The target was not reached within the largest number of updates by {listed(told)}."]]


def _cbm(rows: list[Any]) -> list[Paragraph]:
    """The games of the CBM paper."""
    configs = [row["config"] for row in rows]
    seeds = sorted(
        {run["seed"] for row in rows for run in row["runs"]}
        | {int(seed) for row in rows for seed in row["failures"]}
    )
    failed = [
        f"{row['name']} with seed {seed}: {why}" for row in rows for seed, why in row["failures"].items()
    ]
    chance: dict[str, list[Any]] = {}
    for run in (run for row in rows for run in row["runs"]):
        for name, level in run.get("chance", {}).items():
            levels = chance.setdefault(name, [])
            levels += [level] if level not in levels else []
    left_out = f"In no mean are those that failed: {'; '.join(failed)}." if failed else "No run failed."
    sentences: list[Sentence] = [
        [f"The rows {listed(row['name'] for row in rows)} are of the study cbm", Cite.of("cbm"), "."],
        [
            f"Each was trained with {seeds_text(seeds)}, which {'sets' if len(seeds) == 1 else 'set'} all that "
            "is drawn at random."
        ],
        [left_out],
    ]
    paragraphs = (
        game_paragraph(configs),
        agents_paragraph(configs),
        training_paragraph(configs, [{} for _ in configs]),
        Paragraph(about="runs", sentences=tuple(sentences)),
        evaluation_paragraph(configs, chance),
    )
    return [each for each in paragraphs if each is not None]
