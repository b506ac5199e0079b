"""What is said before a study runs, and which runs are expected to fail."""

from ecsuite.eval.icy import benchmark
from ecsuite.eval.icy.benchmark import Icy, expected_seconds
from ecsuite.eval.icy.jobs import is_expected_to_fail, plan
from ecsuite.eval.icy.study import load_study, resolve
from ecsuite.jobs.graph import Runner


def study(device="cpu", **settings):
    config = load_study(None, {"models": ("husendz:dgsend",), "seeds": (1, 2), **settings})
    return resolve(config, device=device)


def expected_to_fail(chosen):
    return {job.inputs["grammar"] for job in plan(chosen).values() if is_expected_to_fail(**job.inputs)}


def test_runs_that_the_paper_s_models_do_not_learn_are_expected_to_fail():
    assert expected_to_fail(study()) == {"hol"}
    assert expected_to_fail(study(models=("fc2l",))) == {"rot", "hol"}  # Table 15
    assert expected_to_fail(study(models=("gru,hidden=64",), grammars=("perm", "hol"))) == {"hol"}
    assert expected_to_fail(study(protocol="budget")) == set(), (
        "it trains as long as CONCAT, whatever comes of it"
    )


def test_the_time_is_that_of_the_updates(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "seconds_of_update", lambda chosen, model: 0.1)
    other = {"models": ("gru,hidden=64",), "grammars": ("perm", "hol")}
    chosen = study(**other)
    jobs = list(plan(chosen).values())
    whole = 2 * 350 * (1 + 1.5 + 20) * 0.1
    assert expected_seconds(chosen, jobs, 1) == whole
    assert expected_seconds(chosen, jobs, 2) == whole / 2
    assert expected_seconds(chosen, jobs, 9) == 350 * (1 + 20) * 0.1, "no run can be divided"
    there = study("cuda", **other)
    assert expected_seconds(there, list(plan(there).values()), 1) == 350 * (1 + 20) * 0.1, "side by side"
    lines = Icy().announce(chosen, Runner(folder=tmp_path, num_workers=2))
    assert lines[0] == (
        "1 model x 3 grammars x 2 seeds: 6 runs, all to train, about 13 min with 2 processes; "
        f"each is saved in {tmp_path} when it ends"
    )
    assert lines[1].startswith(
        "HOL: expected not to be learnt; such a run ends at 20 times the updates of CONCAT"
    )


def test_a_model_of_the_paper_is_expected_to_take_what_it_took_there(monkeypatch):
    monkeypatch.setattr(benchmark, "seconds_of_update", lambda chosen, model: 0.1)
    chosen = study(models=("fc2l",), grammars=("perm", "rot"), seeds=(1,))
    jobs = list(plan(chosen).values())
    assert expected_seconds(chosen, jobs, 1) == 350 * (1 + 1 + 20) * 0.1, (
        "Table 12, where others take 1.5 and 7"
    )
