"""Tables over settings: means and intervals by hand, all forms, and records of sweeps and of run folders."""

import pytest
from compared_sources import run

from ecsuite.eval.results.results import Results
from ecsuite.eval.views.comparison import means_table, noise_notes
from ecsuite.runtime.errors import ConfigError


def record(kind, size, seed, topsim, **more):
    settings = {"channel.kind": kind, "channel.vocab_size": size}
    return run(
        name=f"{kind}-{size}-{seed}", settings=settings, seed=seed, measures={"accuracy": 0.5, "loss": 1.0},
        scores={"topsim": topsim}, **more,
    )  # fmt: skip


RECORDS = [
    record("gumbel", 5, 1, 0.1), record("gumbel", 5, 2, 0.3), record("gumbel", 20, 1, 0.5),
    record("reinforce", 5, 1, None), record("reinforce", 5, 2, None, failure="the loss is inf"),
]  # fmt: skip


def protocols(*accuracies, chance=0.25, rounds=100, **more):
    """Runs of one setting with these accuracies."""
    return [
        run(
            f"{seed}", {"channel.vocab_size": 5, "evaluation.num_valid": rounds}, seed,
            {"accuracy": accuracy, "loss": 1.0}, {"topsim": accuracy},
            training={"chance": {"accuracy": chance}}, **more,
        )
        for seed, accuracy in enumerate(accuracies)
    ]  # fmt: skip


def test_a_protocol_is_not_known_of_runs_that_are_not_whole_or_have_no_chance_level():
    stopped, failed = (
        protocols(0.9, **more) for more in ({"stopped": "minutes"}, {"failure": "the loss is inf"})
    )
    assert [each.has_protocol for each in (*stopped, *failed, *protocols(0.9, chance=None))] == [None] * 3
    assert "protocol" not in str(means_table(Results(RECORDS).means()))
    assert "formed" not in Results(RECORDS).means().to_json()["rows"][0]
    naming = run(
        "n", {"evaluation.num_valid": 9}, 1, {"accuracy": 1.0}, {}, training={"chance": {"accuracy": 0.1}}
    )
    assert naming.has_protocol is None


def test_unknown_names_are_told():
    with pytest.raises(ConfigError, match=r"unknown setting 'channel.kid'; did you mean 'channel.kind'\?"):
        Results(RECORDS).means(by=["channel.kid"])
    with pytest.raises(ConfigError, match=r"unknown figure 'topsym'; did you mean 'topsim'\?"):
        Results(RECORDS).means(figures=["topsym"])


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (({"channel.noise.kind": "deletion", "evaluation.noise": False},), "without the noise"),
        (({"channel.noise.kind": "deletion", "evaluation.noise": True},), "with the noise"),
        (
            (
                {"channel.noise.kind": "deletion", "evaluation.noise": True},
                {"channel.noise": "erasure", "evaluation.noise": False},
            ),
            "some runs with the noise",
        ),
        (({"channel.noise": None},), None),
    ],
)
def test_a_table_says_with_what_noise_its_figures_are(noise, expected):
    sources = [run("a", settings, 1, {"accuracy": 0.5}, {"topsim": 0.1}) for settings in noise]
    lines = noise_notes(sources, ["accuracy", "topsim"])
    assert lines == [] if expected is None else lines[0].startswith(f"accuracy: {expected}")
    assert noise_notes(sources, ["topsim"]) == []
