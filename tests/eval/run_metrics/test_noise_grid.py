"""`ecsuite evaluate RUN --noise`: accuracy over rates and positions of noise."""

import json

import pytest

from ecsuite.testing.trial import Trial


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A society whose agents know nothing yet, and a pair whose words are values."""
    folder = tmp_path_factory.mktemp("noise")
    Trial.of("channel", "gumbel", ("society.receivers=2",)).train(folder / "small")
    Trial.of("channel", "quantized").train(folder / "values")
    return folder


def test_curves_of_a_run(ecsuite, folder, tmp_path, no_layout):
    files = ("--plot", "noise.svg", "--out", "noise.csv")
    line = [
        "evaluate", str(folder / "small"), "--noise", "deletion,erasure", "--rates", "0,1", *files, "--json",
    ]  # fmt: skip
    code, out, err = ecsuite(*line)
    assert code == 0, err
    found = json.loads(out)
    points = {(each["noise"], each["rate"], each["position"]): each["accuracy"] for each in found["points"]}
    assert points["deletion", 0, None] == points["erasure", 0, None]  # without noise
    assert {position for _, _, position in points} == {None, 1, 2, 3}
    assert (tmp_path / "noise.svg").exists() and "deletion" in (tmp_path / "noise.csv").read_text()
    code, again, _ = ecsuite("evaluate", str(folder / "small"), "--json")
    accuracy = json.loads(again)["evaluations"]["valid"]["accuracy"]
    assert points["deletion", 0, None] == pytest.approx(accuracy)


def test_words_of_values_may_be_erased_and_confused(ecsuite, folder):
    line = ["evaluate", str(folder / "values"), "--noise", "erasure,confusion", "--rates", "0,1", "--json"]
    code, out, err = ecsuite(*line)
    assert code == 0, err
    assert len({each["position"] for each in json.loads(out)["points"]}) > 1


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        (
            "values",
            ["--noise", "deletion"],
            "deletion needs symbols, but the words of this channel are real-valued",
        ),
        ("small", ["--noise", "erasur"], "unknown noise 'erasur'"),
        ("small", ["--noise", "none"], "none has no rate"),
        ("small", ["--noise", "deletion", "--rates", "0,1.2"], "expected shares from 0 to 1"),
        ("small", ["--rates", "0.1"], "--rates: used with --noise only"),
        ("small", ["--noise", "deletion", "--intervene", "drop"], "expected one of these"),
    ],
)
def test_what_can_not_be_is_refused(ecsuite, folder, run, arguments, message):
    code, _, err = ecsuite("evaluate", str(folder / run), *arguments)
    assert code == 2 and message in err and len(err.strip().splitlines()) == 1
