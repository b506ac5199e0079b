"""Studies: combinations, seeds and metrics; every run is checked, and mistakes are told by their place."""

import re

import pytest

from ecsuite.eval.experiments.jobs import plan
from ecsuite.eval.experiments.study import load_study, require_scorable
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError


def settings(study):
    return [tuple(variant.settings.values()) for variant in study.variants]


def test_random_draws_some_of_the_combinations_always_the_same(small):
    everything = settings(load_study(small, device="cpu"))
    drawn = settings(load_study({**small, "random": 2}, device="cpu"))
    assert len(drawn) == 2 and set(drawn) < set(everything)
    assert drawn == settings(load_study({**small, "random": 2}, device="cpu"))
    trees = [{**small, "random": 2, "random_seed": seed} for seed in range(6)]
    assert len({tuple(settings(load_study(tree, device="cpu"))) for tree in trees}) > 1
    assert settings(load_study({**small, "random": 9}, device="cpu")) == everything


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
        ({"vary": {"channel.kind": ["gumbel", "reinforce"], "channel.vocab_size": [3, 4, 5, -1]}},
         "sweep: setting 4 of 8 (channel.kind='gumbel', channel.vocab_size=-1): "),
        ({"vary": {"training.seed": [1]}}, "use the key `seeds` of the study"),
        ({"zip": {"channel.max_len": [1], "channel.vocab_size": [3, 4]}}, "zip: expected lists of equal lengths"),
        ({"vary": {"channel.vocab_size": [5, 5]}}, "are the same game"),
        ({"seeds": 0}, "sweep: seeds: expected a number of seeds, or a list"),
        ({"seeds": [1, 1]}, "sweep: seeds: expected"),
        ({"seeds": "many"}, "sweep: seeds: expected"),
        ({"seeds": 100_001}, "expected at most 100,000 runs"),
        ({"seeds": 2**31 - 1}, "expected at most 100,000 runs"),
        ({"vary": {"channel.vocab_size": [16**5000]}}, "setting 1 of 1 (channel.vocab_size=a value with an integer"),
        ({"vary": {f"channel.{name}": list(range(1, 200)) for name in ("a", "b", "c", "d")}},
         "sweep: vary: expected at most 1,000,000 combinations, got more"),
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
    with pytest.raises(ConfigError, match=r"sweep: score: .*need\.csv:2: expected 2 cells, as in row 1"):
        load_study({**small, "score": [f"efficiency,need={need}"]}, device="cpu")
    texts.mkdir()
    (texts / "da.txt").write_text("\n")
    study = load_study({**small, "score": [f"xferbench,preset=nano,targets={texts}"]}, device="cpu")
    with pytest.raises(ConfigError, match=r"da\.txt: expected text, found none"):
        [job.digest for run in plan(study, tmp_path / "study") for job in run.scores.values()]


def test_generalisation_needs_held_out_objects():
    with pytest.raises(ConfigError, match=r"^study.yaml: score: generalisation .* set world.held_out=0.3"):
        require_scorable([load_experiment("disc_tiny")], ["topsim", "generalisation"], "study.yaml")
    held_out = load_experiment("disc_tiny", changes={"world.held_out": 0.3})
    require_scorable([load_experiment("disc_tiny"), held_out], ["generalisation", "rsa"], "study.yaml")
    by_value = load_experiment("disc_tiny", changes={"world.held_out_value": "attribute0=1,attribute1=2"})
    require_scorable([by_value], ["generalisation"], "study.yaml")
