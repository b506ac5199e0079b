"""Studies: combinations, seeds and metrics; every run is checked, and mistakes are told by their place."""

import re

import pytest
import yaml

from ecsuite.eval.experiments.grids import SWEEP
from ecsuite.eval.experiments.jobs import plan
from ecsuite.eval.experiments.study import load_study
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.runtime.errors import ConfigError


def settings(study):
    return [tuple(variant.settings.values()) for variant in study.variants]


def test_a_grid_has_all_combinations_in_the_order_of_the_file(small, tmp_path):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(small, sort_keys=False))
    study = load_study(tmp_path / "mine.yaml", device="cpu")
    assert study.name == "mine" and study.seeds == (1, 2) and study.metrics == ("topsim", "elcc")
    assert settings(study) == [("gumbel", 3), ("gumbel", 5), ("reinforce", 3), ("reinforce", 5)]
    assert [variant.experiment.channel.kind for variant in study.variants][1:3] == ["gumbel", "reinforce"]
    assert study.variants[1].name == "channel.kind=gumbel, channel.vocab_size=5"


def test_grids_follow_one_another_and_zip_is_combined_with_each(small):
    small["vary"] = [{"channel.max_len": [2, 3]}, {"channel.max_len": [4]}]
    small["zip"] = {"sender.hidden_size": [4, 8], "receiver.hidden_size": [5, 9]}
    study = load_study(small, device="cpu")
    assert settings(study) == [(2, 4, 5), (3, 4, 5), (2, 8, 9), (3, 8, 9), (4, 4, 5), (4, 8, 9)]


def test_random_draws_some_of_the_combinations_always_the_same(small):
    everything = settings(load_study(small, device="cpu"))
    drawn = settings(load_study({**small, "random": 2}, device="cpu"))
    assert len(drawn) == 2 and set(drawn) < set(everything)
    assert drawn == settings(load_study({**small, "random": 2}, device="cpu"))
    others = {
        tuple(settings(load_study({**small, "random": 2, "random_seed": seed}, device="cpu")))
        for seed in range(6)
    }
    assert len(others) > 1
    assert settings(load_study({**small, "random": 9}, device="cpu")) == everything


def test_a_file_of_another_kind_is_told():
    with pytest.raises(ConfigError, match="unknown study 'disc_tiny'; choices: society_imitation_full"):
        load_study("disc_tiny")


def test_the_shipped_search_is_for_xferbench(ecsuite):
    study = load_study("paper/xferbench_search", device="cpu")
    assert study.name == "xferbench_search" and study.metrics == ("xferbench",)
    assert study.search.objective == "xferbench" and not study.search.is_maximised
    assert "ecsuite sweep paper/xferbench_search" in ecsuite("list", "studies", "paper/xferbench_search")[1]


def test_the_shipped_studies_of_games_have_three_seeds():
    names = [f"paper/{name}" for name in SWEEP.shipped() if name.startswith("zoo_")]
    assert len(names) >= 3
    for name in names:
        study = load_study(name, device="cpu")
        assert len(study.seeds) == 3 and len(study.variants) >= 2 and study.metrics, name


def test_numbers_are_numbers_and_seeds_may_be_listed(small, tmp_path):
    text = "base: disc_tiny\nvary: {optimizer.lr: [1e-4, 1e-2]}\nseeds: [7, 3]\n"
    (tmp_path / "lr.yaml").write_text(text)
    study = load_study(tmp_path / "lr.yaml", device="cpu")
    assert [variant.experiment.optimizer.options.lr for variant in study.variants] == [1e-4, 1e-2]
    assert study.seeds == (7, 3) and study.metrics == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vari": {}}, "sweep: unknown key 'vari'; did you mean 'vary'?"),
        ({"base": ""}, "sweep: base: expected the name of a game or a YAML file"),
        ({"base": "disc_tny"}, "unknown game 'disc_tny'; did you mean 'disc_tiny'?"),
        ({"vary": {"channel.vocab_size": 5}}, "sweep: vary: channel.vocab_size: expected a list of values, got 5"),
        ({"vary": [{"channel.vocab_size": []}]}, "sweep: vary[0]: channel.vocab_size: expected a list of values"),
        ({"vary": ["channel"]}, "sweep: vary[0]: expected keys such as channel.kind"),
        ({"vary": {"channel.vocab_siz": [5]}}, "setting 1 of 1 (channel.vocab_siz=5): set: "),
        (
            {"vary": {"channel.kind": ["gumbel", "reinforce"], "channel.vocab_size": [3, 4, 5, -1]}},
            "sweep: setting 4 of 8 (channel.kind='gumbel', channel.vocab_size=-1): ",
        ),
        ({"vary": {"training.seed": [1]}}, "use the key `seeds` of the study"),
        ({"zip": {"channel.max_len": [1], "channel.vocab_size": [3, 4]}}, "zip: expected lists of equal lengths"),
        ({"vary": {"channel.vocab_size": [5, 5]}}, "are the same game"),
        ({"seeds": 0}, "sweep: seeds: expected a number of seeds, or a list"),
        ({"seeds": [1, 1]}, "sweep: seeds: expected"),
        ({"seeds": "many"}, "sweep: seeds: expected"),
        ({"seeds": 100_001}, "expected at most 100,000 runs"),
        ({"seeds": 2**31 - 1}, "expected at most 100,000 runs"),
        ({"vary": {"channel.vocab_size": [16**5000]}}, "setting 1 of 1 (channel.vocab_size=a value with an integer"),
        (
            {"vary": {f"channel.{name}": list(range(1, 200)) for name in ("a", "b", "c", "d")}},
            "sweep: vary: expected at most 1,000,000 combinations, got more",
        ),
        ({"score": ["topsym"]}, "sweep: score: unknown metric 'topsym'; did you mean 'topsim'?"),
        ({"score": 3}, "sweep: score: expected names of metrics, got 3"),
        ({"score": ["efficiency,need=nowhere.csv"]}, "sweep: score: nowhere.csv: no such file: expected a CSV file"),
        ({"random": 0}, "sweep: random: "),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_anything_runs(small, change, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_study({**small, **change}, device="cpu")


def test_what_is_wrong_in_a_file_of_a_metric_is_told_before_anything_runs(small, tmp_path):
    need, texts = tmp_path / "need.csv", tmp_path / "texts"
    need.write_text("meaning,need\na\n")
    with pytest.raises(
        ConfigError, match=r"sweep: score: .*need\.csv:2: expected 2 cells, as in row 1, got 1"
    ):
        load_study({**small, "score": [f"efficiency,need={need}"]}, device="cpu")
    texts.mkdir()
    (texts / "da.txt").write_text("\n")
    study = load_study({**small, "score": [f"xferbench,preset=nano,targets={texts}"]}, device="cpu")
    with pytest.raises(ConfigError, match=r"da\.txt: expected text, found none"):
        [job.digest for run in plan(study, tmp_path / "study") for job in run.scores.values()]


@pytest.mark.parametrize(
    ("file", "kind"), [("people.db", "a study with people"), ("config.yaml", "a run or a corpus")]
)
def test_the_folder_of_something_else_is_refused(file, kind, tmp_path):
    (tmp_path / file).touch()
    with pytest.raises(ConfigError, match=f"is the folder of {kind}: choose another folder with --out"):
        Sweeps(folder=tmp_path)
