"""`ecsuite plot`: a picture of the learning curves."""

import pytest

import ecsuite as ec

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs."""
    folder = tmp_path_factory.mktemp("plot")
    quick = {"training.num_examples": 512, "training.num_epochs": 2, "training.evaluate_every": 2}
    for seed in (1, 2):
        ec.train(
            "disc_tiny",
            out=folder / f"seed{seed}",
            overrides={**quick, "training.seed": seed},
            progress=lambda *_: None,
            note=lambda _: None,
            device="cpu",
        )
    return folder


def test_a_line_for_each_run(ecsuite, folder, tmp_path):
    runs = [str(folder / name) for name in ("seed1", "seed2")]
    code, out, _ = ecsuite("plot", *runs, "--out", "curves.svg")
    assert (code, out) == (0, "accuracy of 2 runs in curves.svg\n")
    first = (tmp_path / "curves.svg").read_bytes()
    assert first.count(b"<path") > 4
    assert ecsuite("plot", *runs, "--out", "curves.svg")[0] == 0
    assert (tmp_path / "curves.svg").read_bytes() == first
    assert ecsuite("plot", runs[0], "--measure", "loss", "--out", "loss.png")[0] == 0


def test_a_run_without_an_evaluation(ecsuite, folder, tmp_path):
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_bytes((folder / "seed1" / "config.yaml").read_bytes())
    code, _, err = ecsuite("plot", "begun")
    assert (code, err) == (2, "begun: no evaluation yet\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["seed1", "--measure", "accurracy"],
            "unknown measure 'accurracy'; did you mean 'accuracy'?",
        ),
        (["seed1", "--out", "a.txt"], "a.txt: expected the name of a picture, ending in .svg or .png"),
        (["none"], "none: no such run, and no such folder"),
    ],
)
def test_mistakes(ecsuite, folder, arguments, message):
    run, *rest = arguments
    code, _, err = ecsuite("plot", str(folder / run), *rest)
    assert code == 2 and message in err and err.count("\n") == 1
