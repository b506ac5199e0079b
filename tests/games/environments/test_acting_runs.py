"""Runs of agents that act go where other runs go: verified, tabled, reported, in sweeps; and not into societies."""

import json

import pytest

SMALL = {
    "play.environment": "guided_grid,size=2,num_steps=2", "play.agents.hidden_size": 4, "training.num_examples": 16,
    "training.num_epochs": 1, "training.batch_size": 8, "evaluation.num_valid": 8, "evaluation.corpus_size": 8,
    "channel.length": "variable", "play.length_cost": 0.1,
}  # fmt: skip
SETTINGS = [piece for key, value in SMALL.items() for piece in ("--set", f"{key}={value}")]


@pytest.fixture
def run(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ecsuite("train-game", "guided_grid", "--out", "run", "-q", *SETTINGS)[0] == 0
    return tmp_path / "run"


def test_rewards_and_costs_are_verified_and_tabled(ecsuite, run):
    code, out, err = ecsuite("verify", "run", "--json")
    rows = {row["name"]: row["verdict"] for row in json.loads(out)["sources"][0]["rows"]}
    assert (code, err, set(rows.values())) == (0, "", {"identical"}) and {"reward", "cost", "steps"} <= set(
        rows
    )
    metadata = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
    assert metadata["valid"].keys() == {"reward", "steps", "cost"}
    code, out, err = ecsuite("compare", "table", "run", "--metrics", "reward,cost")
    assert (code, err) == (0, "") and "reward" in out and "cost" in out
    code, out, err = ecsuite("report", "run", "--out", "page.html")
    assert code == 0 and "reward" in (run.parent / "page.html").read_text()


@pytest.mark.slow
def test_a_sweep_has_the_reward_of_each_setting(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = {"base": "guided_grid", "set": SMALL, "vary": {"play.is_severed": [False, True]}, "seeds": [1]}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    code, out, _ = ecsuite("sweep", "study.yaml", "--out", "sweep")
    assert code == 0 and "reward" in out and "accuracy" not in out


@pytest.mark.parametrize("setting", ["society.senders=2", "generations.every=2", "sender.kind=gru"])
def test_sections_of_speakers_and_listeners_are_refused(ecsuite, setting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = ecsuite("train-game", "guided_grid", "--out", "run", "--set", setting)
    assert (code, out) == (2, "") and not (tmp_path / "run").exists()
    assert err == f"--set: {setting.partition('.')[0]}: play acting does not read it\n"
