"""Tables show measured values above the paper's, and fit into a terminal."""

from dataclasses import replace

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


def test_the_match_is_drawn_against_the_number_of_samples(tmp_path):
    study = load_table("paper/cbm_figure4")
    report(study, measured(study)).draw(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
