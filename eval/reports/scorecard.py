"""The scorecard: selected metrics of one corpus, as a table and as JSON."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, load_metric
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.reports.console import print_json, write_json
from ecsuite.eval.statistics.counting import flat
from ecsuite.file_formats import with_format, without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.jobs.signals import end_as_requested

_PROVENANCE = ("source_path", "source_format", "sha256", "vocab_size", "eos_source")
"""Keys of the metadata that identify a corpus."""

_PROGRESS = ("step", "num_steps", "accuracy")
"""Keys of the metadata about the progress of training."""

_NULL = ("null_mean", "null_low", "null_high", "p_value", "null_value")
"""Keys of the details that are shown in one row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard(Mapping[str, Score]):
    """The scores of one corpus: a mapping from their names, in the order of the requested metrics."""

    corpus: dict[str, Any]
    """Origin and sizes of the corpus (the baseline without a corpus has no sizes), JSON-ready."""
    scores: tuple[Score, ...]
    """The scores, in the order of the requested metrics."""

    def __getitem__(self, name: str) -> Score:
        """The score of a name, the first if there are several."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the scores."""
        return iter(dict.fromkeys(score.name for score in self.scores))

    def __len__(self) -> int:
        """Number of names."""
        return len(list(iter(self)))

    def __str__(self) -> str:
        """The table as text."""
        console = Console(file=StringIO(), width=100)
        console.print(self.table())
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_frame(self) -> Any:
        """A row a score, as a `pandas.DataFrame` with name, value, low and high (95 %), reason and signature.

        Raises:
            ConfigError: If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ConfigError("a frame needs pandas: pip install pandas") from None
        rows = [
            {
                "name": score.name,
                "value": score.value,
                "low": score.ci95[0] if score.ci95 else None,
                "high": score.ci95[1] if score.ci95 else None,
                "reason": score.reason,
                "signature": score.signature,
            }
            for score in self.scores
        ]
        return pandas.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """The scorecard as JSON-ready data, without NaN.

        With XferBench, it also has the keys of the authors' results: `score`, `by_target` and, with ELCC, `analysis`.
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

    def publish(self, *, out: Path | None, as_json: bool) -> None:
        """Write the requested file, and print JSON or the table."""
        if out is not None:
            write_json(out, self.to_json())
        if as_json:
            print_json(self.to_json())
        else:
            Console().print(self.table())

    def table(self) -> Group:
        """The scorecard for a terminal: one row per score, its details below in dim text, the signatures at the end."""
        rows = [(score, list(_figures(score.details))) for score in self.scores]
        names = [name for score, figures in rows for name in (score.name, *(row[0] for row in figures))]
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
            for cells in (*figures, *_chance_level(score.details)):
                table.add_row(*(Text(cell, "dim") for cell in cells))
        notes = [
            Text(f"\n{score.name}: {score.details[key]}", "bold" if key == "warning" else "")
            for score in self.scores
            for key in ("warning", "note")
            if key in score.details
        ]
        signatures = dict.fromkeys(score.signature for score in self.scores)
        heading = [Text("\nSignatures (scores with equal signatures are comparable):")] if signatures else []
        return Group(Text(self._title()), table, *notes, *heading, *map(_Folded, signatures))

    def _title(self) -> str:
        """Origin and sizes of the corpus."""
        corpus = self.corpus
        origin = [str(corpus[key]) for key in ("source_path", "source_format") if key in corpus]
        if "num_messages" not in corpus:
            return "\n".join([*origin, ""])
        eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
        if corpus.get("eos_source") == "detected":
            eos += " (detected)"
        sizes = (
            f"{corpus['num_messages']:,} messages, {corpus['num_symbols']:,} symbols, "
            f"{corpus['num_distinct_symbols']:,} distinct, {eos}"
        )
        if training := corpus.get("training"):
            text = "trained {step:,} of {num_steps:,} steps, accuracy {accuracy:.1%}"
            origin.append(text.format(**training))
        return "\n".join([*origin, sizes, ""])


@dataclass(frozen=True, slots=True)
class _Folded:
    """A signature that is wrapped between its parts on a narrow terminal."""

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
        names: Names of metrics, in the order of the results; None: all metrics.
        options: Options of the metrics; None: the defaults.

    Raises:
        ValueError: If a name is not that of a metric; nothing is computed then.
    """
    options = options or Options()
    metrics = {name: load_metric(name) for name in (METRICS.parts if names is None else names)}
    scores: list[Score] = []
    for done, (name, metric) in enumerate(metrics.items()):
        request = options.runner.should_stop()
        if request is not None:
            end_as_requested(request)
        options.progress(name, done, len(metrics))
        scores += metric(corpus, options)
    return Scorecard(corpus=describe(corpus), scores=tuple(scores))


def read_scores(file: Path) -> dict[str, Any]:
    """The content of the scores file of a run folder; empty if there is none, or it is not a JSON object.

    Raises:
        ConfigError: If it is not JSON.
        FormatError: If a newer version of ecsuite wrote it.
    """
    if not file.exists():
        return {}
    before = read_json(file)
    return without_format("scores", before, file) if isinstance(before, dict) else {}


def save_scores(file: Path, data: dict[str, Any]) -> None:
    """Write scores to the file of a run folder; its scores of the same corpus with other signatures are kept.

    The file is locked meanwhile, so that of two processes neither loses the other's scores.
    """
    with FileLock(file.with_name(f".{file.name}.lock")):
        before = read_scores(file)
        try:
            is_same = before["corpus"]["sha256"] == data["corpus"]["sha256"]
            older = {(score["name"], score["signature"]): score for score in before["scores"] if is_same}
        except (KeyError, TypeError):
            older = {}  # no file, or not a scores file
        newer = {(score["name"], score["signature"]): score for score in data["scores"]}
        write_json(file, {**data, "scores": list((older | newer).values())})


def describe(corpus: Corpus) -> dict[str, Any]:
    """Description of a corpus: its provenance if known, its sizes without EOS, and EOS."""
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
    """Progress of the agents' training if the metadata have it; checked, as any program may write metadata."""
    known = metadata.get("training")
    values: list[Any] = [known.get(key) if isinstance(known, Mapping) else None for key in _PROGRESS]
    is_valid = all(type(value) in (int, float) and math.isfinite(value) for value in values)
    return {"training": dict(zip(_PROGRESS, values, strict=True))} if is_valid else {}


def _figures(details: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Table cells for the details of a score: name, number, empty, and the group of the number.

    The null distribution has its own row, see `_chance_level`.
    """
    for key, value in details.items():
        if isinstance(value, float) and key not in _NULL:
            yield f"  {key}", _format(value), "", ""
        elif isinstance(value, Mapping) and all(isinstance(number, float) for number in value.values()):
            for name, number in value.items():
                yield f"  {name}", _format(number), "", key.replace("_", " ")


def _chance_level(details: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Table cells for the chance level, if known: mean and central 95 % of the null distribution, and p-value."""
    if "null_mean" not in details:
        return
    of = f" of {details['null_rows']:,} messages" if "null_rows" in details else ""
    text = f"p {details['p_value']:.3f}, {details['permutations']} shuffles{of}"
    if "null_value" in details:
        text += f"; unshuffled {_format(details['null_value'])}"
    interval = _range(details["null_low"], details["null_high"])
    yield "  chance level", _format(details["null_mean"]), interval, text


def _range(low: float, high: float) -> str:
    """A 95 % interval, of a score or of the null distribution."""
    return f"{_format(low)} … {_format(high)}"


def _format(value: float | int | bool) -> str:
    """A number as shown in a table: 0.1269, 110,000, yes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
