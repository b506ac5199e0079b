"""Jobs of ICY on tiny languages: what they compute, what is kept, announced, diverges, and what senders say."""

import re
from dataclasses import replace

import pytest
import torch
from safetensors.numpy import load_file

from ecsuite.eval.icy import acquisition, benchmark
from ecsuite.eval.icy.benchmark import Icy, expected_seconds, write_corpora
from ecsuite.eval.icy.jobs import is_expected_to_fail, learn_grammar, measure_grammar, plan, plan_corpora, train_pair
from ecsuite.eval.icy.measures import VERSIONS
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.study import StudyConfig, load_study, resolve
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job

TINY = Geometry(num_attributes=2, num_values=3, word_length=2)
SIZES = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16}
PROTOCOL = Protocol(hidden_size=16, lr=0.01, target=0.9)


def run(model="fc2l", grammar="concat", seed=1, cap=400.0, basis=(), role="sender", **changes):
    inputs = {"geometry": TINY, "protocol": PROTOCOL, "channel": "soft", "device": "cpu"} | changes
    inputs |= {"model": model, "role": role, "grammar": grammar, "seed": seed, "cap": cap, "basis": list(basis)}
    return Job(learn_grammar, **inputs)


def pair(max_steps=20, protocol=PROTOCOL, **changes):
    runs = {f"pretrained_{role}": run(role=role, **changes) for role in ("sender", "receiver")}
    return Job(
        train_pair, sender="fc2l", receiver="fc2l", geometry=TINY, grammar="concat", seed=1, channel="soft",
        feeds_back_samples=False, protocol=protocol, max_steps=max_steps, device="cpu", **runs,
    )  # fmt: skip


def study(**settings):
    return resolve(StudyConfig(**{"models": ("fc1l",), **SIZES, "target": 0.5, **settings}))


@pytest.fixture
def runner(tmp_path):
    return Runner(folder=tmp_path)


PINNED = {
    "learn_grammar": (run(cap=30.0), [2, 1], {"steps": 23, "reached": True, "accuracy": 0.9077}),
    "train_pair": (pair(), [1, 1], {"sender": 1.0, "receiver": 1.0, "end_to_end": 1.0, "loss": 0.0263}),
    "measure_grammar": (
        Job(measure_grammar, grammar="rot", geometry=TINY, seed=1, metrics=("posdis", "hce")),
        [VERSIONS, 1],
        {"posdis": 0.5881, "hce": 0.5},
    ),
}
"""A job of each function, its version, and figures of its value."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PINNED)
def test_another_value_needs_another_version(runner, name):
    """If this fails because figures changed, raise the version of the function and write the new figures."""
    job, version, figures = PINNED[name]
    found = runner.run([job])[job].value
    values = {key: found[key]["value"] if name == "measure_grammar" else found[key] for key in figures}
    assert (job.function.version, values) == (version, pytest.approx(figures, abs=2e-3))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["fc2l", "husendz:dgsend"])
def test_results_do_not_depend_on_the_group(tmp_path, model):
    batch = [run(model, "concat", seed) for seed in (1, 2)] + [run(model, "hol", 3)]
    results = {}
    for name, groups in (("together", [batch]), ("alone", [[job] for job in batch])):
        runner = Runner(folder=tmp_path / name)
        for group in groups:
            results.setdefault(name, []).extend(runner.run(group, needs_arrays=True)[job] for job in group)
    for together, alone in zip(results["together"], results["alone"], strict=True):
        assert together.value == alone.value
        weights = [load_file(result.arrays) for result in (together, alone)]
        for weight_name, weight in weights[0].items():
            assert (weight == weights[1][weight_name]).all()


def test_the_cap_is_a_multiple_of_the_slowest_basis(runner):
    basis = [run(seed=1), run("gru", seed=1, role="receiver")]
    job = run(grammar="hol", cap=0.5, basis=basis, protocol=replace(PROTOCOL, target=None))
    results = runner.run([job, *basis])
    assert results[job].value["steps"] == int(0.5 * max(results[each].value["steps"] for each in basis))


def test_a_run_whose_basis_did_not_learn_is_not_trained(runner, monkeypatch):
    basis = run(cap=3.0)
    job = run(grammar="hol", cap=2.0, basis=[basis])
    assert not runner.run([basis])[basis].value["reached"]
    monkeypatch.setattr(acquisition, "learn", lambda *_, **__: pytest.fail("it was trained"))
    assert runner.run([job])[job].value == {"is_trained": False}


@pytest.fixture
def broken(monkeypatch):
    """Agents of seed 2 have weights that are not finite."""
    make_agent = acquisition.make_agent

    def make_broken(*arguments):
        agent = make_agent(*arguments)
        if torch.initial_seed() == 2:
            next(agent.parameters()).data.fill_(float("nan"))
        return agent

    monkeypatch.setattr(acquisition, "make_agent", make_broken)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["fc2l", "transformer"])
def test_a_run_that_diverges_fails_alone(runner, broken, model):
    batch = [run(model, seed=seed) for seed in (1, 2, 3)]
    results = runner.run(batch)
    assert [results[job].failure for job in batch] == [
        None,
        f"sender {model} on concat, seed 2: the loss is not finite after 0 updates",
        None,
    ]
    assert results[batch[2]].value == Runner().run([batch[2]])[batch[2]].value
    kept = runner.plan(batch)
    assert not kept.missing, "the failure is kept, too"


@pytest.mark.slow
def test_more_seeds_and_other_workers_compute_only_what_is_new(runner, monkeypatch):
    """Grouped runs are kept one by one."""
    trained = []
    learn = acquisition.learn

    def counted(model, role, geometry, runs, *arguments, **options):
        trained.extend((run.grammar, run.seed) for run in runs)
        return learn(model, role, geometry, runs, *arguments, **options)

    monkeypatch.setattr(acquisition, "learn", counted)
    settings = {"num_attributes": 3, "num_values": 4, "word_length": 4, "grammars": ("perm",)}
    first = Icy().measure(study(seeds=(1, 2, 3), **settings), runner)
    assert len(trained) == 6
    trained.clear()
    more = Icy().measure(study(seeds=(1, 2, 3, 4, 5, 6), **settings), replace(runner, num_workers=1))
    assert sorted(trained) == [(grammar, seed) for grammar in ("concat", "perm") for seed in (4, 5, 6)]
    assert more.rows[0].cells[0].runs[:3] == first.rows[0].cells[0].runs
    assert not runner.plan(plan(study(seeds=(2, 5), **settings)).values()).missing


def speaking(model, grammar="perm", lr=1e-2, **settings):
    sizes = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16}
    config = {"models": (model,), "grammars": (grammar,), "seeds": (5,), "target": 0.99} | sizes | settings
    study = resolve(StudyConfig(**config))
    return replace(study, training=replace(study.training, lr=lr, batch_size=32, window=5))


def written(study, folder):
    """The folder of the corpus of the only grammar besides CONCAT."""
    study = replace(study, corpora=folder / "said")
    results = Runner(folder=folder / "kept").run(list(plan_corpora(study).values()), needs_arrays=True)
    return write_corpora(study, results)[-1]


def test_each_corpus_has_its_own_folder(tmp_path):
    agent = ("husendz:rnn,hidden=8", "shufdet,decides=first")
    folder = written(speaking(*agent, target=0.3), tmp_path)
    assert re.fullmatch("husendz-rnn-hidden=8_shufdet-decides=first_5_[0-9a-f]{8}", folder.name)
    other = written(speaking(*agent, target=0.3, lr=2e-2), tmp_path)
    assert other != folder, "another setting does not overwrite it"


def announced(device="cpu", **settings):
    config = load_study(None, {"models": ("husendz:dgsend",), "seeds": (1, 2), **settings})
    return resolve(config, device=device)


def expected_to_fail(chosen):
    return {job.inputs["grammar"] for job in plan(chosen).values() if is_expected_to_fail(**job.inputs)}


def test_runs_that_the_paper_s_models_do_not_learn_are_expected_to_fail(monkeypatch):
    assert expected_to_fail(announced()) == {"hol"}
    assert expected_to_fail(announced(models=("fc2l",))) == {"rot", "hol"}  # Table 15
    assert expected_to_fail(announced(models=("gru,hidden=64",), grammars=("perm", "hol"))) == {"hol"}
    assert expected_to_fail(announced(protocol="budget")) == set(), "it trains as long as CONCAT"
    monkeypatch.setattr(benchmark, "seconds_of_update", lambda chosen, model: 0.1)
    chosen = announced(models=("fc2l",), grammars=("perm", "rot"), seeds=(1,))
    jobs = list(plan(chosen).values())
    assert expected_seconds(chosen, jobs, 1) == 350 * (1 + 1 + 20) * 0.1, "Table 12; others take 1.5 and 7"


def test_the_time_is_that_of_the_updates(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "seconds_of_update", lambda chosen, model: 0.1)
    other = {"models": ("gru,hidden=64",), "grammars": ("perm", "hol")}
    chosen = announced(**other)
    jobs = list(plan(chosen).values())
    whole = 2 * 350 * (1 + 1.5 + 20) * 0.1
    assert expected_seconds(chosen, jobs, 1) == whole
    assert expected_seconds(chosen, jobs, 2) == whole / 2
    assert expected_seconds(chosen, jobs, 9) == 350 * (1 + 20) * 0.1, "no run can be divided"
    there = announced("cuda", **other)
    assert expected_seconds(there, list(plan(there).values()), 1) == 350 * (1 + 20) * 0.1, "side by side"
    lines = Icy().announce(chosen, Runner(folder=tmp_path, num_workers=2))
    assert lines[0] == (
        "1 model x 3 grammars x 2 seeds: 6 runs, all to train, about 13 min with 2 processes; "
        f"each is saved in {tmp_path} when it ends"
    )
    told = "HOL: expected not to be learnt; such a run ends at 20 times the updates of CONCAT"
    assert lines[1].startswith(told)
