"""The keys of `--json`, of `log.jsonl` and of `metadata.json`, and the names of scores: programs of users read them.

`contracts/json_keys.json` lists them. None may go and none may change its name.
After one was added, `EXTEND_JSON_KEYS=1 pytest -n 0 tests/test_json_keys.py` adds it to the listing.
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ecsuite.eval.xtreme import study
from test_tables_of_commands import FAST, NANO_CPU, SIZES, SLOW, in_folder  # noqa: F401

LISTING = Path(__file__).parent / "contracts" / "json_keys.json"


SETTINGS = ("config", "rows[].config")
"""An experiment's settings, as in `config.yaml`: their form has a format number of its own."""


def key_paths(value, path=""):
    """Every key in a JSON value with the keys that lead to it, such as `scores[].details.null_mean`."""
    found = set()
    if isinstance(value, dict):
        for key, item in value.items():
            own = f"{path}.{key}" if path else key
            found |= {own} if own in SETTINGS else {own} | key_paths(item, own)
    elif isinstance(value, list):
        for item in value:
            found |= key_paths(item, f"{path}[]")
    return found


def require_listed(name, value):
    """The keys of a JSON value are those that the listing has under this name."""
    listing = json.loads(LISTING.read_text())
    known, found = set(listing.get(name, [])), key_paths(value)
    gone, new = sorted(known - found), sorted(found - known)
    assert not gone, f"{name}: keys went that programs of users may read; bring them back: {gone}"
    if os.environ.get("EXTEND_JSON_KEYS"):
        listing = dict(sorted((listing | {name: sorted(found)}).items()))
        LISTING.write_text(json.dumps(listing, indent=1, ensure_ascii=False) + "\n")
        return
    assert not new, f"{name}: {LISTING.name} lacks new keys; add them as the top of this file says: {new}"


SHARED = "compare|correlate|xtreme --baselines|xtreme evaluate|baseline|translate|cbm"
ICY = ("icy, exact", "icy, budget", "icy, end-to-end", "icy, metrics")
COMMANDS = {name: (FAST | SLOW)[name] for name in [*SHARED.split("|"), *ICY]} | {
    "grammar": f"grammar perm {SIZES}", "grammar, examples": "grammar --examples",
    "icy, paper": SLOW["icy, exact"].replace("exact", "paper"),
}  # fmt: skip
"""By the name in the listing, a command that needs nothing but the small files."""


@pytest.mark.sample(8)
@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS)
def test_command(as_json, name, command):
    require_listed(name, as_json(*command.split()))


def test_train_game_and_list(as_json):
    require_listed("list", dict.fromkeys(as_json("list")))
    require_listed("train-game", as_json("train-game", "game.yaml", "--device", "cpu", "--out", "run"))
    for line in Path("run/log.jsonl").read_text().splitlines():
        require_listed("log.jsonl", json.loads(line))
    require_listed("metadata.json", json.loads(Path("run/metadata.json").read_text()))


def test_train_game_that_diverges(ecsuite):
    settings = ("--set", "training.evaluate_every=1", "--set", "optimizer.lr=3e18")
    code, told, _ = ecsuite("train-game", "game.yaml", *settings, "--device", "cpu", "--out", "run", "--json")
    assert code == 1
    require_listed("train-game, diverged", json.loads(told))
    log = Path("run/log.jsonl").read_text().splitlines()
    require_listed("log.jsonl, diverged", json.loads(log[-1]))
    metadata = json.loads(Path("run/metadata.json").read_text())
    assert metadata.pop("config")["optimizer"]["lr"] == 3e18
    require_listed("metadata.json, diverged", metadata)


def test_score_with_every_metric(as_json):
    found = as_json("score", "finished", "--metrics", "+xferbench,preset=nano", "--device", "cpu", "--workers", "1")
    scores = found.pop("scores")
    require_listed("score", found)
    names = [score["name"] for score in scores]
    assert len(set(names)) == len(names)
    require_listed("score, scores by name", {score["name"]: score for score in scores})


def test_xferbench(as_json):
    study = {"preset": "nano", "seeds": 1, "sources": [
        {"name": name, "baseline": baseline} for name, baseline in
        (("Paren, synth", "paren_synth"), ("Random", "random"), ("No pretrain", "no_pretrain"))
    ]}  # fmt: skip
    Path("sources.yaml").write_text(json.dumps(study))
    require_listed("xferbench", as_json("xferbench", "sources.yaml", "--workers", "1", "--device", "cpu"))


def test_reproduce(as_json):
    require_listed("reproduce, the list", as_json("reproduce"))
    effect = {
        "kind": "effect", "statistic": {"measure": "ratio"}, "arm": {"grammar": "rot"},
        "baseline": {"grammar": "perm"}, "published": 1, "published_from": "nowhere",
    }  # fmt: skip
    sizes = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16}
    claim = {
        "about": "", "source": {"work": "perkins2021", "place": "", "read": "memory"}, "claim": "", "published": {},
        "ours": {}, "differences": [{"size": ""}], "effect": "", "seeds": [1, 2], "pilots": {"seeds": [], "runs": 0},
        "study": {"icy": {"models": ["fc1l"], "grammars": ["perm", "rot"], **sizes}},
        "success": {"measure": "accuracy", "at_least": 0.8, "about": ""},
        "criterion": effect, "descriptive": [{**effect, "about": "x"}], "small": {"seeds": [3]},
    }  # fmt: skip
    Path("claim.yaml").write_text(json.dumps(claim))
    found = as_json("reproduce", "claim.yaml", "--workers", "1")
    assert found.pop("settings")["study"] == claim["study"]
    require_listed("reproduce", found)


def test_compare_of_another_metric(as_json):
    as_json("grammar", "rot", *"--num-attributes 2 --num-values 3 --word-length 2 --out rot".split())
    for name in ("rot", "perm"):
        as_json("score", name, "--metrics", "cbm", "--out", f"cbm_{name}.json")
    require_listed("compare --metric", as_json("compare", "cbm_rot.json", "cbm_perm.json", "--metric", "cbm"))


def test_xtreme(as_json, monkeypatch, tiny_preset):
    monkeypatch.setitem(study.PRESETS, "nano", tiny_preset)
    line = f"xtreme finished --tasks udpos --data inputs/tasks {NANO_CPU} --languages de"
    require_listed("xtreme", as_json(*line.split()))


@pytest.mark.parametrize(
    "what", ["wikipedia --languages da --articles 2", "wmt14 --pairs 2"], ids=["wikipedia", "wmt14"]
)
def test_data(succeeded, monkeypatch, what):
    rows = [{"text": "abcde", "translation": {"en": "one", "fr": "un"}}] * 2
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=lambda *_, **__: rows))
    out = "pairs.gz" if what.startswith("wmt14") else "texts"
    require_listed(f"data {what.split()[0]}", json.loads(succeeded("data", *what.split(), "--out", out, "--json")))


def test_correlate_of_a_collection(as_json):
    corpora = [
        {
            "corpus": {"num_messages": 10 + row},
            "scores": [{"name": "topsim", "value": row % 5, "signature": "topsim|v:2"},
                       {"name": "has", "value": row % 4, "signature": "has|v:1"}],
            "member": {"name": f"{row} {seed}", "system": None, "game": "a", "seed": seed, "settings": str(row)},
        }
        for row in range(8)
        for seed in (1, 2)
    ]  # fmt: skip
    Path("collection.json").write_text(json.dumps({"format": 1, "corpora": corpora}))
    require_listed("correlate of a collection", as_json("compare", "correlations", "collection.json"))


def test_score_of_a_collection(as_json):
    for row in range(7):
        Path(f"system/data/{row}").mkdir(parents=True)
        Path(f"system/data/{row}/corpus.jsonl").write_text(f"[{row}, 1]\n[2, {row}]\n")
    paths = [f"system/data/{row}/corpus.jsonl" for row in range(7)]
    found = as_json("score", *paths, "--metrics", "has", "--on", "here")
    [score, *_] = found["corpora"][0].pop("scores")
    assert score["name"] == "has"
    for each in found["corpora"][1:]:
        each.pop("scores")
    require_listed("score of a collection", found)
