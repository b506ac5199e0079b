"""The figure has a row per source, published scores only if comparable, and labels that do not overlap."""

import pytest
from compared_sources import FULL, paper_results, source
from figure_texts import assert_readable, texts

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench import comparison_report
from ecsuite.eval.xferbench.comparison import PUBLISHED_SCORES, compare
from ecsuite.runtime.errors import ConfigError

PAPER = compare(paper_results())


def of_level(name, level, signature=FULL):
    rows = [[level + place + 0.01 * seed * place for place in range(10)] for seed in range(2)]
    return source(name, *rows, targets=XFERBENCH_TARGETS, signature=signature)


@pytest.fixture
def figure(monkeypatch):
    """Draws a comparison, and returns its figure instead of writing a file."""

    def figure(comparison):
        kept = []
        monkeypatch.setattr(comparison_report, "save", lambda figure, *paths: kept.append(figure))
        comparison_report.draw_comparison(comparison)
        return kept[0]

    return figure


@pytest.mark.slow
def test_published_scores_are_drawn_where_they_hold(figure):
    drawn = figure(compare([of_level("words", 2.0), of_level("nothing", 2.1)]))
    assert_readable(drawn)
    shown, _ = texts(drawn)
    assert {
        "random (published)",
        "no pretrain (published)",
        "words",
        "baseline",
        "scored here",
        "one language",
    } <= set(shown)
    assert len([name for name in shown if name.endswith("(published)")]) == len(PUBLISHED_SCORES)


@pytest.mark.slow
def test_rows_are_named_the_best_above(figure):
    drawn = figure(PAPER)
    assert_readable(drawn)
    names = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    ours = [name for name in names if "published" not in name]
    assert (ours[0], ours[-1], len(ours)) == ("Chinese", "Random", 17)
    assert drawn.axes[0].get_ylim()[0] > drawn.axes[0].get_ylim()[1]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_files_come_out_equal(tmp_path, suffix):
    comparison = compare(paper_results()[-3:])
    first, second = tmp_path / f"1.{suffix}", tmp_path / f"2.{suffix}"
    for file in (first, second):
        comparison_report.draw_comparison(comparison, file)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 5000


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"expected the name of a picture, ending in \.svg, \.pdf, \.png$"):
        comparison_report.draw_comparison(compare(paper_results()[-2:]), tmp_path / "a.eps")
