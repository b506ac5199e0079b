"""A comparison as tables of 80 columns, as notes and as JSON."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest
from compared_sources import FULL, MINI, paper_results, source
from rich.console import Console

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.results.samples import UNSIGNED
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
        for table in tables:
            console.print(table)
    return capture.get()


def row(text, name):
    return next(line.split() for line in text.splitlines() if line.startswith(name))


def test_a_note_says_which_corpora_are_read_more_often():
    few, many, nothing = (
        replace(of_gaps(name, GAPS[name], num_seeds=3, noise=0.002), passes=passes)
        for name, passes in (("words", 20.0), ("like_nothing", 1.0), ("nothing", 1.0))
    )
    found = compare([few, many, nothing])
    [note] = [note for note in found.notes if "passes" in note]
    assert note.startswith(
        "Unknown: passes per epoch differ: words 20, nothing 1, like_nothing 1; compare corpora with"
    )
    assert found.num_comparisons == 1 and not any("Holm" in note for note in found.notes)
    assert not any("passes" in note for note in compare([many, nothing]).notes)


def test_the_table_of_scores():
    text = printed(comparison_report.score_table(compare(sources(num_seeds=3, noise=0.002))))
    assert MINI in text
    assert row(text, "words")[:5] == ["words", "6.032", "0.002", "3", "-0.040"]
    assert row(text, "words")[-1] == "better"
    assert row(text, "nothing") == ["nothing", "6.072", "0.002", "3", "baseline"]
    assert row(text, "like_nothing")[-1] == "not", "of `not significant`, which is wrapped"
    assert row(text, "much ")[-1] == "worse"
    names = [line.split()[0] for line in text.splitlines()[3:] if line.split()]
    assert [name for name in names if name in GAPS] == ["words", "nothing", "like_nothing"]  # the best first


def test_every_table_of_ten_languages_fits_80_columns():
    long_names = [of_gaps(f"{name} {'and more ' * 4}", gaps) for name, gaps in GAPS.items()]
    for comparison in (compare(sources()), compare(long_names), paper()):
        text = printed(*comparison_report.tables(comparison))
        assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
        assert "…" not in text.replace(" … ", "")  # nothing is cut


def test_the_table_of_languages():
    table = comparison_report.tables(compare(sources()))[1]
    text = printed(table)
    assert "Difference to nothing by language" in text
    assert row(text, "source") == ["source", *XFERBENCH_TARGETS]
    assert row(text, "words") == ["words", *(f"{gap:.3f}".replace("0.", ".") for gap in GAPS["words"])]


def test_with_long_names_of_targets_the_table_goes_on_below():
    targets = [f"artificial-{number}" for number in range(1, 9)]
    results = [
        source(name, [value] * 8, targets=targets) for name, value in (("words", 4.0), ("nothing", 5.5))
    ]
    text = printed(comparison_report.tables(compare(results))[1])
    assert row(text, "words").count("-1.500") == 5
    assert text.count("-1.500") == 8 and len([line for line in text.splitlines() if "source" in line]) == 2


def test_without_a_baseline_each_is_compared_with_each():
    comparison = compare(sources()[:3])
    assert comparison.baseline is None
    pairs = [(each.source, each.baseline) for each in comparison.differences]
    assert pairs == [("words", "like_nothing"), ("words", LONG), ("like_nothing", LONG)]
    text = printed(*comparison_report.tables(comparison))
    assert "difference" not in text.split("All pairs")[0]
    assert row(text.split("All pairs")[1], "words")[-3:] == ["better", "(these", "<.001"]


def test_the_order_of_sources_does_not_matter():
    assert compare(sources()).to_json() == compare(sources()[::-1]).to_json()


def test_notes_of_one_seed():
    assert comparison_report.report(compare(sources())).notes == (
        "95 % CI: paired BCa bootstrap over 10 languages, level 98.3% to correct for the small number.",
        "One seed each: the noise between seeds is unknown; conclusions apply to these runs only.",
        "p: paired t test over languages or t test of seed noise, the larger, with Holm's correction for 3 "
        "comparisons; better or worse: below .05.",
        "Mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU).",
        "No published scores: they apply to preset full with protocol published-2024 only.",
    )


def test_notes_of_several_seeds_and_few_languages():
    few = [of_gaps(name, gaps[:4], num_seeds=2, noise=0.01) for name, gaps in GAPS.items()]
    assert compare(few).notes[:2] == [
        "No intervals: 4 targets, an interval needs at least 5.",
        "Seeds: standard deviation 0.0071 of a score (pooled over 4 sources); better or worse: difference of "
        "more than 2.8 standard errors.",
    ]


def test_one_source_is_shown_alone():
    comparison = compare([of_gaps("words", GAPS["words"])])
    assert comparison.differences == ()
    assert comparison.normalised_reason == "normalisation needs at least two sources"
    assert comparison.notes[0] == "One source only: no comparison."
    assert row(printed(*comparison_report.tables(comparison)), "words") == ["words", "6.032", "1"]
    assert compare([of_gaps("nothing", GAPS["nothing"])]).differences == ()


def test_the_full_preset_with_one_seed_takes_the_published_deviation():
    assert compare(sources(FULL)).noise.sd == RUN_DEVIATION
    pair = [of_gaps("close", np.full(10, -0.02), FULL), of_gaps("nothing", np.zeros(10), FULL)]
    [small] = compare(pair).differences
    assert small.conclusion == "not significant"
    assert small.details["why"] == "it is not larger than seed noise"  # 2 x 0.0106 x sqrt 2 = 0.030
    assert compare(sources(FULL, num_seeds=2, noise=0.001)).noise.sd < 0.001


def test_the_published_baseline():
    comparison = compare([of_gaps("words", GAPS["words"], FULL)], "published")
    [found] = comparison.differences
    assert found.baseline == "no pretrain (published)"
    assert found.mean == pytest.approx(-0.04)
    assert "no pretrain (published): the mean of three runs, treated as one run." in comparison.notes
    assert comparison.to_json()["anchors"]["no pretrain"] == 6.072


@pytest.mark.parametrize(
    ("results", "baseline", "message"),
    [
        ([], None, "expected at least one XferBench result, got none"),
        (
            [of_gaps("a", [0.0]), of_gaps("b", [0.0], FULL)],
            None,
            "b cannot be compared with a: preset full, not ",
        ),
        (
            sources(),
            "published",
            "--baseline published: they apply to preset full with protocol published-2024 only",
        ),
        (
            sources(UNSIGNED),
            "published",
            "--baseline published: the protocol of unsigned results is unknown",
        ),
        ([of_gaps("fewer", np.zeros(8), FULL)], "published", "fewer: no score for ro, ur, which no pretrain"),
    ],
)
def test_what_cannot_be_compared(results, baseline, message):
    with pytest.raises(ConfigError) as error:
        compare(results, baseline)
    assert str(error.value).startswith(message)


def test_json_has_all_of_it():
    data = json.loads(json.dumps(compare(sources(num_seeds=2, noise=0.002)).to_json(), allow_nan=False))
    assert " ".join(data) == (
        "signature targets baseline sources differences seed_noise normalised_reason writing_systems anchors "
        "correction bootstrap notes"
    )
    words = data["sources"][0]
    assert (words["name"], words["seeds"]) == ("words", [0, 1])
    assert words["seed_scores"] == pytest.approx([6.0311, 6.0331])
    assert words["by_target"]["da"] == pytest.approx(5.868)
    assert set(words["normalised"]) == {"name", "mean", "ci95", "paper", "program"}
    assert (data["baseline"], data["anchors"]) == ("nothing", {})


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
