"""What a run claims is computed again: what agrees, what differs and why, what can't be told."""

import json

import pytest
import torch

from ecsuite.files.checksums import sealed
from ecsuite.games.run_folder import versions

pytestmark = pytest.mark.usefixtures("all_draws")  # as the kept scores were made

KEPT = ("Token Count", "cbm", "xferbench")


@pytest.fixture
def run(small_files, tmp_path, monkeypatch):
    """A run of this machine, as far as its metadata say, with three scores."""
    change("finished/scores.json", only_kept)
    change("finished/metadata.json", lambda data: data["versions"].update(versions(torch.device("cpu"))))
    return tmp_path / "finished"


def change(file, edit):
    """Change a JSON file as someone does who also writes its checksum."""
    with open(file) as opened:
        data = json.load(opened)
    edit(data)
    with open(file, "w") as opened:
        json.dump(sealed(data), opened)


def only_kept(data):
    data["scores"] = [score for score in data["scores"] if score["name"] in KEPT]


def change_score(name, **values):
    def edit(data):
        [score] = [score for score in data["scores"] if score["name"] == name]
        score.update(values)

    change("finished/scores.json", edit)


def verified(ecsuite, *arguments):
    """The exit code, and the rows by their names that are not identical."""
    code, out, err = ecsuite("verify", *arguments, "--json")
    assert err == ""
    [source] = json.loads(out)["sources"]
    return code, {row["name"]: row for row in source["rows"] if row["verdict"] != "identical"}


def test_a_fresh_run_agrees_to_the_last_bit(ecsuite, run):
    code, out, err = ecsuite("verify", "finished")
    assert (code, err) == (0, "")
    assert "identical     accuracy " in out and "identical     messages said again" in out
    assert out.endswith("finished: 18 identical, 1 not verified\n")
    assert "not verified  xferbench" in out and "trains models, which takes long: --all" in out


def test_a_changed_score_differs_by_how_much(ecsuite, run):
    change_score("cbm", value=0.5)
    code, rows = verified(ecsuite, "finished")
    assert code == 1 and rows.keys() == {"cbm", "xferbench"}
    assert (rows["cbm"]["verdict"], rows["cbm"]["difference"]) == ("differs", -0.25)


def test_a_changed_figure_of_the_agents_differs(ecsuite, run):
    change("finished/metadata.json", lambda data: data["training"].update(accuracy=0.99))
    code, rows = verified(ecsuite, "finished")
    assert code == 1 and rows["accuracy"]["verdict"] == "differs"
    assert rows["accuracy"]["reason"] == "same machine, versions, threads and precision"


def test_what_is_claimed_beside_a_value_is_compared(ecsuite, run):
    change_score("cbm", ci95=[0.2, 0.9])
    code, rows = verified(ecsuite, "finished")
    assert (code, rows["cbm"]["verdict"], rows["cbm"]["difference"]) == (1, "differs", 0.0)
    assert rows["cbm"]["reason"].startswith("ci95")


@pytest.mark.parametrize(
    ("signature", "value", "code", "verdict", "reason"),
    [
        ("cbm|count:tokens|eos:strip|n:16|v:1", 0.25, 0, "agrees", "metric version 1 there, 2 here"),
        ("cbm|count:tokens|eos:strip|n:16|v:1", 0.26, 1, "differs", "metric version 1 there, 2 here"),
        ("cbm|count:tokens|eos:strip|n:9|v:2", 0.25, 1, "differs", "other signature: n 9 there, 16 here"),
    ],
)
def test_another_signature_is_the_reason(ecsuite, run, signature, value, code, verdict, reason):
    change_score("cbm", value=value, signature=signature)
    found, rows = verified(ecsuite, "finished")
    assert (found, rows["cbm"]["verdict"], rows["cbm"]["reason"]) == (code, verdict, reason)


def test_another_machine_has_a_bound(ecsuite, run):
    def edit(data):
        data["versions"]["torch"] = "2.1"
        data["training"]["loss"] *= 1.0005
        data["training"]["length"] *= 1.01

    change("finished/metadata.json", edit)
    code, rows = verified(ecsuite, "finished")
    assert (code, rows["loss"]["verdict"], rows["loss"]["reason"]) == (1, "agrees", "other torch")
    assert rows["length"]["verdict"] == "differs"
    assert "Otherwise than where it was trained: torch: 2.1 there," in ecsuite("verify", "finished")[1]


def test_a_damaged_weight_is_no_claim_that_differs(ecsuite, run):
    [file] = run.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    code, rows = verified(ecsuite, "finished")
    assert code == 3 and rows[file.name]["verdict"] == "damaged"
    assert rows["accuracy"]["verdict"] == "unverifiable" and rows["accuracy"]["here"] is None
    file.unlink()
    code, rows = verified(ecsuite, "finished")
    assert code == 1 and rows["accuracy"]["reason"] == f"the agents can't be asked: {file.name} is not there"


def test_scores_of_a_damaged_corpus_are_not_computed(ecsuite, run):
    with (run / "corpus.jsonl").open("a") as file:
        file.write("[1, 0]\n")
    code, rows = verified(ecsuite, "finished")
    assert code == 3 and rows["corpus.jsonl"]["verdict"] == "damaged"
    assert (rows["cbm"]["verdict"], rows["cbm"]["reason"]) == ("unverifiable", "corpus.jsonl is damaged")
    assert "accuracy" not in rows


def test_a_file_of_scores_is_held_against_its_corpus(ecsuite, small_files, tmp_path):
    change("score.json", only_kept)
    code, rows = verified(ecsuite, "score.json")
    assert (code, [*rows]) == (0, ["xferbench"])
    (tmp_path / "finished").rename("moved")
    code, out, err = ecsuite("verify", "score.json")
    assert (code, out) == (2, "")
    assert err == "score.json: the corpus that it scores, finished/corpus.jsonl, is not there\n"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nothing", "nothing: no such run, corpus or file of scores\n"),
        ("inputs", "inputs: no run, corpus or scores in it: expected"),
    ],
)
def test_what_claims_nothing_is_refused(ecsuite, small_files, what, message):
    code, out, err = ecsuite("verify", what)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(message)


def test_a_corpus_alone_claims_its_sizes(ecsuite, small_files, tmp_path):
    (tmp_path / "perm" / "scores.json").unlink(missing_ok=True)
    code, out, err = ecsuite("verify", "perm")
    assert (code, err) == (0, "") and "num_symbols" in out
