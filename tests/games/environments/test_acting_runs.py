"""Runs of agents that act go where other runs go: verified, tabled, reported, in sweeps; and not into societies."""

import json

import pytest

SMALL = {
    "play.environment": "guided_grid,size=2,num_steps=2", "play.agents.hidden_size": 4, "training.num_examples": 16,
    "training.num_epochs": 1, "training.batch_size": 8, "evaluation.num_valid": 8, "evaluation.corpus_size": 8,
    "channel.length": "variable", "play.length_cost": 0.1,
}  # fmt: skip


@pytest.mark.slow
def test_a_sweep_has_the_reward_of_each_setting(ecsuite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = {"base": "guided_grid", "set": SMALL, "vary": {"play.is_severed": [False, True]}, "seeds": [1]}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    code, out, _ = ecsuite("sweep", "study.yaml", "--out", "sweep")
    assert code == 0 and "reward" in out and "accuracy" not in out
