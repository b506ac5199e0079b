"""The jobs of ICY on tiny languages: what they compute, what is kept, what diverges, and which a study needs."""

import re
from dataclasses import replace

import pytest
import torch
from safetensors.numpy import load_file

from ecsuite.eval.icy import acquisition
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.jobs import (
    group_runs,
    learn_grammar,
    learn_grammars,
    measure_grammar,
    plan,
    speak,
    train_pair,
)
from ecsuite.eval.icy.measures import VERSIONS
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Context, Job, Stopped

TINY = Geometry(num_attributes=2, num_values=3, word_length=2)
SIZES = {"num_attributes": 2, "num_values": 3, "word_length": 2, "hidden_size": 16}
PROTOCOL = Protocol(hidden_size=16, lr=0.01, target=0.9)


def run(model="fc2l", grammar="concat", seed=1, cap=400.0, basis=(), role="sender", **changes):
    inputs = {"geometry": TINY, "protocol": PROTOCOL, "channel": "soft", "device": "cpu"} | changes
    return Job(
        learn_grammar,
        model=model,
        role=role,
        grammar=grammar,
        seed=seed,
        cap=cap,
        basis=list(basis),
        **inputs,
    )


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


def test_messages_are_those_of_the_trained_sender(runner):
    sender = run(protocol=replace(PROTOCOL, target=1.0, window=1))
    job = Job(speak, model="fc2l", geometry=TINY, hidden_size=16, sender=sender)
    messages = load_file(runner.run([job], needs_arrays=True)[job].arrays)["messages"]
    assert (messages == language("concat", TINY, 1).messages).all()
    assert job.function.version == [2, 1]


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
    said = Job(speak, model="fc2l", geometry=TINY, hidden_size=16, sender=job)
    results = runner.run([job, said])
    assert results[job].value == results[said].value == {"is_trained": False}


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


def test_a_pair_that_diverges_fails_alone(runner):
    bad, good = pair(protocol=replace(PROTOCOL, lr=1e38)), pair()
    results = runner.run([bad, good])
    assert results[good].value["is_trained"]
    assert results[bad].failure == "fc2l and fc2l on concat, seed 1: the loss is nan in updates 2 to 2"
    assert not runner.plan([bad]).missing


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


def test_runs_that_are_asked_to_stop_stop(tmp_path, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr(acquisition.time, "monotonic", lambda: next(clock))
    labels = []
    context = Context(
        scratch=tmp_path,
        report_progress=lambda label, share: labels.append(label),
        should_stop=lambda: len(labels) > 4,
    )
    with pytest.raises(Stopped):
        list(learn_grammars([dict(run(grammar="hol", seed=seed).inputs) for seed in (1, 2, 3)], context))
    assert re.fullmatch(r"fc2l hol 1: 0\.\d\d hol 2: 0\.\d\d \+1", labels[-1])


def names(jobs):
    return [(job.inputs["grammar"], job.inputs["seed"]) for job in jobs]


@pytest.mark.parametrize(
    ("model", "num_free", "sizes"),
    [
        ("fc1l", 1, [14]),
        ("fc1l", 4, [3, 4, 3, 4]),
        ("fc1l", 20, [1] * 14),
        ("lstm", 1, [2, 2, 2, 1, 2, 2, 2, 1]),
        ("lstm", 7, [1] * 14),
        ("hashtable", 1, [1] * 14),
        ("transformer", 1, [1] * 14),
    ],
)
def test_every_run_is_in_one_group(model, num_free, sizes):
    runs = [run(model, grammar, seed) for grammar in ("concat", "perm") for seed in range(7)]
    groups = group_runs(runs, num_free)
    assert [len(group) for group in groups] == sizes
    assert sorted(names(job for group in groups for job in group)) == sorted(names(runs))


def test_runs_of_other_kinds_are_not_grouped():
    runs = [run("fc1l"), run("fc2l"), run("fc1l", cap=5.0), run("fc1l", protocol=replace(PROTOCOL, clip=1.0))]
    assert [len(group) for group in group_runs(runs, 1)] == [1, 1, 1, 1]
    assert [
        len(group_runs([run("transformer", seed=seed, device=device) for seed in (1, 2)], 1))
        for device in ("cpu", "cuda")
    ] == [2, 1]
    assert len(group_runs([run(role="receiver", seed=seed) for seed in (1, 2)], 1)) == 2
    assert len(group_runs([run(channel="gumbel", seed=seed) for seed in (1, 2)], 1)) == 2


def test_a_pair_trains_each_agent_once_for_all_channels():
    many = study(
        protocol="end-to-end", models=("gru",), receivers=("gru",), channels=("soft", "reinforce"), seeds=(1,),
        grammars=("concat", "rot"),
    )  # fmt: skip
    wanted = plan(many)
    assert len({job for name, job in wanted.items() if name[-1] == "pair"}) == 4
    assert len({job for name, job in wanted.items() if name[-1] != "pair"}) == 4
    rot = wanted["soft", "gru", "gru", "rot", 1, "sender"]
    assert {job.inputs["role"] for job in rot.after} == {"sender", "receiver"}


@pytest.mark.parametrize(
    ("changes", "is_shared"),
    [
        ({"models": ("LSTM",)}, True),
        ({"published": "table15"}, True),
        ({"models": ("gru",)}, False),
        ({"role": "receiver"}, False),
        ({"word_length": 3}, False),
        ({"hidden_size": 8}, False),
        ({"clip": 5.0}, False),
        ({"target": 0.6}, False),
        ({"protocol": "paper"}, False),
        ({"seeds": (2,)}, False),
    ],
)
def test_jobs_are_shared_unless_a_setting_changes(changes, is_shared):
    settings = {"models": ("lstm",), "grammars": ("perm",), "seeds": (1,)}
    before, after = (set(plan(study(**settings | other)).values()) for other in ({}, changes))
    assert (before == after) is is_shared
    assert is_shared or not before & after
