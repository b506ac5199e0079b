"""What a run claims is computed again: what agrees, what differs and why, what can't be told."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import ecsuite as ec
from ecsuite.files.checksums import sealed
from ecsuite.language_models.backend import Drawn
from ecsuite.runtime.devices import versions
from ecsuite.runtime.errors import ConfigError

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


def of_cbm(**values):
    """A change of a score: file and edit."""

    def edit(data):
        next(score for score in data["scores"] if score["name"] == "cbm").update(values)

    return "finished/scores.json", edit


def of_training(**values):
    return "finished/metadata.json", lambda data: data["training"].update(values)


def only_kept(data):
    data["scores"] = [score for score in data["scores"] if score["name"] in KEPT]


def verified(ecsuite, *arguments):
    """The exit code, and the rows by their names that are not identical."""
    code, out, err = ecsuite("verify", *arguments, "--json")
    assert err == ""
    [source] = json.loads(out)["sources"]
    return code, {row["name"]: row for row in source["rows"] if row["verdict"] != "identical"}


def test_a_fresh_run_agrees_to_the_last_bit(ecsuite, run):
    code, out, err = ecsuite("verify", "finished")
    assert (code, err) == (0, "")
    assert "identical     accuracy " in out and "identical     reproduced messages" in out
    assert out.endswith("finished: 21 identical, 1 not verified\n")
    assert "not verified  xferbench" in out and "which takes long; add --all to compute it" in out
    found = ec.verify("finished", note=lambda _: None)
    assert found.agrees and {row.verdict for row in found.rows} == {"identical", "not verified"}
    assert list(found.to_frame()["name"])[:2] == ["config.yaml", "metadata.json"]
    with pytest.raises(ConfigError, match="source: expected a run or a path"):
        ec.verify(None)


OLD, FEWER = "cbm|count:tokens|eos:strip|n:16|v:1", "cbm|count:tokens|eos:strip|n:9|v:3"


@pytest.mark.parametrize(
    ("edited", "name", "verdict", "reason"),
    [
        (of_cbm(value=0.5), "cbm", "differs", ""),
        (of_cbm(ci95=[0.2, 0.9]), "cbm", "differs", "ci95"),
        (of_cbm(conclusion="below chance"), "cbm", "differs", "conclusion: different from the claim"),
        (of_cbm(p_holm=0.9), "cbm", "differs", "p_holm: different from the claim"),
        (of_cbm(p_holm=None), "cbm", "differs", "p_holm: different from the claim"),
        (of_cbm(adjusted=0.9), "cbm", "differs", "adjusted: different from the claim"),
        (of_cbm(value=0.25, signature=OLD), "cbm", "agrees", "metric version 1 claimed, 3 here"),
        (of_cbm(value=0.26, signature=OLD), "cbm", "differs", "metric version 1 claimed, 3 here"),
        (of_cbm(signature=FEWER), "cbm", "differs", "different signature: n 9 claimed, 16 here"),
        (of_training(accuracy=0.99), "accuracy", "differs", "same machine, versions, threads and precision"),
        (of_training(stopped="accuracy"), "end of the training", "differs", "stopped 'accuracy' claimed, 'epochs' "),
        (of_training(num_steps=32), "end of the training", "differs", "num_steps 32 claimed, 16 here"),
        (of_training(epoch=3.0), "end of the training", "differs", "epoch 3 claimed, 2 here"),
    ],
)  # fmt: skip
def test_each_change_of_a_claim_is_noticed(ecsuite, run, edited, name, verdict, reason):
    change(*edited)
    code, rows = verified(ecsuite, "finished")
    assert code == (verdict == "differs") and rows.keys() - {"sizes"} == {name, "xferbench"}
    assert rows[name]["verdict"] == verdict and rows[name]["reason"].startswith(reason)


def test_sizes_of_a_file_of_scores_are_those_of_its_corpus(ecsuite, small_files):
    change("score.json", only_kept)
    assert verified(ecsuite, "score.json")[0] == 0
    change("score.json", lambda data: data["corpus"].update(num_messages=17, max_length=9))
    code, rows = verified(ecsuite, "score.json")
    assert code == 1 and rows["sizes"]["verdict"] == "differs"
    assert rows["sizes"]["reason"] == "num_messages 17 claimed, 16 here; max_length 9 claimed, 3 here"


def test_code_of_others_is_run_only_if_it_is_trusted(ecsuite, run, tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('run')")
    text = (run / "config.yaml").read_text().rpartition("# sha256")[0]
    (run / "config.yaml").write_text(text.replace("kind: gumbel", "kind: ./mine.py:Mine"))
    code, out, err = ecsuite("verify", "finished")
    assert (code, out) == (2, "") and err.endswith("add --trust-code if you trust it\n")


def test_what_metadata_and_scores_say_twice_is_compared(ecsuite, run):
    change("finished/metadata.json", lambda data: data["config"]["channel"].update(max_len=9))
    change("finished/metadata.json", lambda data: data["concept_names"].reverse())
    change("finished/scores.json", lambda data: data["corpus"].update(num_messages=17))
    change("finished/scores.json", lambda data: data["corpus"]["sha256"].update({"corpus.jsonl": "0"}))
    code, rows = verified(ecsuite, "finished")
    others = {"settings", "reproduced messages", "scores.json", "sizes", "cbm", "xferbench"}
    assert code == 1 and rows.keys() == others
    assert rows["settings"]["reason"] == "channel.max_len 9 claimed, 3 here"
    assert rows["reproduced messages"]["reason"].startswith("their names differ")
    assert rows["scores.json"]["reason"] == "the corpus has changed since it was scored"
    assert rows["sizes"]["reason"] == "num_messages 17 claimed, 16 here"


def test_another_machine_has_a_bound(ecsuite, run):
    def edit(data):
        data["versions"]["torch"] = "2.1"
        data["training"]["loss"] *= 1.0005
        data["training"]["length"] *= 1.01

    change("finished/metadata.json", edit)
    code, rows = verified(ecsuite, "finished")
    assert (code, rows["loss"]["verdict"], rows["loss"]["reason"]) == (1, "agrees", "different torch")
    assert rows["length"]["verdict"] == "differs"
    assert "platform of the training: torch: 2.1 in the run," in ecsuite("verify", "finished")[1]


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
    assert code == 1 and rows["accuracy"]["reason"] == f"the agents can't be restored: {file.name} is missing"


def test_scores_of_a_damaged_corpus_are_not_computed(ecsuite, run):
    with (run / "corpus.jsonl").open("a") as file:
        file.write("[1, 0]\n")
    code, rows = verified(ecsuite, "finished")
    assert code == 3 and rows["corpus.jsonl"]["verdict"] == "damaged"
    assert (rows["cbm"]["verdict"], rows["cbm"]["reason"]) == ("unverifiable", "corpus.jsonl is damaged")
    assert "accuracy" not in rows


@pytest.fixture
def sweep(run, tmp_path):
    """A sweep of two runs and one that failed; the first is `finished`, the second a copy of it."""
    folder = tmp_path / "study"
    for seed in (1, 2):
        shutil.copytree("finished", folder / "runs" / f"game-{seed}")
    metadata = json.loads((run / "metadata.json").read_bytes())
    measures = {name: metadata["training"][name] for name in ("loss", "accuracy")}
    rows = [
        {
            "settings": {"channel.max_len": 3}, "seed": seed, "folder": f"elsewhere/game-{number}", "failure": failure,
            "training": {} if failure else {"stopped": "epochs", "measures": measures, "extra_evaluations": {}},
            "scores": [],
        }
        for number, seed, failure in ((1, 1, None), (2, 1, None), (3, 3, "the loss is not finite at step 3"))
    ]  # fmt: skip
    data = {"format": 1, "name": "study", "metrics": [], "runs": rows}
    (folder / "sweep.json").write_text(json.dumps(sealed(data)))
    return folder


def test_what_a_sweep_says_of_a_run_is_compared(ecsuite, sweep):
    """Settings, seed and end; of a score also what stands beside the value."""
    training = {"stopped": "minutes", "step": 16, "num_steps": 99, "chance": {"accuracy": 0.5}}
    kept = json.loads((sweep / "runs" / "game-2" / "scores.json").read_text())

    def edit(data):
        data["runs"][0]["settings"]["channel.max_len"] = 4
        data["runs"][0]["training"] |= training
        [cbm] = [score for score in kept["scores"] if score["name"] == "cbm"]
        data["runs"][1]["scores"] = [cbm | {"details": {"num_words": -1}}]
        data["runs"][1]["training"]["measures"].update(accuracy=0.99)

    change("study/sweep.json", edit)
    code, out, _ = ecsuite("verify", "study", "--json")
    _, first, second, _ = json.loads(out)["sources"]
    rows = [row for source in (first, second) for row in source["rows"] if row["verdict"] == "differs"]
    assert code == 1 and {row["reason"] for row in rows} == {
        "channel.max_len 4 claimed, 3 here; stopped 'minutes' claimed, 'epochs' here; "
        "num_steps 99 claimed, 16 here; chance level of accuracy 0.5 claimed, 0.25 here",
        "details.num_words: different from the claim",
        "same machine, versions, threads and precision",
    }


def test_a_failure_of_a_whole_run_is_no_failure_of_its_training(ecsuite, sweep):
    def edit(data):
        data["metrics"] = ["cbm"]
        for run, failure in zip(data["runs"], ("the loss is nan", "cbm: no memory"), strict=False):
            run.update(failure=failure, training={})

    change("study/sweep.json", edit)
    code, out, err = ecsuite("verify", "study", "--json")
    rows = [[row["reason"] for row in source["rows"]] for source in json.loads(out)["sources"][1:]]
    assert (code, err) == (1, "") and rows == [["stopped 'failed' claimed, 'epochs' here"], [], []]


def test_a_damaged_or_removed_run_of_a_sweep_does_not_hide_the_others(ecsuite, sweep):
    file = sweep / "runs" / "game-2" / "scores.json"
    file.write_text(file.read_text().replace("0.25", "0.75"))
    found = json.loads(ecsuite("verify", "study", "--json")[1])
    by_name = {source["name"]: source["counts"] for source in found["sources"]}
    assert by_name["game-1"]["identical"] == 21 and by_name["game-2"]["damaged"] == 1
    assert ecsuite("verify", "study")[0] == 3
    shutil.rmtree(sweep / "runs" / "game-2")
    code, out, err = ecsuite("verify", "study", "--json")
    assert (code, err) == (1, "")
    _, kept, removed, failed = json.loads(out)["sources"]
    assert kept["counts"]["identical"] == 22 and failed["failure"]
    assert {(row["name"], row["verdict"], row["reason"]) for row in removed["rows"]} == {
        (name, "unverifiable", "its folder elsewhere/game-2 is missing") for name in ("loss", "accuracy")
    }
    assert ecsuite("verify", "study", "--plan")[0] == 0


def test_a_removed_corpus_of_a_collection_does_not_hide_the_others(ecsuite, small_files, tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text("[1, 2]\n[2]\n[1, 1]\n")
    assert ecsuite("score", "a.jsonl", "b.jsonl", "--metrics", "has", "--out", "both.json")[0] == 0
    Path("b.jsonl").unlink()
    code, out, err = ecsuite("verify", "both.json", "--json")
    assert (code, err) == (1, "")
    first, second = json.loads(out)["sources"]
    assert first["counts"]["identical"] == 2 and second["counts"] == {"unverifiable": 1}  # its size, too
    assert second["rows"][0]["reason"] == "its corpus b.jsonl is missing"


def test_seeds_of_chance_levels_and_files_of_own_metrics(ecsuite, run, tmp_path):
    assert ecsuite("score", "finished", "--metrics", "cbm", "--seed", "5")[0] == 0
    assert verified(ecsuite, "finished")[0] == 0
    (tmp_path / "mine.py").write_text("def mine(corpus):\n    return float(len(corpus.messages))\n")
    assert ecsuite("score", "finished", "--metrics", "./mine.py:mine")[0] == 0
    code, rows = verified(ecsuite, "finished")
    assert code == 1 and rows["mine"]["reason"].endswith("--metrics ./mine.py:my_metric")
    code, rows = verified(ecsuite, "finished", "--metrics", "./mine.py:mine")
    assert code == 0 and "mine" not in rows


def test_probabilities_of_first_names_come_from_the_answers_of_the_run(ecsuite, tmp_path, monkeypatch):
    """They are measured at the end of a play, where answers and rounds are those of all steps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Drawn, "has_probabilities", True)
    drawn = Drawn.reply

    def reply(self, request):
        shares = {name: 1 / 2**n for n, name in enumerate(request.allowed.choices, 1)}
        return replace(drawn(self, request), choice_probabilities=shares)

    monkeypatch.setattr(Drawn, "reply", reply)
    settings = {"play.agents": 4, "play.participant": "language_model", "training.num_examples": 12}
    settings |= {"training.batch_size": 4, "training.evaluate_every": 1, "play.names": ["a", "b", "c"]}
    run = ec.train("naming", overrides=settings, out="played", note=lambda _: None)
    log = [json.loads(line)["valid"] for line in Path("played/log.jsonl").read_text().splitlines()]
    assert ["first_name_probability" in each for each in log] == [False, False, True]
    assert run.measures["first_name_probability"] == 0.5
    assert verified(ecsuite, "played") == (0, {})
