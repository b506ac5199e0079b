"""Tables show measured values above the paper's, and fit into a terminal."""

import io
from dataclasses import replace

from rich.console import Console

from ecsuite.eval.experiments.cbm import COUNTS, load_table, report, rows_of

SHARES = "ambiguity paraphrase unmatched precision recall accuracy set_accuracy ami cbm".split()


def measured(study, spread=0.0):
    """Rows whose figures are the same, but for the seed."""

    def run(seed):
        values = {name: 0.5 + spread * seed for name in (*SHARES, "topsim", "topsim_published")}
        values |= {name: 1000 for name in COUNTS} | {"ami": None}
        common = {
            "stopped": "minutes" if seed == 2 else "epochs",
            "folder": "runs/cbm/game",
            "seconds": 30.0,
            "chance": {"accuracy": 0.5},
        }
        curves = {"step": 100, "sizes": [100], "accumulated": [0.5], "segmented": [0.5]}
        curves |= {"accumulated_sd": None, "segmented_sd": None}
        return common | {
            "seed": seed,
            "values": values,
            "signatures": {"cbm": "cbm|v:1"},
            "sensitivity": curves,
        }

    return [replace(row, runs=tuple(run(seed) for seed in study.seeds)) for row in rows_of(study)]


def text(tables, width=80):
    console = Console(width=width, file=io.StringIO(), record=True)
    for table in tables:
        console.print(table)
    return console.export_text()


def test_table_1_fits_into_80_columns_with_the_paper_s_rows_below_ours():
    study = load_table("paper/cbm_table1")
    found = report(study, measured(study, 0.1))
    printed = text(found.tables)
    assert "…" not in printed
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    assert lines[0] == [
        "game", "acc", "set", "con", "phrs", "#w", "#m", "TopS", "ours", "AMI", "CBM", "amb", "para", "unm"
    ]  # fmt: skip
    first = next(place for place, line in enumerate(lines) if line[0] == "shape_gs")
    assert lines[first] == [
        "shape_gs", ".70", ".70", "1000", "1000", "1000", "1000", ".70", ".70", "none", *[".70"] * 4
    ]  # fmt: skip
    assert lines[first + 1] == ["±.10", "±.10", *["±0"] * 4, "±.10", "±.10", *["±.10"] * 4]
    assert lines[first + 2] == [
        "the", "paper", ".84", "17", "17", "11", "11", ".44", ".76", ".62", ".37", ".01", ".25"
    ]  # fmt: skip
    assert found.notes[0].startswith("means, ± standard deviation; seeds 1, 2, 3; chance level of acc: 0.50.")
    assert "shape_gs: time limit reached before the last epoch, seed 2." in found.notes
    assert "12 min of training in total; cbm|v:1" in found.notes
    assert len(found.data["findings"]) == 9 and len(found.data["rows"]) == 8


def test_table_3_comes_with_table_4_and_notes_on_its_misprints():
    study = load_table("paper/cbm_table3", rows=["exp5", "exp14"])
    found = report(study, measured(study))
    assert len(found.tables) == 2
    printed = text(found.tables)
    assert "…" not in printed
    counts = next(line.split() for line in text(found.tables[1:]).splitlines() if "3943" in line)
    assert counts == "the paper 1000 3991 50 50 4000 57 0 3943 1000 0 .01 .05".split()
    assert found.notes[0].startswith("seed 1; chance level of acc: ")
    assert (
        "exp5: the paper's Table 3 prints a match score of 1.401 for experiment 5; its Table 4 gives 1605/4000."
        in found.notes
    )
    assert found.data["findings"] == []


def test_the_match_is_drawn_against_the_number_of_samples(tmp_path):
    study = load_table("paper/cbm_figure4")
    report(study, measured(study)).draw(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


def test_what_a_game_does_not_measure_is_none():
    study = load_table("paper/cbm_table1")
    rows = measured(study)
    for row in rows:
        for run in row.runs:
            del run["values"]["set_accuracy"], run["chance"]["accuracy"]
    found = report(study, rows)
    assert "none" in text(found.tables) and "chance level" not in found.notes[0]
