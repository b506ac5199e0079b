"""The scorecard: chosen metrics on one corpus, as a table for people and as JSON for programs."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ecsuite.corpus import Corpus
from ecsuite.eval import METRICS, load_metric
from ecsuite.eval.counting import flat
from ecsuite.eval.score import Options, Score

_PROVENANCE = ("source_path", "source_format", "sha256", "vocab_size", "eos_source")
"""What of a corpus's metadata tells which corpus it is."""

_PROGRESS = ("step", "num_steps", "accuracy")
"""What of its training tells how far that came."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard:
    """The scores of one corpus."""

    corpus: dict[str, Any]
    """What was scored: where it came from and its sizes, JSON-ready."""
    scores: tuple[Score, ...]
    """The scores, in the order in which the metrics were asked for."""

    def to_json(self) -> dict[str, Any]:
        """The scorecard as data that `json.dumps(…, allow_nan=False)` takes."""
        return {"corpus": self.corpus, "scores": [score.to_json() for score in self.scores]}

    def table(self) -> Table:
        """The scorecard for a terminal: a row a score, and dim below it its further figures."""
        table = Table(
            title=self._title(), title_justify="left", title_style="", box=None, padding=(0, 1, 0, 0)
        )
        table.add_column("metric", min_width=16)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("95 % CI", no_wrap=True)
        table.add_column("what it means", min_width=18)
        table.add_column("signature", min_width=18)
        for score in self.scores:
            table.add_row(
                score.name,
                Text("none", "dim") if score.value is None else _format(score.value),
                "" if score.ci95 is None else " … ".join(_format(bound) for bound in score.ci95),
                Text.assemble(score.about, ("\n" + score.reason if score.reason else "", "dim")),
                _Folded(score.signature),
            )
            for name, figure, group in _figures(score.details):
                table.add_row(Text(f"  {name}", "dim"), Text(_format(figure), "dim"), "", Text(group, "dim"))
        return table

    def _title(self) -> str:
        """Where the corpus is from and how large it is."""
        corpus = self.corpus
        eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
        if corpus.get("eos_source") == "detected":
            eos += " (detected)"
        sizes = (
            f"{corpus['num_messages']:,} messages, {corpus['num_symbols']:,} symbols, "
            f"{corpus['num_distinct_symbols']:,} different, {eos}"
        )
        origin = [str(corpus[key]) for key in ("source_path", "source_format") if key in corpus]
        if training := corpus.get("training"):
            origin.append(
                "trained {step:,} of {num_steps:,} steps, accuracy {accuracy:.1%}".format(**training)
            )
        return escape("\n".join([*origin, sizes, ""]))


@dataclass(frozen=True, slots=True)
class _Folded:
    """A signature that breaks between its parts, where a terminal is too narrow for it."""

    signature: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        longest = max(map(len, self.signature.split("|"))) + 1
        return Measurement(min(longest, options.max_width), min(len(self.signature), options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = ""
        for part in self.signature.replace("|", "|\n").splitlines():
            if line and len(line) + len(part) > options.max_width:
                yield Text(line, "dim", overflow="fold")
                line = ""
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


def _figures(details: Mapping[str, Any]) -> Iterator[tuple[str, float, str]]:
    """What of a score's details a table shows: name, number, and the group it belongs to, if it does to one."""
    for key, value in details.items():
        if isinstance(value, float):
            yield key, value, ""
        elif isinstance(value, Mapping) and all(isinstance(number, float) for number in value.values()):
            yield from ((name, number, key.replace("_", " ")) for name, number in value.items())


def _format(value: float | int | bool) -> str:
    """A number as a table shows it: 0.1269, 110,000, yes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
