"""The study of grammars: known values, intervals, tables, plots, and invalid configs."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.grammar_metrics import GrammarMetrics
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.eval.metrics.score import Options
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError

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


def test_the_table_has_ours_and_the_papers(study, printed):
    text = printed(GrammarMetrics().table(study.study, study.rows))
    assert "Small grammars" in text
    assert "0.0000" in text and "±0.0000" in text
    assert "0.4954" in text
    assert "3x4|w2|V4, 2 seeds" in text


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
