"""How many messages does a score need? Bias, spread and coverage of every metric, on languages with known truth.

A language is a grammar whose symbols are replaced with a probability, the noise: at 0 it is compositional, at 1 its
messages say nothing. Meanings are drawn independently, so that corpora vary. Its truth is the score of a corpus of
100,000 messages; a * marks it where that of 50,000 differs by more than 0.01. For each size, over corpora:

    bias      mean score minus truth
    spread    standard deviation of the score
    covers    share of 95 % intervals that hold the mean score of corpora of this size
    truth     share of 95 % intervals that hold the truth
    found     share of corpora whose score is said to differ from chance, after Holm's correction for the whole table

    python benchmarks/corpus_size.py --corpora 4 --sizes 25 100          # a minute
    python benchmarks/corpus_size.py --json corpus_size.json --picture docs/pictures/how_many_messages.svg
    python benchmarks/corpus_size.py --rows corpus_size.json --picture docs/pictures/how_many_messages.svg
    python benchmarks/corpus_size.py --corpora 20 --metrics topsim posdis --attributes 2 3

Every corpus is a job whose result is stored in `--cache`, so that a stopped command resumes.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.statistics.estimates import ALPHA, holm
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.eval.views.figures.canvas import ends, prepare_picture, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.grammars.making import make_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context, Job, job_function

METRICS = (
    "cbm", "cbm_types", "topsim", "posdis", "bosdis", "ami", "ncnpmi", "context_independence", "word_entropy",
    "conflict_count", "has", "zla", "hce", "residual_entropy", "tre7",
)  # fmt: skip
"""The default metrics but for sizes and entropies, which have no interval."""
SLOW = ("residual_entropy", "tre7")
"""Metrics that take half of the time."""
NOISES = (0.0, 0.5, 0.8, 1.0)
SIZES = (25, 50, 100, 200, 400, 1000)
NUM_VALUES = 5
TRUTH_SIZE = 100_000
"""Messages of the corpus whose score is taken as the truth."""
POWER = 0.8
"""Share of corpora that is enough."""
DRIFT = 0.01
"""If the truth changes by more than this when half of the messages are left out, the table marks it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How messages look; those metrics have another one that are undefined or constant for the usual one."""

    word_length: int = 1
    """Symbols of an attribute value; words of one symbol are distinct over all attributes."""
    has_ends: bool = True
    """Whether noise can be EOS, after which a message ends."""


FORMS = {"conflict_count": Form(has_ends=False), "has": Form(word_length=2), "zla": Form(word_length=2)}
"""Form of the language by metric, if it is not the default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """A grammar with noise."""

    grammar: str
    """Name of a grammar with meanings."""
    num_attributes: int
    """Number of attributes, each with `NUM_VALUES` values."""
    noise: float
    """Probability that a symbol is replaced by one drawn from all symbols and EOS, 0 to 1."""

    def corpus(self, num_messages: int, seed: int, form: Form) -> Corpus:
        """Draw meanings with replacement, and add noise to their messages; EOS is 0."""
        vocab_size = NUM_VALUES * (self.num_attributes if form.word_length == 1 else 1)
        language = make_corpus(
            self.grammar,
            num_attributes=self.num_attributes,
            num_values=NUM_VALUES,
            word_length=form.word_length,
            vocab_size=vocab_size,
        )
        assert language.meanings is not None and language.concepts is not None
        rng = np.random.default_rng([seed, num_messages])
        drawn = rng.integers(len(language.meanings), size=num_messages)
        symbols = language.messages.values.reshape(len(language.meanings), -1)[drawn]
        is_noise = rng.random(symbols.shape) < self.noise
        noise = rng.integers(0 if form.has_ends else 1, vocab_size + 1, size=symbols.shape)
        return Corpus(
            np.where(is_noise, noise, symbols).tolist(),
            eos=0,
            meanings=language.meanings[drawn],
            concepts=language.concepts.take(drawn),
            concept_names=language.concept_names,
        )

    def scores(self, num_messages: int, seed: int, metrics: Sequence[str]) -> list[Score]:
        """The scores of one corpus of each form, in the order of the metrics."""
        found: list[Score] = []
        for form, group in groupby(metrics, lambda name: FORMS.get(name, Form())):
            corpus = self.corpus(num_messages, seed, form)
            found += score_corpus(corpus, list(group), Options(seed=seed)).scores
        return found


@job_function(version=1, label=lambda language, num_messages, **_: f"{language} {num_messages}")
def score_one(
    *, language: Language, num_messages: int, seed: int, metrics: list[str], context: Context
) -> list[dict[str, Any]]:
    """Each score of one corpus, with its interval and whether it is said to differ from chance."""
    scores = language.scores(num_messages, seed, metrics)
    return [
        {
            "name": score.name,
            "value": _per_row(score.name, score.value, num_messages),
            "ci95": None
            if score.ci95 is None
            else [_per_row(score.name, end, num_messages) for end in score.ci95],
            "chance": _per_row(
                score.name, None if score.chance is None else score.chance.level, num_messages
            ),
            "p": p_value(score),
        }
        for score in scores
    ]


@job_function(version=1, work=lambda **_: 20.0, label=lambda language, **_: f"{language} truth")
def score_truth(
    *, language: Language, num_messages: int, metrics: list[str], context: Context
) -> dict[str, float | None]:
    """Each score of a large corpus."""
    with few_draws():
        scores = language.scores(num_messages, 0, metrics)
    return {score.name: _per_row(score.name, score.value, num_messages) for score in scores}


def _per_row(name: str, value: float | None, num_messages: int) -> float | None:
    """The number of conflicts grows with the corpus, so it is divided by the number of messages."""
    return value / num_messages if name == "conflict_count" and value is not None else value


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Scores of a metric on corpora of one size of one language."""

    metric: str
    language: Language
    num_messages: int
    num_corpora: int
    """Corpora where the score is defined."""
    truth: float | None
    """Score of the large corpus."""
    drift: float | None
    """How much it changes when half of that corpus is left out."""
    mean: float | None
    bias: float | None
    spread: float | None
    covers: float | None
    """Share of the intervals with the mean."""
    covers_truth: float | None
    found: float | None
    """Share of the corpora with a chance level whose score differs significantly from it."""


def rows(
    languages: Sequence[Language],
    sizes: Sequence[int],
    corpora: Mapping[str, int],
    runner: Runner,
) -> Iterator[Row]:
    """Compute what is missing, and make the rows.

    Args:
        languages: Each with every size.
        sizes: Numbers of messages.
        corpora: By metric, the number of corpora; metrics with the same number are computed together.
        runner: Runs the jobs.
    """
    groups: dict[int, list[str]] = {}
    for name, number in corpora.items():
        groups.setdefault(number, []).append(name)
    truths = {
        (language, size): [
            Job(score_truth, language=language, num_messages=size, metrics=metrics)
            for metrics in groups.values()
        ]
        for language in languages
        for size in (TRUTH_SIZE, TRUTH_SIZE // 2)
    }
    jobs = {
        (language, size, seed): [
            Job(score_one, language=language, num_messages=size, seed=seed, metrics=metrics)
            for number, metrics in groups.items()
            if seed <= number
        ]
        for seed in range(1, max(groups) + 1)  # the first corpora of everything, then the second ones
        for language in languages
        for size in sizes
    }
    results = runner.run([job for each in (*jobs.values(), *truths.values()) for job in each])
    for language in languages:
        truth, half = (
            {name: value for job in truths[language, size] for name, value in results[job].checked().items()}
            for size in (TRUTH_SIZE, TRUTH_SIZE // 2)
        )
        for size in sizes:
            by_name: dict[str, list[dict[str, Any]]] = {}
            for seed in range(1, max(groups) + 1):
                for score in corrected([results[job].checked() for job in jobs[language, size, seed]]):
                    by_name.setdefault(score["name"], []).append(score)
            for name, scores in by_name.items():
                yield summary(language, size, scores, truth.get(name), half.get(name))


def corrected(groups: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The scores of one corpus, with whether each is `found` to differ from chance, as in one table of scores."""
    scores = [score for group in groups for score in group]
    p_values = holm([score["p"] for score in scores])
    return [
        score | {"found": None if score["chance"] is None else p_value is not None and p_value < ALPHA}
        for score, p_value in zip(scores, p_values, strict=True)
    ]


def summary(
    language: Language, size: int, scores: Sequence[dict[str, Any]], truth: float | None, half: float | None
) -> Row:
    """The row of one metric: `scores` are those of the corpora of a size."""
    values = np.array([score["value"] for score in scores if score["value"] is not None])
    intervals = [score["ci95"] for score in scores if score["ci95"] is not None]
    found = [score["found"] for score in scores if score["found"] is not None]
    mean = float(values.mean()) if len(values) else None

    def share_with(point: float | None) -> float | None:
        if point is None or not intervals:
            return None
        return float(np.mean([low - 1e-9 <= point <= high + 1e-9 for low, high in intervals]))

    return Row(
        metric=scores[0]["name"],
        language=language,
        num_messages=size,
        num_corpora=len(values),
        truth=truth,
        drift=None if truth is None or half is None else half - truth,
        mean=mean,
        bias=None if truth is None or mean is None else mean - truth,
        spread=float(values.std(ddof=1)) if len(values) > 1 else None,
        covers=share_with(mean),
        covers_truth=share_with(truth),
        found=float(np.mean(found)) if found else None,
    )


def least_size(of_metric: Sequence[Row], noise: float) -> int | None:
    """The least size from which on the metric is said to differ from chance in enough corpora of every language.

    Returns:
        None if no size is enough, or the metric has no chance level there.
    """
    sizes = sorted({row.num_messages for row in of_metric})
    least = None
    for size in reversed(sizes):
        shares = [row.found for row in of_metric if (row.num_messages, row.language.noise) == (size, noise)]
        if not shares or any(share is None or share < POWER for share in shares):
            break
        least = size
    return least


def table(found: Sequence[Row]) -> str:
    """A line a metric, language and size, and a line a metric with the least sizes."""
    lines = [
        f"{'metric':22} {'meanings':>8} {'noise':>5} {'messages':>8} {'truth':>8} {'bias':>7} {'spread':>7} "
        f"{'covers':>6} {'truth in':>8} {'found':>6}"
    ]
    for row in found:
        mark = "*" if row.drift is not None and abs(row.drift) > DRIFT else " "
        lines.append(
            f"{row.metric:22} {NUM_VALUES**row.language.num_attributes:8} {row.language.noise:5} {row.num_messages:8} "
            f"{_text(row.truth, '7.3f')}{mark} {_text(row.bias, '+7.3f')} {_text(row.spread, '7.3f')} "
            f"{_text(row.covers, '6.0%')} {_text(row.covers_truth, '8.0%')} {_text(row.found, '6.0%')}"
        )
    lines.append(
        f"\nleast size from which on {POWER:.0%} of the corpora of every language are found to differ from chance"
    )
    for name, of_metric in by_metric(found).items():
        least = {
            noise: least_size(of_metric, noise) for noise in sorted({row.language.noise for row in of_metric})
        }
        lines.append(
            f"{name:22} "
            + ", ".join(f"noise {noise}: {size or 'none'}" for noise, size in least.items() if noise < 1)
        )
    return "\n".join(lines)


def by_metric(found: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each metric."""
    sorted_rows: dict[str, list[Row]] = {}
    for row in found:
        sorted_rows.setdefault(row.metric, []).append(row)
    return sorted_rows


def _text(value: float | None, form: str) -> str:
    return (
        f"{value:{form}}"
        if value is not None
        else f"{'-':>{form.strip('+').split('.')[0].rstrip('f%') or 1}}"
    )


def draw(found: Sequence[Row], picture: Path) -> None:
    """A panel a metric: mean and spread of the score over the number of messages; a colour a noise, a style a size.

    The truth, of 100,000 messages, is the last point of a line.
    """
    lines = []
    for name, of_metric in by_metric(found).items():
        for language in dict.fromkeys(row.language for row in of_metric):
            points = [row for row in of_metric if row.language == language and row.mean is not None]
            means = [row.mean for row in points]
            bounds = [ends(row.mean, row.spread or 0.0) for row in points]
            truth = [row.truth for row in points[:1] if row.truth is not None]
            line = Curve(
                x=[row.num_messages for row in points] + [TRUTH_SIZE] * len(truth),
                y=[*means, *truth],
                low=[*(low for low, _ in bounds), *truth],
                high=[*(high for _, high in bounds), *truth],
                name=f"noise {language.noise:g}",
                kind=f"{NUM_VALUES**language.num_attributes} meanings",
                panel=name,
            )
            lines.append(line)
    panels = {line.panel: line.panel for line in lines}
    save(curves(lines, x="messages", y=panels, is_logarithmic=True), picture)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; write what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grammar", default="concat", help="a grammar with meanings")
    parser.add_argument(
        "--attributes",
        type=int,
        nargs="+",
        default=[2, 3, 4],
        help="5 to this power is the number of meanings",
    )
    parser.add_argument("--noises", type=float, nargs="+", default=NOISES, help="0 to 1")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of messages")
    parser.add_argument("--corpora", type=int, default=20, help="corpora of each language and size")
    parser.add_argument("--slow-corpora", type=int, default=10, help=f"the same of {' and '.join(SLOW)}")
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument(
        "--cache", type=Path, default=Path("runs/corpus_size"), help="folder of stored results"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--picture", type=Path, help="SVG or PNG file for the curves")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--rows", type=Path, help="file of an earlier --json: nothing is computed")
    given = parser.parse_args(arguments)
    if given.picture:
        prepare_picture(given.picture)
    found = read_rows(given.rows) if given.rows else compute_rows(given)
    print(table(found))
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")
    if given.picture:
        draw(found, given.picture)


def read_rows(file: Path) -> list[Row]:
    """The rows that `--json` wrote."""
    return [Row(**row | {"language": Language(**row["language"])}) for row in json.loads(file.read_text())]


def compute_rows(given: argparse.Namespace) -> list[Row]:
    """The rows that were asked for."""
    languages = [
        Language(grammar=given.grammar, num_attributes=number, noise=noise)
        for number in given.attributes
        for noise in given.noises
    ]
    runner = Runner(
        folder=given.cache,
        num_workers=given.workers,
        announces=True,
        note=lambda text: print(text, file=sys.stderr, flush=True),
    )
    corpora = {
        name: min(given.corpora, given.slow_corpora) if name in SLOW else given.corpora
        for name in given.metrics
    }
    return list(rows(languages, given.sizes, corpora, runner))


if __name__ == "__main__":
    from ecsuite.benchmarks import corpus_size  # other processes import its jobs by this name

    corpus_size.main()
