"""The scorecard: chosen metrics on one corpus, as a table for people and as JSON for programs."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, load_metric
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.reports.console import write_json
from ecsuite.eval.statistics.counting import flat
from ecsuite.file_formats import with_format, without_format

_PROVENANCE = ("source_path", "source_format", "sha256", "vocab_size", "eos_source")
"""What of a corpus's metadata tells which corpus it is."""

_PROGRESS = ("step", "num_steps", "accuracy")
"""What of its training tells how far that came."""

_NULL = ("null_mean", "null_low", "null_high", "p_value", "null_value")
"""What of a score's details one row tells together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard:
    """The scores of one corpus."""

    corpus: dict[str, Any]
    """What was scored: where it came from and its sizes (the baseline without a corpus has none), JSON-ready."""
    scores: tuple[Score, ...]
    """The scores, in the order in which the metrics were asked for."""

    def to_json(self) -> dict[str, Any]:
        """The scorecard as data that `json.dumps(…, allow_nan=False)` takes.

        With XferBench, it also has the keys of the authors' results: `score`, `by_target` and, of ELCC, `analysis`.
        """
        scores = [score.to_json() for score in self.scores]
        data = with_format("scores", {"corpus": self.corpus, "scores": scores})
        by_name = {score.name: score for score in self.scores if score.value is not None}
        if "xferbench" not in by_name:
            return data
        found = by_name["xferbench"]
        analysis = {
            name: score.value for name, score in by_name.items() if score.signature.startswith("elcc|")
        }
        return data | {"score": found.value, "by_target": found.details["by_target"], "analysis": analysis}

    def table(self) -> Group:
        """The scorecard for a terminal: a row a score, dim below it its further figures; at the end the signatures."""
        rows = [(score, list(_figures(score.details))) for score in self.scores]
        names = [
            name for score, figures in rows for name in (score.name, *(f"  {row[0]}" for row in figures))
        ]
        longest = max((len(word) for name in names for word in name.split()), default=0)
        table = Table(box=None, padding=(0, 1, 0, 0))
        table.add_column("metric", min_width=max(16, longest))
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("95 %", no_wrap=True)
        table.add_column("what it means", min_width=18)
        for score, figures in rows:
            table.add_row(
                score.name,
                Text("none", "dim") if score.value is None else _format(score.value),
                "" if score.ci95 is None else _range(*score.ci95),
                Text.assemble(score.about, ("\n" + score.reason if score.reason else "", "dim")),
            )
            for cells in (*figures, *_by_chance(score.details)):
                table.add_row(*(Text(cell, "dim") for cell in cells))
        told = [
            Text(f"\n{score.name}: {score.details[key]}", "bold" if key == "warning" else "")
            for score in self.scores
            for key in ("warning", "note")
            if key in score.details
        ]
        signatures = dict.fromkeys(score.signature for score in self.scores)
        below = [Text("\nSignatures, for whoever compares:")] if signatures else []
        return Group(Text(self._title()), table, *told, *below, *map(_Folded, signatures))

    def _title(self) -> str:
        """Where the corpus is from and how large it is."""
        corpus = self.corpus
        origin = [str(corpus[key]) for key in ("source_path", "source_format") if key in corpus]
        if "num_messages" not in corpus:
            return "\n".join([*origin, ""])
        eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
        if corpus.get("eos_source") == "detected":
            eos += " (detected)"
        sizes = (
            f"{corpus['num_messages']:,} messages, {corpus['num_symbols']:,} symbols, "
            f"{corpus['num_distinct_symbols']:,} different, {eos}"
        )
        if training := corpus.get("training"):
            origin.append(
                "trained {step:,} of {num_steps:,} steps, accuracy {accuracy:.1%}".format(**training)
            )
        return "\n".join([*origin, sizes, ""])


@dataclass(frozen=True, slots=True)
class _Folded:
    """A signature that breaks between its parts, where a terminal is too narrow for it."""

    signature: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = "  "
        for part in self.signature.replace("|", "|\n").splitlines():
            if line.strip() and len(line) + len(part) > options.max_width:
                yield Text(line, "dim", overflow="fold")
                line = "    "
            line += part
        yield Text(line, "dim", overflow="fold")


def score_corpus(
    corpus: Corpus, names: Iterable[str] | None = None, options: Options | None = None
) -> Scorecard:
    """Run metrics on a corpus.

    Args:
        corpus: What to score.
        names: Names of metrics, in the order wanted; None means all of them.
        options: What a user may choose; None means the defaults.

    Raises:
        ValueError: If a name is not that of a metric; nothing has been computed then.
    """
    options = options or Options()
    metrics = {name: load_metric(name) for name in (METRICS if names is None else names)}
    scores: list[Score] = []
    for done, (name, metric) in enumerate(metrics.items()):
        options.progress(name, done, len(metrics))
        scores += metric(corpus, options)
    return Scorecard(corpus=describe(corpus), scores=tuple(scores))


def read_scores(file: Path) -> dict[str, Any]:
    """What the file of a run folder holds; nothing if there is none, or it is not ours.

    Raises:
        FormatError: If a newer version wrote it.
    """
    try:
        before = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return without_format("scores", before, file) if isinstance(before, dict) else {}


def keep_scores(file: Path, data: dict[str, Any]) -> None:
    """Write scores into the file of a run folder, beside those it has of the same corpus under other signatures."""
    before = read_scores(file)
    try:
        is_same = before["corpus"]["sha256"] == data["corpus"]["sha256"]
        older = {(score["name"], score["signature"]): score for score in before["scores"] if is_same}
    except (KeyError, TypeError):
        older = {}  # there is none, or it is not ours
    newer = {(score["name"], score["signature"]): score for score in data["scores"]}
    write_json(file, {**data, "scores": list((older | newer).values())})


def describe(corpus: Corpus) -> dict[str, Any]:
    """What a corpus is: its provenance as far as known, its sizes without EOS, and EOS itself."""
    content, symbols = corpus.reindexed()
    names, meanings, concepts = corpus.symbol_names, corpus.meanings, corpus.concepts
    known = {key: corpus.metadata[key] for key in _PROVENANCE if key in corpus.metadata}
    return {**known, **_training(corpus.metadata)} | {
        "num_messages": len(content),
        "num_empty": int((content.lengths == 0).sum()),
        "num_symbols": len(content.values),
        "num_distinct_symbols": len(symbols),
        "eos": corpus.eos if corpus.eos is None or not names else names[corpus.eos],
        "num_attributes": None if meanings is None else flat(meanings).shape[1],
        "num_concepts": None if concepts is None else len(concepts.reindexed()[1]),
    }


def _training(metadata: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """How far the training of the agents came, where the metadata say so; anybody may have written them."""
    known = metadata.get("training")
    told: list[Any] = [known.get(key) if isinstance(known, Mapping) else None for key in _PROGRESS]
    is_right = all(type(value) in (int, float) and math.isfinite(value) for value in told)
    return {"training": dict(zip(_PROGRESS, told, strict=True))} if is_right else {}


def _figures(details: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """The cells of what a table shows of a score's details: name, number, nothing, and the group it belongs to.

    What the null is like has a row of its own, see `_by_chance`.
    """
    for key, value in details.items():
        if isinstance(value, float) and key not in _NULL:
            yield f"  {key}", _format(value), "", ""
        elif isinstance(value, Mapping) and all(isinstance(number, float) for number in value.values()):
            for name, number in value.items():
                yield f"  {name}", _format(number), "", key.replace("_", " ")


def _by_chance(details: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """The cells that tell what chance scores, where that is known: its mean, the middle 95 %, and the p-value."""
    if "null_mean" not in details:
        return
    of = f" of {details['null_rows']:,} messages" if "null_rows" in details else ""
    told = f"p {details['p_value']:.3f}, {details['permutations']} shuffles{of}"
    if "null_value" in details:
        told += f"; unshuffled {_format(details['null_value'])}"
    yield (
        "  by chance",
        _format(details["null_mean"]),
        _range(details["null_low"], details["null_high"]),
        told,
    )


def _range(low: float, high: float) -> str:
    """The middle 95 %, of a score or of chance."""
    return f"{_format(low)} … {_format(high)}"


def _format(value: float | int | bool) -> str:
    """A number as a table shows it: 0.1269, 110,000, yes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
