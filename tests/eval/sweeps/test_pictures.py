"""Pictures of sweeps: what they say, and how settings are told apart."""

import json
import re

import pytest
from compared_sources import run

from ecsuite.eval.sweeps.curves import curve_of, layout_of

pytest.importorskip("matplotlib")


@pytest.fixture
def study(tmp_path):
    """Eight run folders: two channels, two sizes of vocabulary, two seeds."""
    for kind in ("gumbel", "reinforce"):
        for size in (5, 20):
            for seed in (1, 2):
                run = tmp_path / "study" / f"{kind}-{size}-{seed}"
                run.mkdir(parents=True)
                (run / "config.yaml").write_text(
                    f"name: a\nchannel: {{kind: {kind}, vocab_size: {size}}}\ntraining: {{seed: {seed}}}\n"
                )
                lines = [
                    {"step": step, "valid": {"accuracy": (seed + step) / 10}} for step in range(1, 3 + seed)
                ]
                (run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
                metadata = {"training": {"accuracy": size / 100 + seed / 10}}
                (run / "metadata.json").write_text(json.dumps(metadata))
    return tmp_path / "study"


def test_a_curve_is_the_mean_with_the_range_of_its_seeds_until_the_first_one_ends(study):
    curve = curve_of([study / "gumbel-5-1", study / "gumbel-5-2"], "accuracy")
    assert curve.steps == (1, 2, 3) and curve.num_seeds == 2 and curve.section == "validation"
    assert curve.mean == pytest.approx((0.25, 0.35, 0.45))
    assert curve.low == pytest.approx((0.2, 0.3, 0.4)) and curve.high == pytest.approx((0.3, 0.4, 0.5))
    assert curve_of([study / "gumbel-5-1"], "no such measure") is None


def test_colours_stand_for_the_setting_with_most_values_that_they_suffice_for():
    rows = [(kind, size) for kind in ("a", "b") for size in (5, 20, 80)]
    layout = layout_of(["kind", "size"], rows)
    assert layout.colour_key == "size" and layout.colours == (0, 1, 2, 0, 1, 2)
    assert layout.panel_names == ("kind=a", "kind=b") and layout.panels == (0, 0, 0, 1, 1, 1)
    one = layout_of([], [()])
    assert one.colour_names == () and one.panels == (0,)
    trials = layout_of(["lr", "size"], [(each / 7, each) for each in range(60)])
    few = layout_of(["lr", "size"], [(each / 7, each) for each in range(6)])
    assert len(few.colour_names) == 6 and set(few.panels) == {0}
    assert trials.colour_names == () and set(trials.panels) == {0}  # one colour: no legend could be read


def test_curves_heat_map_and_parallel_plot(ecsuite, study, tmp_path):
    code, out, err = ecsuite("plot", study, "--out", "curves.svg")
    assert (code, err, out) == (0, "", "accuracy of 8 runs, 4 lines with bands over seeds, in curves.svg\n")
    text = words(tmp_path / "curves.svg")
    assert {"channel.kind", "channel.vocab_size=5", "channel.vocab_size=20", "gumbel", "accuracy"} <= text
    assert ecsuite("plot", study, "--kind", "heat", "--out", "heat.svg")[0] == 0
    assert {"gumbel", "20", "0.35", "channel.kind"} <= words(tmp_path / "heat.svg")
    assert ecsuite("plot", study, "--kind", "parallel", "--out", "all.svg")[0] == 0
    assert {"channel.kind", "channel.vocab_size", "accuracy"} <= words(tmp_path / "all.svg")


def test_no_text_overlaps_another_or_the_edge(study, tmp_path, monkeypatch):
    from figure_texts import assert_readable

    from ecsuite.eval.sweeps import pictures

    monkeypatch.setattr(pictures, "save", lambda figure, *_: assert_readable(figure))
    records = [run(name=str(study / "gumbel-5-1"), settings={"a.rather_long_setting": value, "optimizer.lr": lr},
                      seed=1, measures={"accuracy": value / 10}, scores={})
               for value in range(5) for lr in (1e-4, 3e-4, 1e-3, 1e-2)]  # fmt: skip
    pictures.draw_sweep_curves(records, "accuracy", tmp_path / "a.svg")
    pictures.draw_heat_map(records, "accuracy", ["a.rather_long_setting", "optimizer.lr"], tmp_path / "a.svg")
    pictures.draw_parallel(records, "accuracy", tmp_path / "a.svg")


def words(file):
    """The texts of a picture, which matplotlib writes beside their outlines."""
    return set(re.findall(r"<!-- (.*?) -->", file.read_text()))


def test_what_cannot_be_drawn_is_refused_in_a_line(ecsuite, study, tmp_path):
    for arguments, said in (
        (["--kind", "heatmap"], "did you mean 'heat'"),
        (["--measure", "topsim"], "no log of these runs has it"),
        (["--kind", "heat", "--by", "channel.kind"], "a heat map has two settings"),
        (["--kind", "parallel", "--measure", "topsin"], "topsin"),
        (["--by", "channel.size"], "channel.size"),
    ):
        code, out, err = ecsuite("plot", study, *arguments)
        assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    assert not (tmp_path / "curves.svg").exists()
