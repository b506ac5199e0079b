"""A comparison as tables of 80 columns, as notes and as JSON."""

import functools

import numpy as np
import pytest
from rich.console import Console

from compared_sources import FULL, MINI, paper_results, source
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench import comparison_report
from ecsuite.eval.xferbench.comparison import NO_PRETRAIN, RUN_DEVIATION, compare
from ecsuite.runtime.errors import ConfigError

LONG = "much longer name than a column has room for"
GAPS = {
    "words": np.linspace(-0.06, -0.02, 10),
    LONG: np.linspace(0.03, 0.05, 10),
    "like_nothing": np.linspace(-0.02, 0.021, 10),
    "nothing": np.zeros(10),
}


def of_gaps(name, gaps, signature=MINI, num_seeds=1, noise=0.0):
    """A source by its differences to the published scores without pretraining; `noise` between two seeds."""
    levels = np.array(list(NO_PRETRAIN.values()))[: len(gaps)] + gaps
    rows = [levels + noise * (seed - (num_seeds - 1) / 2) for seed in range(num_seeds)]
    return source(name, *rows, targets=XFERBENCH_TARGETS, signature=signature)


def sources(signature=MINI, **more):
    return [of_gaps(name, gaps, signature, **more) for name, gaps in GAPS.items()]


@functools.cache
def paper():
    return compare(paper_results())


def printed(*tables):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(*tables, sep="\n")
    return capture.get()


def row(text, name):
    return next(line.split() for line in text.splitlines() if line.startswith(name))


def test_tables_fit_80_columns():
    text = printed(comparison_report.score_table(compare(sources(num_seeds=3, noise=0.002))))
    assert MINI in text
    assert row(text, "words")[:5] == ["words", "6.032", "0.002", "3", "-0.040"]
    assert row(text, "words")[-1] == "better"
    assert row(text, "nothing") == ["nothing", "6.072", "0.002", "3", "baseline"]
    assert row(text, "like_nothing")[-1] == "not", "of `not significant`, which is wrapped"
    assert row(text, "much ")[-1] == "worse"
    names = [line.split()[0] for line in text.splitlines()[3:] if line.split()]
    assert [name for name in names if name in GAPS] == ["words", "nothing", "like_nothing"]  # the best first
    long_names = [of_gaps(f"{name} {'and more ' * 4}", gaps) for name, gaps in GAPS.items()]
    for comparison in (compare(sources()), compare(long_names), paper()):
        text = printed(*comparison_report.tables(comparison))
        assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
        assert "…" not in text.replace(" … ", "")  # nothing is cut
    table = comparison_report.tables(compare(sources()))[1]
    text = printed(table)
    assert "Difference to nothing by language" in text
    assert row(text, "source") == ["source", *XFERBENCH_TARGETS]
    assert row(text, "words") == ["words", *(f"{gap:.3f}".replace("0.", ".") for gap in GAPS["words"])]
    targets = [f"artificial-{number}" for number in range(1, 9)]
    results = [source(name, [at] * 8, targets=targets) for name, at in (("words", 4.0), ("nothing", 5.5))]
    text = printed(comparison_report.tables(compare(results))[1])
    assert row(text, "words").count("-1.500") == 5
    assert text.count("-1.500") == 8 and len([line for line in text.splitlines() if "source" in line]) == 2
    assert compare(sources()).to_json() == compare(sources()[::-1]).to_json()


def test_the_full_preset_has_the_published_deviation_and_baseline():
    assert compare(sources(FULL)).noise.sd == RUN_DEVIATION
    pair = [of_gaps("close", np.full(10, -0.02), FULL), of_gaps("nothing", np.zeros(10), FULL)]
    [small] = compare(pair).differences
    assert small.conclusion == "not significant"
    assert small.details["why"] == "it is not larger than seed noise"  # 2 x 0.0106 x sqrt 2 = 0.030
    assert compare(sources(FULL, num_seeds=2, noise=0.001)).noise.sd < 0.001
    comparison = compare([of_gaps("words", GAPS["words"], FULL)], "published")
    [found] = comparison.differences
    assert found.baseline == "no pretrain (published)"
    assert found.mean == pytest.approx(-0.04)
    assert "no pretrain (published): the mean of three runs, treated as one run." in comparison.notes
    assert comparison.to_json()["anchors"]["no pretrain"] == 6.072


def test_the_paper_compares_as_it_says():
    conclusions = {each.source: each.conclusion for each in paper().differences}
    assert conclusions.pop("Random") == "higher"  # section 5.1
    assert set(conclusions.values()) == {"lower"}
    assert [result.name for result in paper().results[:3]] == ["Chinese", "Korean", "Arabic"]
    bounds = {each.name: each.program for each in paper().normalised}
    low = max(bounds[name][1] for name in ("Chinese", "Korean", "Arabic"))
    assert all(low < bounds[name][0] for name in ("French", "Spanish", "Russian", "Hindi"))  # two clusters
    title = "Human sources (rows) and targets (columns) by script"
    assert title in printed(*comparison_report.tables(paper()))


@pytest.mark.slow
def test_files_come_out_equal_and_other_suffixes_are_refused(tmp_path):
    comparison = compare(paper_results()[-3:])
    for suffix in ("png", "svg"):
        first, second = tmp_path / f"1.{suffix}", tmp_path / f"2.{suffix}"
        for file in (first, second):
            comparison_report.draw_comparison(comparison, file)
        assert first.read_bytes() == second.read_bytes() and first.stat().st_size > 5000
    with pytest.raises(ConfigError, match=r"expected the name of a picture, ending in \.svg, \.pdf, \.png$"):
        comparison_report.draw_comparison(comparison, tmp_path / "a.eps")
