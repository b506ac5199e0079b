import json
import re

import ecsuite as package
from ecsuite.commands.named import KINDS
from ecsuite.eval.experiments.claims.claim import load_claim, shipped_claims
from ecsuite.eval.metrics import METRIC_OF
from ecsuite.parts.config import packaged_yaml

TABLE = packaged_yaml("ecsuite.eval.views", "citations.yaml")


def test_every_work_is_used_and_every_name_is_known():
    used = {key for names in TABLE["rests_on"].values() for keys in names.values() for key in keys}
    used |= {load_claim(name).source.work for name in shipped_claims()}
    assert used == set(TABLE["works"])
    for kind in set(TABLE["rests_on"]) - {"cells", "agents", "metrics", "commands", "data"}:
        names = {name.removeprefix("paper/") for name in KINDS[kind].names()}
        assert TABLE["rests_on"][kind].keys() <= names
    metrics = TABLE["rests_on"]["metrics"].keys() - {"chrf", "bleu", "elcc"}
    assert metrics <= METRIC_OF.keys() | KINDS["metrics"].names().keys()


def test_a_study_is_cited_with_its_games_and_metrics(ecsuite, printed, refused):
    for name in ("paper/zoo_objects_game", "zoo_objects_game"):
        out = printed("cite", name)
        assert "% topsim\n@article{brighton2006," in out
        assert "% zoo_objects_game, objects_game\n@misc{dessi2019," in out
    assert "% cbm_table1, shape_gs, shape_qt," in printed("cite", "cbm_table1")
    assert "% elcc\n@misc{boldt2024elcc," in ecsuite("cite", "elcc")[1]  # the metric, and no study
    assert "ueda2023" in ecsuite("cite", "paper/elcc")[1]
    assert "unknown study 'zoo_digit'; did you mean 'zoo_digits'?" in refused("cite", "paper/zoo_digit")


def test_a_sweep_is_cited_with_what_its_runs_and_scores_rest_on(ecsuite, printed, tmp_path):
    scores = [{"name": "topsim", "value": 0.5, "signature": "topsim|v:1"}]
    runs = [
        {"settings": {"channel.kind": kind}, "seed": 1, "folder": kind, "training": {}, "scores": scores}
        for kind in ("gumbel", "reinforce")
    ]
    (tmp_path / "runs" / "reinforce").mkdir(parents=True)
    (tmp_path / "runs" / "reinforce" / "config.yaml").write_text("name: disc_small\n")
    (tmp_path / "sweep.json").write_text(json.dumps({"name": "mine", "runs": runs}))
    (tmp_path / "scores.json").write_text(json.dumps({"scores": scores}))
    (tmp_path / "icy.json").write_text(
        json.dumps(
            {
                "study": {"models": ["lstm"], "receivers": [], "role": "sender", "protocol": "paper"},
                "rows": [{"cells": []}],
            }
        )
    )
    for what in (".", "sweep.json"):
        out = printed("cite", what)
        assert "% topsim\n@article{brighton2006," in out
        assert {"jang2017", "williams1992", "kharitonov2019"} <= {*re.findall(r"@\w+{(\w+),", out)}, out
    assert "% topsim\n@article{brighton2006," in ecsuite("cite", "scores.json")[1]
    assert "hochreiter1997" in printed("cite", "icy.json")


def test_names_are_cited(ecsuite, printed, succeeded):
    assert "% thing_qt, cbm\n@misc{carmeli2024," in printed("cite", "thing_qt", "quantized", "cbm")
    out = succeeded("cite")
    assert out.count("@") == 1 and f"version = {{{package.__version__}}}" in out
    code, out, err = ecsuite("cite", "disc_tiny")
    assert code == 0 and err == "disc_tiny: no published work is listed for it\n"
