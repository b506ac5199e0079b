"""`ecsuite cite`: BibTeX of what was used; and CITATION.cff."""

import json
import re
from pathlib import Path

import pytest
import yaml

import ecsuite as package
from ecsuite.commands.named import KINDS, registered_names
from ecsuite.eval.experiments.claims.claim import load_claim, shipped_claims
from ecsuite.eval.metrics import METRIC_OF
from ecsuite.eval.views.citations import ECSUITE, author_year_of, author_years
from ecsuite.parts.config import packaged_yaml

TABLE = packaged_yaml("ecsuite.eval.views", "citations.yaml")
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "year", "eprint", "archivePrefix"},
    "book": {"author", "title", "publisher", "year"},
    "techreport": {"author", "title", "institution", "year"},
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
    used |= {load_claim(name).source.work for name in shipped_claims()}
    assert used == set(TABLE["works"])
    for kind in set(TABLE["rests_on"]) - {"cells", "agents", "metrics", "commands", "data"}:
        names = {name.removeprefix("paper/") for name in KINDS[kind].names()}
        assert TABLE["rests_on"][kind].keys() <= names
    metrics = TABLE["rests_on"]["metrics"].keys() - {"chrf", "bleu", "elcc"}
    assert metrics <= METRIC_OF.keys() | KINDS["metrics"].names().keys()


CITED = re.compile(r"(\w+(?: et al\.| & \w+)?) \(?((?:19|20)\d\d)\b")


def test_every_work_that_a_line_of_list_names_is_cited():
    named = [
        (name.removeprefix("paper/"), f"{authors} {year}")
        for names in registered_names().values()
        for name, line in names.items()
        for authors, year in CITED.findall(line)
        if authors not in ("September", "December", "of")
    ]
    assert len(named) > 50
    claims = {name: [author_year_of(load_claim(name).source.work)] for name in shipped_claims()}
    assert [each for each in named if each[1] not in claims.get(each[0], author_years(each[0]))] == []


@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("guess_number", ["Kharitonov et al. 2020"]),
        ("disc_small", ["Boldt & Mortensen 2024", "Kharitonov et al. 2019"]),
        ("objects_game", ["Dessì et al. 2019"]),
        ("conflict_count", ["Kuciński et al. 2021"]),
        ("zipf_noise", ["Boldt & Mortensen 2024"]),
        ("rsa_sender", ["Bouchacourt & Baroni 2018"]),
        ("disc_tiny", []),
    ],
)
def test_authors_are_written_as_in_texts(name, works):
    assert author_years(name) == works


def test_a_study_is_cited_with_its_games_and_metrics(ecsuite):
    for name in ("paper/zoo_objects_game", "zoo_objects_game"):
        code, out, err = ecsuite("cite", name)
        assert (code, err) == (0, "")
        assert "% topsim\n@article{brighton2006," in out
        assert "% zoo_objects_game, objects_game\n@misc{dessi2019," in out
    code, out, err = ecsuite("cite", "cbm_table1")
    assert (code, err) == (0, "") and "% cbm_table1, shape_gs, shape_qt," in out
    assert "% elcc\n@misc{boldt2024elcc," in ecsuite("cite", "elcc")[1]  # the metric, and no study
    assert "ueda2023" in ecsuite("cite", "paper/elcc")[1]
    code, out, err = ecsuite("cite", "paper/zoo_digit")
    assert (code, out) == (2, "") and "unknown study 'zoo_digit'; did you mean 'zoo_digits'?" in err


def test_all_that_is_listed_can_be_cited(ecsuite):
    names = [name for names in registered_names().values() for name in names]
    code, _, err = ecsuite("cite", *names)
    assert code == 0 and all("no published work is listed for it" in line for line in err.splitlines())


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


def test_a_sweep_is_cited_with_what_its_runs_and_scores_rest_on(ecsuite, tmp_path):
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
        code, out, err = ecsuite("cite", what)
        assert (code, err) == (0, "") and "% topsim\n@article{brighton2006," in out
        assert {"jang2017", "williams1992", "kharitonov2019"} <= {*re.findall(r"@\w+{(\w+),", out)}, out
    assert "% topsim\n@article{brighton2006," in ecsuite("cite", "scores.json")[1]
    code, out, err = ecsuite("cite", "icy.json")
    assert (code, err) == (0, "") and "hochreiter1997" in out


def test_names_are_cited(ecsuite):
    code, out, err = ecsuite("cite", "thing_qt", "quantized", "cbm")
    assert (code, err) == (0, "") and "% thing_qt, cbm\n@misc{carmeli2024," in out
    code, out, err = ecsuite("cite")
    assert code == 0 and out.count("@") == 1 and f"version = {{{package.__version__}}}" in out
    code, out, err = ecsuite("cite", "disc_tiny")
    assert code == 0 and err == "disc_tiny: no published work is listed for it\n"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("topsin", "unknown game, study, part, metric or run 'topsin'; did you mean 'topsim'?"),
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
