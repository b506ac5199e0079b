"""`ecsuite score reference` and `ecsuite score` with XferBench: the plan, and what is kept."""

import json

import pytest

KINDS = ["artificial-1, seed 4", "artificial-2, seed 4", "pretraining, seed 4", "tokens of artificial-1"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "command",
    [
        ("score", "reference", "no_pretrain,preset=nano"),
        ("score", "corpus.jsonl", "--metrics", "xferbench,preset=nano"),
    ],
)
def test_the_plan_is_what_runs(ecsuite, tmp_path, command):
    (tmp_path / "corpus.jsonl").write_text("".join(f"{[row % 5, row % 3, 7]}\n" for row in range(40)))
    line = (*command, "--seed", "4", "--workers", "1", "--device", "cpu", "--json")
    code, out, _ = ecsuite(*line, "--plan")
    jobs = json.loads(out)["jobs"]
    assert code == 0 and sorted(job["name"] for job in jobs)[:4] == KINDS and len(jobs) == 5
    assert not any(job["is_kept"] for job in jobs)
    assert sum(job["work"] for job in jobs) == pytest.approx(1)
    code, out, _ = ecsuite(*line)
    assert code == 0 and json.loads(out)["score"] > 0
    jobs = json.loads(ecsuite(*line, "--plan")[1])["jobs"]
    assert [job["is_kept"] for job in jobs] == [True] * 3  # tokens are read by the others only
    assert json.loads(ecsuite(*line)[1]) == json.loads(out)


def test_what_is_refused_or_planned_leaves_no_folder(ecsuite, tmp_path):
    code, _, err = ecsuite("score", "reference", "human", "--out", "new/a.json")
    assert code == 2 and err.startswith("human needs a text")
    assert ecsuite("score", "reference", "no_pretrain,preset=nano", "--plan", "--out", "new/a.json")[0] == 0
    assert not (tmp_path / "new").exists()
