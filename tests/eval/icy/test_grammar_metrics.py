"""The study of grammars: known values, intervals, tables, plots, and invalid configs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.grammar_metrics import GrammarMetrics
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.eval.metrics.score import Options
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

SMALL = {"num_attributes": 3, "num_values": 4, "word_length": 2, "vocab_size": 4}
BINARY = {"num_attributes": 2, "num_values": 5, "word_length": 5, "vocab_size": 2}


def run_study(runner=None, **settings):
    return Icy().measure(resolve(StudyConfig(protocol="metrics", **settings)), runner or Runner())


def grammar_metrics(grammars, geometry, seeds, metrics, published=None):
    """The rows of a study."""
    return run_study(
        grammars=tuple(grammars), seeds=tuple(seeds), metrics=tuple(metrics), published=published, **geometry
    ).rows


@pytest.fixture(scope="module")
def study():
    """The result of a study."""
    config = {"about": "Small grammars", "grammars": ("concat", "hol"), "seeds": (1, 2), **SMALL}
    return run_study(**config, metrics=("resent_relax", "resent_ours", "tre7"), published="table10")


def test_a_concatenation_is_compositional(study):
    assert study.rows[0].model == "concat"
    for cell in study.rows[0].cells:
        assert (cell.mean, cell.half_width) == (0, 0)


def test_a_holistic_language_is_not(study):
    row = study.rows[1]
    assert row.model == "hol" and all(cell.mean > 0.3 for cell in row.cells)
    assert {name: round(value, 2) for name, value in row.published.items()} == {
        "resent_relax": 0.62,
        "resent_ours": 0.50,
    }


def test_the_signature_names_language_and_metric(study):
    entry = study.to_json()["rows"][-1]
    assert entry["signatures"][0].startswith("hol|3x4|w2|V4|seed:1|v:1 tre7|compose:sum|")
    assert len(entry["signatures"]) == len(entry["values"]) == 2


def test_tables_9_and_10_within_their_noise():
    """The paper's mean of five seeds is not an outlier among our means of five seeds."""
    for geometry, table, names in (
        (BINARY, "table9", ["resent_relax_bits", "resent_resnick_bits"]),
        (SMALL, "table10", ["resent_relax"]),
    ):
        grammars = ["proj", "hol"]
        for row in grammar_metrics(grammars, geometry, range(10), names, published=table):
            for cell in row.cells:
                error = np.std([run["value"] for run in cell.runs], ddof=1) / 5**0.5
                assert abs(cell.mean - row.published[cell.name]) < 3 * error, cell


def test_resnick_s_search_requires_two_symbols():
    corpus = language("concat", Geometry(**BINARY), 0).corpus()
    assert MEASURES["resent_resnick_bits"].score(corpus, Options()).value == 0
    three = language("concat", Geometry(**(BINARY | {"vocab_size": 3})), 0).corpus()
    score = MEASURES["resent_resnick_bits"].score(three, Options())
    assert (score.value, score.reason) == (None, "expected messages of equal length over exactly two symbols")


def test_resnick_s_search_on_an_example():
    """Both attributes influence the first position equally, and the second not: both go to the first attribute."""
    meanings = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    messages = [[1, 1], [2, 1], [2, 1], [2, 2]]
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings)
    assert MEASURES["resent_resnick_bits"].score(corpus, Options()).value == pytest.approx((0.5 + 1) / 2)


def test_topsim_by_positions():
    """A message shifted by one position has the maximum Hamming distance, but a small edit distance."""
    meanings = np.array([[0, 0], [1, 1], [1, 1]])
    messages = [[1, 2, 3, 4], [2, 3, 4, 1], [2, 1, 4, 3]]
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings)
    score = MEASURES["topsim_hamming"].score(corpus, Options())
    assert score.value == pytest.approx(1)
    line = "topsim_hamming|dist:hamming|mdist:hamming|past_end:blank|eos:strip|pairs:all|v:1"
    assert score.signature == line
    assert MEASURES["topsim"].score(corpus, Options()).value < 0.9


@pytest.mark.parametrize(
    ("messages", "meanings", "reason"),
    [
        ([[1], [2]], None, "the corpus has no meanings"),
        ([[1], [1], [1]], [[0, 0], [0, 1], [1, 1]], "all messages are equally far apart"),
        ([[1], [2], [1]], [[0, 0], [0, 0], [0, 0]], "all meanings are equally far apart"),
        ([[1]], [[0, 0]], "all messages are equally far apart"),
    ],
)
def test_undefined_topsim_by_positions(messages, meanings, reason):
    meanings = None if meanings is None else np.array(meanings)
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=meanings)
    assert MEASURES["topsim_hamming"].score(corpus, Options()).reason == reason


def test_the_table_has_ours_and_the_papers(study, printed):
    text = printed(GrammarMetrics().table(study.study, study.rows))
    assert "Small grammars" in text
    assert "0.0000" in text and "±0.0000" in text
    assert "0.4954" in text
    assert "3x4|w2|V4, 2 seeds" in text


def test_a_measure_that_is_undefined_for_some_seeds(study, printed):
    def with_values(cell, *values):
        known = [value for value in values if value is not None]
        runs = tuple({"value": value} for value in values)
        return replace(cell, runs=runs, figures={cell.name: (known[0], None) if known else None})

    first, second, third = study.rows[0].cells
    cells = with_values(first, None, None), second, with_values(third, 0.5, None)
    rows = (replace(study.rows[0], cells=cells), study.rows[1])
    text = printed(GrammarMetrics().table(study.study, rows))
    assert "0.5000" in text and "1 of 2" in text
    assert "none" in text


def test_results_are_json(study):
    data = json.loads(json.dumps(study.to_json(), allow_nan=False))
    assert [row["grammar"] for row in data["rows"]] == ["concat"] * 3 + ["hol"] * 3
    assert data["geometry"] == SMALL


def test_a_missing_bar_is_not_a_bar_of_zero(study, tmp_path):
    pytest.importorskip("matplotlib")
    undefined = [
        replace(row, cells=tuple(replace(cell, figures={cell.name: None}) for cell in row.cells))
        for row in study.rows
    ]
    for name, rows in (("bars", study.rows), ("undefined", undefined)):
        GrammarMetrics().draw(study.study, rows, tmp_path / f"{name}.svg")
    bars, none = ((tmp_path / f"{name}.svg").read_text() for name in ("bars", "undefined"))
    assert "<!-- none -->" in none and "<!-- none -->" not in bars
    assert "<!-- tre7 -->" in bars and "<!-- score, 0 to 1 -->" in bars and "<dc:title>Small grammars" in bars


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": ("hce", "hce")}, "metrics: expected different names, got hce, hce"),
        ({"metrics": ("tre",)}, "unknown metric 'tre'; did you mean 'tre7'?"),
        ({"published": "table8"}, "unknown table 'table8'; did you mean 'table9'?"),
        ({"grammars": ("konkat",)}, "unknown grammar 'konkat'; did you mean 'concat'?"),
    ],
)
def test_unknown_names_are_refused(settings, message):
    with pytest.raises(ConfigError) as error:
        run_study(**settings)
    assert str(error.value).startswith(message)
