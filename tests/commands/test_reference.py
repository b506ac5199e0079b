"""`ecsuite score reference` and `ecsuite score` with XferBench: the plan, and what is kept."""


def test_what_is_refused_or_planned_leaves_no_folder(ecsuite, tmp_path):
    code, _, err = ecsuite("score", "reference", "human", "--out", "new/a.json")
    assert code == 2 and err.startswith("human needs a text")
    assert ecsuite("score", "reference", "no_pretrain,preset=nano", "--plan", "--out", "new/a.json")[0] == 0
    assert not (tmp_path / "new").exists()
