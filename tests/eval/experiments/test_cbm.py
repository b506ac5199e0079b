"""Tables of CBM: findings, the paper's topographic similarity, studies and their mistakes, and jobs of runs."""

import json
from dataclasses import replace

import numpy as np
import pytest

import compared_sources
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments import cbm
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.results import Results
from ecsuite.formats import read_corpus
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training import train as training_jobs
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


def rows(change=lambda name, figures: figures, seeds=1):
    """Table 1's rows with the published figures, changed."""

    def runs(row):
        return tuple({"seed": seed, "values": change(row.name, dict(row.published))} for seed in range(seeds))

    return [replace(row, runs=runs(row)) for row in cbm.rows_of(cbm.load_table("paper/cbm_table1"))]


@pytest.mark.parametrize(
    ("name", "measure", "value", "broken"),
    [
        (None, "accuracy", 0.9, []),  # equal accuracy is enough
        ("shape_qt_l4", "accuracy", 0.77, ["SHAPE, l=4: QT is at least as accurate as GS"]),
        ("shape_gs", "unmatched", 0.0, ["SHAPE, l=1: GS leaves concepts without a word, QT does not"]),
        ("thing_gs", "cbm", 0.73, ["THING, l=1: QT has a better match than GS"]),
        ("thing_qt_l4", "cbm", 0.73, ["THING, QT: the match falls from rules of one pair to rules of four"]),
    ],
)
def test_the_paper_obeys_all_findings(name, measure, value, broken):
    changed = rows(lambda row, figures: figures | ({measure: value} if name in (row, None) else {}))
    findings = cbm.check_findings(changed)
    assert len(findings) == 9 and [finding.claim for finding in findings if not finding.holds] == broken


def test_a_seed_that_failed_is_not_known_and_table_4_makes_table_3():
    measured = [
        replace(row, runs=row.runs[:1], failures={1: "diverged"}) if row.name == "shape_qt" else row
        for row in rows(seeds=2)
    ]
    line = str(cbm.check_findings(measured)[0])
    assert line.startswith("holds, in 1 of 2 seeds, 1 unknown: SHAPE, l=1: QT is at least as accurate as GS")
    for name, figures in cbm.PUBLISHED["table3"].items():
        share = figures["good_edges"] / figures["total_edges"]
        assert share == pytest.approx(figures["cbm"], abs=0.0011), name
    for name, figures in cbm.PUBLISHED["table1"].items():
        shares = figures["cbm"] + figures["ambiguity"] + figures["paraphrase"]
        assert shares == pytest.approx(1, abs=0.021), name


def test_means_are_over_the_runs_that_count_in_all_tables(tmp_path):
    """Of four seeds, the last was ended by the clock, and one has no match; `compare table` has the same figures."""
    study = cbm.load_table("paper/cbm_table1")
    [row, *_] = equal_rows(study)
    given = ((1, "epochs", 0.2), (2, "epochs", 0.4), (3, "accuracy", None), (4, "minutes", 0.9))
    runs = tuple(
        {**row.runs[0], "seed": seed, "stopped": stopped, "values": row.runs[0]["values"] | {"cbm": value}}
        for seed, stopped, value in given
    )
    row = replace(row, runs=runs)
    assert row.mean("cbm") == pytest.approx(0.3) and row.deviation("cbm") == pytest.approx(0.02**0.5)
    assert row.values("cbm") == [0.2, 0.4, None, None]
    sources = [
        compared_sources.run(f"{seed}", {"row": row.name}, seed, {}, {"cbm": value}, stopped=stopped)
        for seed, stopped, value in given
    ]
    cell = Results(sources).means(figures=["cbm"]).rows[0].cells[0]
    assert (cell.mean, cell.num_values) == (pytest.approx(0.3), 2)
    assert cbm.make_table([row], {"cbm": "CBM"}).rows[0].cells[2].text == ".30 ± .14 (n = 2)"
    lines = cbm.notes(study, [row], tmp_path)
    assert f"{row.name}, seed 4: not complete, and not in the means: ended by minutes." in lines
    assert "n: seeds in the mean, as the measure is undefined for others." in lines


def test_a_finding_that_rests_on_censored_accuracies_is_not_known():
    """An accuracy of 1 is at least as good as any other; of two of them nobody knows which is better."""
    claim = "SHAPE, l=1: QT is at least as accurate as GS"

    def found(quantized, gumbel):
        accuracies = {"shape_qt": quantized, "shape_gs": gumbel}
        changed = rows(lambda name, figures: figures | {"accuracy": accuracies.get(name, 0.5)})
        return changed, next(each for each in cbm.check_findings(changed) if each.claim == claim)

    for quantized, gumbel, holds in ((1.0, 0.9, True), (1.0, 1.0, None), (0.9, 1.0, False), (0.0, 0.0, None)):
        changed, finding = found(quantized, gumbel)
        assert (finding.holds, finding.num_unknown) == (holds, int(holds is None))
    table = cbm.make_table(changed, {"accuracy": "acc", "unmatched": "unm"})
    [first] = [row for row in table.rows if row.cells[0].text == "shape_qt" and row.cells[1].text == "here"]
    assert first.cells[2].text.startswith("≤") and not first.cells[3].text.startswith("≤")


def test_the_paper_s_topsim_of_three_messages():
    """Levenshtein 2, 1, 3 of the pairs against cosine distances 1/2, 1/2, 1: ranks 2, 1, 3 and 1.5, 1.5, 3."""
    corpus = Corpus([[1, 2], [3, 4], [1, 2, 4]], concepts=Ragged.from_rows([[0, 1], [1, 2], [0, 3]]))
    assert cbm.topsim_published(corpus).value == pytest.approx(np.corrcoef([2, 1, 2], [1.5, 1.5, 3])[0, 1])
    phrases = np.random.default_rng(0).integers(0, 5, (60, 2)) + np.array([0, 5])
    perfect = Corpus((phrases + 1).tolist(), concepts=Ragged.from_rows(phrases.tolist()))
    assert cbm.topsim_published(perfect).value == pytest.approx(1)


MISTAKES = {
    "rows: []": "mine.yaml: rows: expected a list of games, each with a name and a base",
    "about: no rows": "mine.yaml: rows: expected a list of games, each with a name and a base",
    "rows: [x]": "mine.yaml: rows[0]: expected keys and values, got 'x'",
    "rows: [{name: a}]": "mine.yaml: rows[0]: expected a name of letters, digits, _ and -, and a base",
    "rows: [{name: a/b, base: thing_qt}]": "mine.yaml: rows[0]: expected a name of letters, digits, _ and -, and",
    "rows: [{name: a, base: thing_qq}]": "mine.yaml: rows[0]: unknown game 'thing_qq'; did you mean 'thing_qt'?",
    "rows: [{name: a, base: thing_qt, sett: {}}]": "mine.yaml: rows[0]: unknown key 'sett'; did you mean 'set'?",
    "rows: [{name: a, base: thing_qt, set: [x]}]": "mine.yaml: rows[0]: set: expected keys such as channel.max_len",
    "rows: [{name: a, base: thing_qt, set: {channel.maxlen: 2}}]": (
        "mine.yaml: rows[0]: set: unknown key 'channel.maxlen'; did you mean 'channel.max_len'?"
    ),
    "rows: [{name: a, base: thing_qt}, {name: a, base: thing_qt}]": "mine.yaml: rows: expected unique names, found a",
    "{seeds: [], rows: [{name: a, base: thing_qt}]}": "mine.yaml: seeds: expected different numbers, at least one",
    "{seeds: [1, 1], rows: [{name: a, base: thing_qt}]}": "mine.yaml: seeds: expected different numbers, at least one",
    "{published: table9, rows: [{name: a, base: thing_qt}]}": "unknown table 'table9'",
    "{colour: red, rows: [{name: a, base: thing_qt}]}": "mine.yaml: unknown key 'colour'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_file(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        cbm.load_table("mine.yaml")
    assert str(error.value).startswith(MISTAKES[text])


SHARES = "ambiguity paraphrase unmatched precision recall accuracy set_accuracy ami cbm".split()


def equal_rows(study):
    """Rows whose figures are the same."""

    curves = {"step": 100, "sizes": [100], "accumulated": [0.5], "segmented": [0.5]}
    values = {name: 0.5 for name in (*SHARES, "topsim", "topsim_published")} | {name: 1000 for name in cbm.COUNTS}
    run = {
        "stopped": "epochs", "folder": "runs/cbm/game", "seconds": 30.0, "chance": {"accuracy": 0.5},
        "values": values | {"ami": None}, "signatures": {"cbm": "cbm|v:1"},
        "sensitivity": curves | {"accumulated_sd": None, "segmented_sd": None},
    }  # fmt: skip
    return [replace(row, runs=tuple(run | {"seed": seed} for seed in study.seeds)) for row in cbm.rows_of(study)]


def test_the_chance_levels_of_all_games_are_named(tmp_path):
    study = cbm.load_table("paper/cbm_table1")
    rows = equal_rows(study)
    assert "chance level of acc: 0.50. acc:" in cbm.notes(study, rows, tmp_path)[0]
    better = [run | {"chance": {"accuracy": 1.0}} for run in rows[-1].runs]
    rows[-1] = replace(rows[-1], runs=tuple(better))
    assert "chance level of acc: 0.50 to 1.00. acc:" in cbm.notes(study, rows, tmp_path)[0]


def test_the_match_is_drawn_against_the_number_of_samples(tmp_path):
    study = cbm.load_table("paper/cbm_figure4")
    cbm.report(study, equal_rows(study)).draw(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def measured(study, runner):
    """The rows of a table whose folder is that of the runner."""
    return cbm.rows_of(study, cbm.CbmTables(folder=runner.folder).measure(study, runner))


@pytest.mark.slow
def test_rows_have_the_scores_of_their_corpora_and_are_not_trained_again(small_table, tmp_path, monkeypatch):
    runner = Runner(folder=tmp_path / "runs")
    rows = measured(small_table, runner)
    assert [row.name for row in rows] == ["thing_gs", "thing_qt"]
    assert [[run["seed"] for run in row.runs] for row in rows] == [[1, 2], [1, 2]]
    for row in rows:
        for run in row.runs:
            corpus = read_corpus(tmp_path / "runs" / run["folder"].rpartition("/")[2])
            assert len(corpus.messages) == 150 and run["sensitivity"]["sizes"] == [100, 150]
            for name in ("cbm", "ami", "topsim"):
                score = find_metric(name)(corpus, Options())[0]
                assert (run["values"][name], run["signatures"][name]) == (score.value, score.signature)
            values, training = run["values"], corpus.metadata["training"]
            assert values["accuracy"] == training["accuracy"] > 0
            assert values["set_accuracy"] == training["set_accuracy"]
            edges = [values[f"{name}_edges"] for name in ("good", "ambiguous", "paraphrase")]
            assert sum(edges) == values["total_edges"] == 150
            assert values["cbm"] == edges[0] / 150 and values["unique_concepts"] == 20
        values = row.values("cbm")
        assert row.mean("cbm") == pytest.approx(np.mean(values))
        assert row.deviation("cbm") == pytest.approx(abs(values[0] - values[1]) / np.sqrt(2))
    monkeypatch.setattr(training_jobs, "train", None)
    assert measured(small_table, runner) == rows
    assert json.loads(json.dumps(rows[0].to_json()))["mean"]["cbm"] == rows[0].mean("cbm")


def test_a_run_that_was_stopped_goes_on(small_table, tmp_path, monkeypatch):
    ended = RunResult(stopped="preempted", step=1, num_steps=2, measures={}, chance={}, extra_evaluations={})
    given = []
    monkeypatch.setattr(training_jobs, "train", lambda *_, **options: given.append(options) or ended)
    asked = iter([None, "preempted"])
    with pytest.raises(SystemExit):
        measured(small_table, Runner(folder=tmp_path / "runs", should_stop=lambda: next(asked, "preempted")))
    assert [options["resume"] for options in given] == [True]
    assert not list(tmp_path.glob("runs/results/*"))
