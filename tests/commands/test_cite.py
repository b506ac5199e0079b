"""`ecsuite cite`: BibTeX of what was used; and CITATION.cff."""

import json
import re
from pathlib import Path

import pytest
import yaml

import ecsuite as package
from ecsuite.commands.named import KINDS
from ecsuite.eval.metrics import METRIC_OF
from ecsuite.eval.reports.citations import ECSUITE
from ecsuite.parts.config import packaged_yaml

TABLE = packaged_yaml("ecsuite.eval.reports", "citations.yaml")
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "year", "eprint", "archivePrefix"},
    "book": {"author", "title", "publisher", "year"},
}


@pytest.mark.parametrize("key", TABLE["works"])
def test_a_work_has_the_fields_of_its_type(key):
    work = TABLE["works"][key]
    assert set(work) >= NEEDED[work["type"]]
    assert str(work["year"]) in key
    for value in work.values():
        assert str(value).count("{") == str(value).count("}")


def test_every_work_is_used_and_every_name_is_known():
    used = {key for names in TABLE["rests_on"].values() for keys in names.values() for key in keys}
    assert used == set(TABLE["works"])
    for kind in ("games", "worlds", "tasks", "channels", "grammars"):
        assert TABLE["rests_on"][kind].keys() <= KINDS[kind].names().keys()
    metrics = TABLE["rests_on"]["metrics"].keys() - {"chrf", "bleu", "elcc"}
    assert metrics <= METRIC_OF.keys() | KINDS["metrics"].names().keys()


def test_a_run_is_cited_with_its_game_parts_and_scores(ecsuite, tmp_path):
    run = tmp_path / "runs" / "mine"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text(
        "name: disc_small\nchannel: {kind: gumbel}\nsender: {kind: ./evil.py:X}\n"
    )
    (run / "scores.json").write_text(json.dumps({"scores": [{"name": "topsim"}, {"name": "my_own"}]}))
    code, out, err = ecsuite("cite", "runs/mine")
    assert (code, err) == (0, "")
    assert re.findall(r"@\w+{(\w+),", out) == [
        "ecsuite", "boldt2024xferbench", "brighton2006", "jang2017", "kharitonov2019", "lazaridou2018", "maddison2017",
    ]  # fmt: skip
    assert "% topsim\n@article{brighton2006,\n  author = {Henry Brighton and Simon Kirby},\n" in out
    (run / "config.yaml").unlink()
    (run / "metadata.json").write_text(json.dumps({"grammar": "rot+shufdet,decides=first"}))
    assert "% rot, shufdet\n@misc{perkins2021," in ecsuite("cite", "runs/mine")[1]


def test_names_are_cited(ecsuite):
    code, out, err = ecsuite("cite", "thing_qt", "quantized", "cbm")
    assert (code, err) == (0, "") and "% thing_qt, cbm\n@misc{carmeli2024," in out
    code, out, err = ecsuite("cite")
    assert code == 0 and out.count("@") == 1 and f"version = {{{package.__version__}}}" in out
    code, out, err = ecsuite("cite", "disc_tiny")
    assert code == 0 and err == "disc_tiny: rests on no published work that is known here\n"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("topsin", "unknown game, part, metric or run 'topsin'; did you mean 'topsim'?"),
        ("runs/none", "runs/none: expected a run folder, with a config.yaml or a metadata.json"),
    ],
)
def test_what_is_unknown_is_refused(ecsuite, what, message):
    code, out, err = ecsuite("cite", what)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(message)


def test_the_citation_file_has_what_its_format_requires():
    """Citation File Format 1.2.0: cff-version, message, title and authors are required."""
    found = yaml.safe_load((Path(package.__file__).parent / "CITATION.cff").read_text())
    assert found["cff-version"] == "1.2.0" and found["type"] == "software" and found["message"]
    assert found["authors"] == [{"name": ECSUITE["author"].strip("{}")}]
    assert found["version"] == ECSUITE["version"] == package.__version__
    assert found["title"] == ECSUITE["title"].replace("{ecsuite}", "ecsuite")
