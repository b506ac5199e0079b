"""`ecsuite show RUNS --plot`: a picture of the learning curves."""

import pytest

import ecsuite as ec

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plot")
    quick = {"training.num_examples": 512, "training.num_epochs": 2, "training.evaluate_every": 2}
    for seed in (1, 2):
        ec.train(
            "disc_tiny", out=folder / f"seed{seed}",
            overrides={**quick, "training.seed": seed},
            progress=lambda *_: None, note=lambda _: None, device="cpu",
        )  # fmt: skip
    return folder


@pytest.mark.slow
def test_a_line_for_each_run(ecsuite, folder, tmp_path):
    runs = [str(folder / name) for name in ("seed1", "seed2")]
    code, out, _ = ecsuite("show", *runs, "--plot", "curves.svg")
    assert (code, out) == (0, "accuracy of 2 runs in curves.svg\n")
    first = (tmp_path / "curves.svg").read_bytes()
    assert first.count(b"<path") > 4
    assert ecsuite("show", *runs, "--plot", "curves.svg")[0] == 0
    assert (tmp_path / "curves.svg").read_bytes() == first
    assert ecsuite("show", runs[0], "--measure", "loss", "--plot", "loss.png")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["seed1", "--measure", "accurracy", "--plot", "a.svg"],
            "unknown measure 'accurracy'; did you mean 'accuracy'?",
        ),
        (["seed1", "seed2", "--plot", "a.txt"], "a.txt: expected the name of a picture, ending in .svg, .pdf, .png"),
        (["none", "seed1", "--plot", "a.svg"], "none: expected a run folder; there is no such folder"),
        (["seed1", "seed2"], "expected --plot FILE, for learning curves, or one language"),
    ],
)  # fmt: skip
def test_mistakes(ecsuite, folder, arguments, message):
    words = [str(folder / each) if each in ("seed1", "seed2", "none") else each for each in arguments]
    code, _, err = ecsuite("show", *words)
    assert code == 2 and message in err and err.count("\n") == 1
