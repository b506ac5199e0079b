"""`ecsuite show RUNS --plot`: a picture of the learning curves."""

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


def test_a_panel_for_each_of_several_measures(ecsuite, folder, tmp_path):
    code, out, _ = ecsuite("show", str(folder / "seed1"), "--measure", "accuracy,loss", "--plot", "two.svg")
    assert (code, out) == (0, "accuracy,loss of 1 run in two.svg\n")
    alone = ecsuite("show", str(folder / "seed1"), "--measure", "loss", "--plot", "one.svg")
    assert alone[0] == 0
    counts = [(tmp_path / f"{name}.svg").read_bytes().count(b'id="axes_') for name in ("two", "one")]
    assert counts == [2, 1]


def test_a_run_without_an_evaluation(ecsuite, folder, tmp_path):
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_bytes((folder / "seed1" / "config.yaml").read_bytes())
    code, _, err = ecsuite("show", "begun", "--measure", "loss", "--plot", "curves.svg")
    assert (code, err) == (2, "begun: no evaluation yet\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["seed1", "--measure", "accurracy", "--plot", "a.svg"],
            "unknown measure 'accurracy'; did you mean 'accuracy'?",
        ),
        (
            ["seed1", "seed2", "--plot", "a.txt"],
            "a.txt: expected the name of a picture, ending in .svg, .pdf, .png",
        ),
        (["none", "seed1", "--plot", "a.svg"], "none: expected a run folder; there is no such folder"),
        (["seed1", "seed2"], "expected --plot FILE, for learning curves, or one language"),
    ],
)
def test_mistakes(ecsuite, folder, arguments, message):
    words = [str(folder / each) if each in ("seed1", "seed2", "none") else each for each in arguments]
    code, _, err = ecsuite("show", *words)
    assert code == 2 and message in err and err.count("\n") == 1
