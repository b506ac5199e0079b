"""Runs of one game over their seeds: means and spreads by hand, and the command."""

import json

import numpy as np
import pytest

from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import is_one_game, over_seeds
from ecsuite.eval.views import means


def run(folder, seed, value, half_width=None, name="topsim", high=9.0, **more):
    folder.mkdir()
    config = {"name": "game", "training": {"seed": seed}, **more}
    (folder / "metadata.json").write_text(json.dumps({"config": config}))
    ci95 = None if half_width is None else [value - half_width, min(high, value + half_width)]
    score = {"name": name, "value": value, "ci95": ci95, "details": {}, "signature": f"{name}|v:2"}
    size = {"name": "Line Count", "value": 9, "details": {}, "signature": "elcc|v:1"}
    (folder / "scores.json").write_text(json.dumps({"corpus": {}, "scores": [score, size]}))
    return folder


def test_the_spread_is_split_by_moments(tmp_path):
    """Values 1, 2, 3 have variance 1; errors of .6 within a corpus leave .64 between trainings."""
    paths = [run(tmp_path / str(seed), seed, float(seed), 0.6 * 1.959964) for seed in (1, 2, 3)]
    sources = Results.read(paths)
    [(_, sample, found)] = over_seeds(sources)
    assert is_one_game(sources)
    assert (found.mean, found.sd) == pytest.approx((2.0, 1.0)) and sample.seeds == (1, 2, 3)
    assert (found.within_sd, found.between_sd) == pytest.approx((0.6, 0.8), abs=1e-6)
    half = 4.302653 / 3**0.5  # Student's with two degrees of freedom
    assert found.ci95 == pytest.approx((2 - half, 2 + half), abs=1e-5)
    wide = [run(tmp_path / f"w{seed}", seed, 0.5 + seed / 1e3, 0.3) for seed in (1, 2)]
    assert over_seeds(Results.read(wide))[0][2].between_sd == 0
    [(_, _, found)] = over_seeds(Results.read([run(tmp_path / f"s{seed}", seed, float(seed)) for seed in (1, 2)]))
    assert found.within_sd is None and found.between_sd is None and found.sd == pytest.approx(0.5**0.5)
    ended = [run(tmp_path / f"e{seed}", seed, 0.9, 0.3, high=1.0) for seed in (1, 2)]  # [.6, 1] of .9 ± .3
    assert over_seeds(Results.read(ended))[0][2].within_sd == pytest.approx(0.3 / 1.959964)
    assert not is_one_game(Results.read([wide[0], run(tmp_path / "b", 2, 0.1, lr=3)]))


def test_runs_of_one_game_count_the_seeds_that_formed_a_protocol(tmp_path, monkeypatch):
    paths = []
    for seed, accuracy in enumerate((0.3, 0.9, 0.95)):
        paths.append(run(tmp_path / str(seed), seed, accuracy, evaluation={"num_valid": 50}))
        metadata = json.loads((paths[-1] / "metadata.json").read_text())
        metadata |= {"training": {"accuracy": accuracy, "loss": 1.0, "stopped": "epochs"}, "chance": {"accuracy": 0.25}}
        (paths[-1] / "metadata.json").write_text(json.dumps(metadata))
        (paths[-1] / "config.yaml").write_text(json.dumps(metadata["config"]))
    report = means.seed_report(Results.read(paths))
    assert report.data["formed"]["number"] == 2 and any("2 of 3 [9%, 99%]" in note for note in report.notes)
    points = []
    monkeypatch.setattr(means, "intervals", lambda panel, **_: points.extend(panel.points))
    monkeypatch.setattr(means, "save", lambda *_: None)
    report.draw(tmp_path / "seeds.svg")
    assert points[0].single == [0.3, 0.9, 0.95] and points[0].value is None  # the outcome has two peaks
    metadata["training"]["stopped"] = "minutes"  # counts in no mean, as in `compare table`
    (paths[-1] / "metadata.json").write_text(json.dumps(metadata))
    report = means.seed_report(Results.read(paths))
    assert report.data["over_seeds"][0]["values"] == [0.3, 0.9] and report.data["formed"]["of"] == 2
    assert "2: not in the means: ended by minutes." in report.notes
    members = {"corpora": [{"corpus": {"source_path": str(path)}, "scores": []} for path in paths]}
    assert [each.counts() for each in sources_of(tmp_path / "all.json", members)] == [True, True, False]


@pytest.mark.slow
def test_the_parts_of_the_spread_are_found_in_simulation(tmp_path):
    """400 seeds whose trainings vary by .3 and whose corpora add .4."""
    rng = np.random.default_rng(0)
    values = 0.3 * rng.normal(size=400) + 0.4 * rng.normal(size=400)
    paths = [run(tmp_path / str(seed), seed, float(value), 0.4 * 1.96) for seed, value in enumerate(values)]
    assert over_seeds(Results.read(paths))[0][2].between_sd == pytest.approx(0.3, abs=0.06)


def test_the_command_shows_means_of_one_game(tmp_path, ecsuite, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        size = ("--epochs", "1", "--set", "training.num_examples=256")
        arguments = (*size, "--seed", str(seed), "--out", f"a-{seed}", "--device", "cpu")
        assert ecsuite("train-game", "disc_tiny", *arguments)[0] == 0
    code, out, err = ecsuite("score", "a-1", "a-2", "--metrics", "topsim,posdis")
    assert code == 0 and "disc_tiny: 2 seeds" in out and "within a corpus" in out, err
    code, out, _ = ecsuite("score", "a-1", "a-2", "--metrics", "topsim", "--json")
    [mean] = json.loads(out)["over_seeds"]
    assert mean["name"] == "topsim" and mean["seeds"] == [1, 2] and len(json.loads(out)["corpora"]) == 2


def test_failed_runs_are_listed(tmp_path, ecsuite):
    content = {
        "format": 1, "name": "study", "metrics": [],
        "runs": [
            {"settings": {"optimizer.lr": rate}, "seed": 1, "folder": f"runs/{rate}", "scores": [],
             "training": {"stopped": stopped, "measures": {"accuracy": 0.25}}, "failure": failure}
            for rate, stopped, failure in (
                (0.1, "epochs", None), (1.0, "minutes", None), (9.0, None, "step 3: the loss is not finite")
            )
        ],
    }  # fmt: skip
    (tmp_path / "sweep.json").write_text(json.dumps(content))
    code, out, _ = ecsuite("compare", "table", str(tmp_path), "--failed")
    expected = ("ended by minutes", "the loss is not finite", "2 of 3 runs", "capped", "diverged")
    assert code == 0 and all(text in out for text in expected)
    out = ecsuite("compare", "table", str(tmp_path), "--failed", "--json")[1]
    assert len(json.loads(out)["failed_runs"]) == 2
