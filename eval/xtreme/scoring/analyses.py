"""Analyses of predictions in section 5 of Hu et al. (2020), and the published scores vs. a submission (table 2).

Errors across languages, groups of languages (figure 3), size of Wikipedia (figure 2), and tag n-grams (table 4) and
entities by whether they occur in English training data. Training data are read from the data folder of the tasks.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ecsuite.eval.statistics.correlation import pearson
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xtreme.scoring.labels import OUTSIDE, spans
from ecsuite.eval.xtreme.scoring.task import ENGLISH, XtremeTask, columns
from ecsuite.eval.xtreme.scoring.tasks import (
    TASKS,
    ByTask,
    EnglishVsOthers,
    average_gap,
    language_cells,
    main_score,
    mean,
    metric_titles,
    points,
)
from ecsuite.formats.stored_text import read_lines
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.tables.cells import Cell, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

Answers = Mapping[str, Mapping[str, tuple[Any, Any]]]
"""Predictions and labels by task and language."""
TRANSLATIONS = ("xnli", "xquad")
"""Tasks whose test sets are parallel: translations of the English test set."""
NGRAM_LENGTHS = (3, 4)
"""Lengths of tag n-grams in table 4."""
LEAST_LANGUAGES = 3
"""Minimum number of languages for a correlation."""
PUBLISHED: Mapping[str, Any] = packaged_yaml("ecsuite.eval.xtreme.scoring", "published.yaml")
"""Tables 2 and 3 of Hu et al. (2020) by model: scores (questions: F1 and EM), gaps and averages; with the name of the
model and the protocol for `ecsuite xtreme --model`, and of mBERT the analyses of section 5."""
PUBLISHED_ANALYSES: Mapping[str, Any] = PUBLISHED["mBERT"]["analyses"]
"""Table 4 and section 5 of Hu et al. (2020), keys as in `Analyses.to_json`."""
OF_AGREEMENT = {
    "xnli": "mBERT, dev set, if wrong in English about random (Hu et al. 2020, section 5)",
    "xquad": "mBERT, test set, about (Hu et al. 2020, section 5)",
}
"""Sources of the published shares by task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Analyses:
    """Analyses of a submission; shares and scores are percent, None if nothing is counted."""

    agreement: Mapping[str, Mapping[str, Mapping[str, float | None]]]
    """Shares of correct examples by task and language, among the examples that are correct or wrong in English; for
    labels also the share of equal predictions."""
    groups: Mapping[str, Mapping[str, Mapping[str, list[float]]]]
    """Scores by grouping (`family`, `script`), group and task, one per language."""
    wikipedia: Mapping[str, float | None]
    """Pearson's correlation of scores with numbers of articles, by task."""
    articles: Mapping[str, float]
    """The user's numbers of Wikipedia articles by language; may be empty."""
    ngrams: Mapping[str, Mapping[str, float | None]]
    """Accuracy by language of tag n-grams that the English training data have (`3 seen`) or lack (`3 unseen`)."""
    entities: Mapping[str, Mapping[str, float | None]]
    """Share of entities found by language, for entities in the English training data and for other entities."""
    scores: Mapping[str, Mapping[str, float]]
    """Scores by task and language."""

    def to_json(self) -> dict[str, Any]:
        """The analyses as JSON values."""
        groups = {
            kind: {
                group: {task: mean(values) for task, values in of.items()} for group, of in by_group.items()
            }
            for kind, by_group in self.groups.items()
        }
        return {
            "agreement_with_english": self.agreement,
            **{f"by_{kind}": by_group for kind, by_group in groups.items()},
            "correlation_with_wikipedia_articles": self.wikipedia,
            "tag_ngrams": self.ngrams,
            "entities": self.entities,
            "published": PUBLISHED_ANALYSES,
        }

    def tables(self) -> list[Table]:
        """Tables of the analyses that have data."""
        shares = ("right", "wrong", "same")
        names = ("if right in English", "if wrong in English", "same prediction")
        tables = [
            _by_language(
                f"{TASKS[task].title}: share right in %",
                by_language,
                shares,
                names,
                {"mean without en": PUBLISHED_ANALYSES["agreement_with_english"][task]},
                OF_AGREEMENT[task],
            )
            for task, by_language in self.agreement.items()
        ]
        for kind, by_group in self.groups.items():
            rows = [
                row_of(
                    f"{group} ({max(map(len, of_task.values()))})",
                    *(_mean_of(of_task, task) for task in self.scores),
                )
                for group, of_task in sorted(by_group.items())
            ]
            tasks = [
                number_column(task, TASKS[task].short_title or TASKS[task].title) for task in self.scores
            ]
            tables.append(Table(columns=(name_column(kind), *tasks), rows=rows, title=f"Scores by {kind}"))
        if self.articles:
            rows = [row_of(TASKS[task].title, number(value, 2)) for task, value in self.wikipedia.items()]
            columns_of = (name_column("task"), number_column("pearson", "Pearson's r"))
            about = PUBLISHED_ANALYSES["correlation_with_wikipedia_articles"]
            shown = ", ".join(f"about {value:g} for {which}" for which, value in about.items())
            title = "Correlation with the size of Wikipedia"
            notes = [f"the paper: mBERT, {shown} (Hu et al. 2020, section 5)"]
            tables.append(Table(columns=columns_of, rows=rows, title=title, notes=notes))
        if self.ngrams:
            keys = [f"{length} {side}" for length in NGRAM_LENGTHS for side in ("seen", "unseen")]
            title = "POS: accuracy of tag n-grams by their presence in English training data"
            source = "mBERT, dev sets (Hu et al. 2020, table 4)"
            tables.append(
                _by_language(title, self.ngrams, keys, keys, PUBLISHED_ANALYSES["tag_ngrams"], source)
            )
        if self.entities:
            keys = ["seen", "unseen"]
            title = "NER: share of entities found by their presence in English training data"
            tables.append(_by_language(title, self.entities, keys, keys))
        return tables

    def draw(self, *paths: Path) -> None:
        """Draw scores by size of Wikipedia if `articles` is not empty (figure 2), else by family and script (figure 3).

        Raises:
            ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
        """
        if self.articles:
            lines = []
            for task, by_language in self.scores.items():
                known = sorted(
                    (self.articles[code], score)
                    for code, score in by_language.items()
                    if code in self.articles
                )
                if known:
                    sizes, values = zip(*known, strict=True)
                    lines.append(Curve(x=sizes, y=values, name=TASKS[task].title, is_points=True))
            figure = curves(
                lines,
                x="Wikipedia articles",
                y="score",
                is_logarithmic=True,
                title="XTREME: size of Wikipedia",
            )
            save(figure, *paths)
            return
        panels = [
            Panel(
                points=[
                    Point(row=group, value=mean(of_task[task]), single=of_task[task], group=kind)
                    for kind, by_group in self.groups.items()
                    for group, of_task in sorted(by_group.items())
                    if task in of_task
                ],
                axis=f"{TASKS[task].title}, {metric_titles(task)}",
            )
            for task in self.scores
        ]
        save(intervals(*panels, title="XTREME: scores by family and script"), *paths)


def analyse(answers: Answers, tasks: ByTask, data: Path | None, articles: Mapping[str, float]) -> Analyses:
    """Analyse predictions.

    Args:
        answers: Predictions and labels by task and language.
        tasks: Their metrics.
        data: The data folder of the tasks, whose English training examples are read; None: no n-grams and entities.
        articles: Number of Wikipedia articles by language.

    Raises:
        ConfigError: If examples are missing or malformed, or their lengths differ from the labels'.
    """
    scores = {
        task: {code: main_score(task, metrics) for code, metrics in by_language.items()}
        for task, by_language in tasks.items()
    }
    groups: dict[str, dict[str, dict[str, list[float]]]] = {
        "family": defaultdict(dict),
        "script": defaultdict(dict),
    }
    for task, by_language in scores.items():
        for code, score in by_language.items():
            _, _, family, script = language_cells(code)
            for kind, group in (("family", family), ("script", script)):
                groups[kind][group or "unknown"].setdefault(task, []).append(score)
    return Analyses(
        agreement={
            task: _agreement(TASKS[task], answers[task])
            for task in TRANSLATIONS
            if ENGLISH in answers.get(task, {}) and len(answers[task]) > 1
        },
        groups=groups,
        wikipedia={task: _correlation(by_language, articles) for task, by_language in scores.items()}
        if articles
        else {},
        articles=articles,
        ngrams={} if data is None or "udpos" not in answers else _ngrams(answers["udpos"], data),
        entities={} if data is None or "panx" not in answers else _entities(answers["panx"], data),
        scores=scores,
    )


def read_articles(file: Path) -> dict[str, float]:
    """Read numbers of Wikipedia articles, lines `code<TAB>number`.

    Raises:
        ConfigError: If the file cannot be read or a line is malformed.
    """
    articles = {}
    for line_no, line in enumerate(read_lines(file), 1):
        code, size = columns(
            line, f"{file}:{line_no}", (2,), "a language's code, a tab and a number of articles"
        )
        try:
            articles[code] = float(size)
        except ValueError:
            articles[code] = 0.0
        if not 0 < articles[code] < float("inf"):
            raise ConfigError(f"{file}:{line_no}: expected a number of articles above 0, got {shown(size)}")
    return articles


def _agreement(
    task: XtremeTask, by_language: Mapping[str, tuple[Any, Any]]
) -> dict[str, dict[str, float | None]]:
    """Errors in the other languages by whether the same example is correct in English."""
    predicted, right = {}, {}
    for code, (answers, gold) in by_language.items():
        if task.kind == "questions":
            right[code] = {
                name: name in answers and task.score(code, answers, [(name, texts)])["exact_match"] > 0
                for name, texts in gold
            }
        else:
            predicted[code] = dict(enumerate(answers))
            right[code] = {row: answer == gold[row] for row, answer in enumerate(answers)}
    english = right.pop(ENGLISH)
    agreement: dict[str, dict[str, float | None]] = {}
    for code, of_language in right.items():
        both = english.keys() & of_language.keys()
        same = [predicted[code][row] == predicted[ENGLISH][row] for row in both] if predicted else []
        agreement[code] = {
            "right": _share(of_language[name] for name in both if english[name]),
            "wrong": _share(of_language[name] for name in both if not english[name]),
            "same": _share(same),
        }
    return agreement


def _ngrams(by_language: Mapping[str, tuple[Any, Any]], data: Path) -> dict[str, dict[str, float | None]]:
    """Accuracy of tag n-grams, all of whose tags must be right, by whether English training data have them."""
    _, english = TASKS["udpos"].english_examples(data)
    accuracies: dict[str, dict[str, float | None]] = {code: {} for code in by_language}
    for length in NGRAM_LENGTHS:
        known = {
            tags[at : at + length] for tags in map(tuple, english) for at in range(len(tags) - length + 1)
        }
        for code, (answers, gold) in by_language.items():
            right: dict[bool, list[bool]] = {True: [], False: []}
            for predicted, tags in zip(answers, gold, strict=True):
                for at in range(len(tags) - length + 1):
                    ngram = tuple(tags[at : at + length])
                    right[ngram in known].append(tuple(predicted[at : at + length]) == ngram)
            accuracies[code] |= {
                f"{length} seen": _share(right[True]),
                f"{length} unseen": _share(right[False]),
            }
    return accuracies


def _entities(by_language: Mapping[str, tuple[Any, Any]], data: Path) -> dict[str, dict[str, float | None]]:
    """Share of entities whose span and type are found, by whether English training data have their words."""
    task = TASKS["panx"]
    examples, english = task.english_examples(data)
    known = {
        example.words[start:end]
        for example, tags in zip(examples, english, strict=True)
        for start, end, _ in spans((*tags, OUTSIDE))
    }
    shares = {}
    for code, (answers, gold) in by_language.items():
        lengths = [len(tags) for tags in gold]
        sets = (task.read(data, code, split) for split in ("test", "dev") if task.find(data, code, split))
        firsts = (each[: len(gold)] for each in sets)  # a reduced preset tests only the first examples
        sentences = next((each for each in firsts if [len(one.words) for one in each] == lengths), None)
        if sentences is None:
            raise ConfigError(
                f"{data}: expected words of {task.name} in '{code}', test or dev, with the labels' {len(gold):,} "
                "sentences, found none"
            )
        found: dict[bool, list[bool]] = {True: [], False: []}
        for sentence, predicted, tags in zip(sentences, answers, gold, strict=True):
            predicted_spans = spans((*predicted, OUTSIDE))
            for span in spans((*tags, OUTSIDE)):
                found[sentence.words[span[0] : span[1]] in known].append(span in predicted_spans)
        shares[code] = {"seen": _share(found[True]), "unseen": _share(found[False])}
    return shares


def _correlation(by_language: Mapping[str, float], articles: Mapping[str, float]) -> float | None:
    known = [(articles[code], score) for code, score in by_language.items() if code in articles]
    if len(known) < LEAST_LANGUAGES:
        return None
    sizes, scores = np.array(known).T
    return float(pearson(sizes, scores))


def _share(right: Iterable[bool]) -> float | None:
    """Percentage of true values; None if there are no values."""
    values = list(right)
    return 100 * sum(values) / len(values) if values else None


def _mean_of(of_task: Mapping[str, Sequence[float]], task: str) -> Cell:
    return points(mean(of_task[task]) if task in of_task else None)


def _by_language(
    title: str,
    by_language: Mapping[str, Mapping[str, float | None]],
    keys: Collection[str],
    names: Sequence[str],
    published: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    source: str = "",
) -> Table:
    """A row per language, the mean of the other languages, and English minus it (table 4); then the paper's figures."""
    others: dict[str, float | None] = {}
    for key in keys:
        values = [
            value
            for code, each in by_language.items()
            if code != ENGLISH and (value := each[key]) is not None
        ]
        others[key] = mean(values) if values else None
    rows = [
        row_of(code, *(points(each[key]) for key in keys), ends_section=index == len(by_language))
        for index, (code, each) in enumerate(by_language.items(), 1)
    ]
    rows.append(row_of("mean without en", *(points(others[key]) for key in keys)))
    if ENGLISH in by_language:
        gaps = [EnglishVsOthers(english=by_language[ENGLISH][key], others=others[key]).gap for key in keys]
        rows.append(row_of("difference", *map(points, gaps)))
    for name, figures in published.items():
        label = text(name, shown=f"  the paper: {name}")
        rows.append(row_of(label, *(points(figures.get(key)) for key in keys), role="dim"))
    columns_of = (name_column("language"), *map(number_column, names))
    return Table(columns=columns_of, rows=rows, title=title, notes=[f"the paper: {source}"] if source else [])


def published_tables(
    scores: Mapping[str, float] | None = None, gaps: Mapping[str, float | None] | None = None
) -> list[Table]:
    """Tables 2 and 3 of Hu et al. (2020): scores, and transfer gaps.

    Args:
        scores: Scores for an additional row: by task the mean over languages, for questions the mean of F1 and exact
            match, as in the published average.
        gaps: Transfer gaps for an additional row, by task.
    """
    average = mean(scores.values()) if scores is not None and len(scores) == len(TASKS) else None
    tables = []
    for key, average_key, title, own, own_average in (
        ("scores", "average", "scores (Hu et al. 2020, table 2)", scores, average),
        ("gap", "average_gap", "transfer gaps (Hu et al. 2020, table 3)", gaps, average_gap(gaps or {})),
    ):
        entries = {name: entry for name, entry in PUBLISHED.items() if key in entry}
        tasks = [task for task in TASKS if any(task in entry[key] for entry in entries.values())]
        rows = [
            row_of(
                name,
                entry["setting"],
                points(entry.get(average_key)),
                *(
                    " / ".join(f"{each:.1f}" for each in figure)
                    if isinstance(figure, list)
                    else points(figure)
                    for figure in map(entry[key].get, tasks)
                ),
                ends_section=name == list(entries)[-1],
            )
            for name, entry in entries.items()
        ]
        if own is not None:
            rows.append(
                row_of("predictions", None, points(own_average), *(points(own.get(task)) for task in tasks))
            )
        titles = [number_column(task, TASKS[task].short_title or TASKS[task].title) for task in tasks]
        columns_of = (name_column("model"), Column("setting"), number_column("average", "avg"), *titles)
        tables.append(Table(columns=columns_of, rows=rows, title=f"Published {title}"))
    return tables
