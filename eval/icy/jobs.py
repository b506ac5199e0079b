"""The jobs of ICY, and which of them a study needs.

An agent learns a grammar until its protocol stops it: all protocols but `metrics` are made of such runs. CONCAT comes
first; its updates set the most updates of the others. Pairs are then trained end to end, and senders asked for all
their messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.acquisition import TrainingRun
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.grouping import GroupProgress, expected_steps, group_runs
from ecsuite.eval.icy.measures import VERSIONS as MEASURE_VERSIONS
from ecsuite.eval.icy.measures import measure_language
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.jobs.job import Context, Job, Outcome, Result, Stopped, job_function

ROLES: tuple[Role, Role] = ("sender", "receiver")

PAIRS_VERSION = 1
"""Increased whenever end-to-end training with the same inputs would give another result."""

Name = tuple[str | int, ...]
"""The name of a job in a plan."""


@job_function(
    version=[PROTOCOL_VERSION, GRAMMARS_VERSION],
    work=expected_steps,
    label=lambda *, model, grammar, seed, **_: f"{model} {grammar} {seed}",
)
def learn_grammar(
    *,
    model: str,
    role: Role,
    geometry: Geometry,
    grammar: str,
    seed: int,
    protocol: Protocol,
    channel: str,
    device: str,
    cap: float,
    basis: list[Result],
    context: Context,
) -> Outcome:
    """Train an agent on a grammar until the protocol stops it.

    The seed is that of language, weights, batches and noise. `basis` has the results of CONCAT, of this agent and of
    others that share the cap, or none; `cap` is the most updates or, with a basis, a multiple of its updates.

    Returns:
        The fields of `acquisition.RunOutcome`, the weights as arrays. If an agent of the basis did not acquire CONCAT,
        `is_trained` is false and nothing else is there.
    """
    inputs = {name: value for name, value in locals().items() if name != "context"}
    [(_, outcome)] = learn_grammars([inputs], context)
    return outcome  # type: ignore[no-any-return]


@learn_grammar.run_many(group_runs)
def learn_grammars(batch: Sequence[Mapping[str, Any]], context: Context) -> Iterator[tuple[int, Outcome]]:
    """Train agents side by side; see `learn_grammar`."""
    import torch
    from safetensors.torch import save

    from ecsuite.eval.icy.acquisition import learn

    runs: dict[int, TrainingRun] = {}
    for index, each in enumerate(batch):
        basis = [result.checked() for result in each["basis"]]
        if all(value["reached"] for value in basis):
            cap = int(each["cap"] * max((value["steps"] for value in basis), default=1))
            runs[index] = TrainingRun(grammar=each["grammar"], seed=each["seed"], cap=cap)
        else:
            yield index, Outcome(value={"is_trained": False}, arrays=save({}))
    if not runs:
        return
    places = list(runs)
    first = batch[places[0]]
    outcomes = learn(
        first["model"],
        first["role"],
        first["geometry"],
        list(runs.values()),
        first["protocol"],
        channel=first["channel"],
        device=torch.device(first["device"]),
        report_progress=GroupProgress([batch[place] for place in places], context),
    )
    for place, outcome in outcomes:
        fields = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
        weights = {name: weight.contiguous() for name, weight in fields.pop("weights").items()}
        yield places[place], Outcome(value={"is_trained": True, **fields}, arrays=save(weights))


@job_function(
    version=[PAIRS_VERSION, GRAMMARS_VERSION],
    work=lambda *, max_steps, **_: max_steps,
    label=lambda *, sender, receiver, grammar, seed, **_: f"{sender} {receiver} {grammar} {seed}",
)
def train_pair(
    *,
    sender: str,
    receiver: str,
    geometry: Geometry,
    grammar: str,
    seed: int,
    channel: str,
    feeds_back_samples: bool,
    protocol: Protocol,
    max_steps: int,
    device: str,
    pretrained_sender: Result,
    pretrained_receiver: Result,
    context: Context,
) -> dict[str, Any]:
    """Train a pretrained pair end to end; see `pairs.train_end_to_end`.

    Returns:
        What `train_end_to_end` returns, and `is_trained`; false, and nothing else, if an agent was not pretrained to
        the target.
    """
    settings = dict(locals())
    pretrained: dict[Role, Result] = {role: settings.pop(f"pretrained_{role}") for role in ROLES}
    del settings["context"]

    from safetensors.torch import load_file

    from ecsuite.eval.icy.pairs import train_end_to_end

    if not all(result.checked().get("reached") for result in pretrained.values()):
        return {"is_trained": False}
    weights = {role: load_file(result.arrays) for role, result in pretrained.items() if result.arrays}

    def report_progress(label: str, share: float) -> None:
        context.report_progress(label, share)
        if context.should_stop():
            raise Stopped

    return {"is_trained": True} | train_end_to_end(weights, report_progress=report_progress, **settings)


@job_function(
    version=[PROTOCOL_VERSION, GRAMMARS_VERSION],
    label=lambda *, sender, **_: f"messages of {sender.label}",
)
def speak(*, model: str, geometry: Geometry, hidden_size: int, sender: Result, context: Context) -> Outcome:
    """The messages of a trained sender for all meanings, with argmax symbols, as an array `messages`."""
    from safetensors.numpy import save
    from safetensors.torch import load_file

    from ecsuite.eval.icy.corpus_generation import messages_of

    value = sender.checked()
    if not value["is_trained"]:
        return Outcome(value=value, arrays=save({}))
    assert sender.arrays is not None
    messages = messages_of(model, load_file(sender.arrays), geometry, hidden_size)
    return Outcome(value=value, arrays=save({"messages": messages}))


@job_function(
    version=[MEASURE_VERSIONS, GRAMMARS_VERSION],
    label=lambda *, grammar, seed, **_: f"{grammar} {seed}",
)
def measure_grammar(
    *, grammar: str, geometry: Geometry, seed: int, metrics: tuple[str, ...], context: Context
) -> dict[str, Any]:
    """Metrics of a language: value, reason and signature by name."""
    return measure_language(grammar, geometry, seed, metrics)


def plan(study: Study) -> dict[Name, Job]:
    """The jobs whose results a study needs.

    Returns:
        In `metrics` by grammar and seed, else by channel, model, grammar and seed; in `end-to-end` by
        channel, sender, receiver, grammar and seed, for the pair (`pair`) and for the runs before (their role).
    """
    protocol, geometry = study.config.protocol, study.geometry
    if protocol == "metrics":
        return {
            (grammar, seed): Job(
                measure_grammar, grammar=grammar, geometry=geometry, seed=seed, metrics=study.metrics
            )
            for grammar, seed in product(study.grammars, study.seeds)
        }
    jobs: dict[Name, Job] = {}
    if protocol == "end-to-end":
        for link, (sender, receiver), seed in product(
            study.channels, zip(study.models, study.receivers, strict=True), study.seeds
        ):
            jobs |= _plan_pair(study, link, sender, receiver, seed)
        return jobs
    others = replace(study.training, target=None) if protocol == "budget" else study.training
    for link, model, seed in product(study.channels, study.models, study.seeds):
        jobs[str(link), model, BASIS, seed] = basis = _run(study, study.role, model, link, BASIS, seed)
        for grammar in (each for each in study.grammars if each != BASIS):
            job = _run(study, study.role, model, link, grammar, seed, others, [basis])
            jobs[str(link), model, grammar, seed] = job
    return jobs


def plan_corpora(study: Study) -> dict[Name, Job]:
    """The jobs that give the messages of the senders of a study, named as in `plan`; none if none are wanted."""
    if study.corpora is None:
        return {}
    return {
        name: Job(
            speak,
            model=job.inputs["model"],
            geometry=study.geometry,
            hidden_size=study.training.hidden_size,
            sender=job,
        )
        for name, job in plan(study).items()
    }


def _plan_pair(
    study: Study, link: SupervisedChannel, sender: str, receiver: str, seed: int
) -> dict[Name, Job]:
    channel = study.pretraining_channel(link)
    models: dict[Role, str] = {"sender": sender, "receiver": receiver}
    basis = {role: _run(study, role, model, channel, BASIS, seed) for role, model in models.items()}
    jobs: dict[Name, Job] = {}
    for grammar in study.grammars:
        runs = basis
        if grammar != BASIS:
            runs = {
                role: _run(study, role, model, channel, grammar, seed, study.training, list(basis.values()))
                for role, model in models.items()
            }
        name = (str(link), sender, receiver, grammar, seed)
        jobs |= {(*name, role): run for role, run in runs.items()}
        jobs[*name, "pair"] = Job(
            train_pair,
            **models,
            geometry=study.geometry,
            grammar=grammar,
            seed=seed,
            channel=str(link),
            feeds_back_samples=channel.channel == "gumbel",
            protocol=study.training,
            max_steps=study.max_steps,
            device=study.device,
            pretrained_sender=runs["sender"],
            pretrained_receiver=runs["receiver"],
        )
    return jobs


def _run(
    study: Study,
    role: Role,
    model: str,
    channel: SupervisedChannel,
    grammar: str,
    seed: int,
    protocol: Protocol | None = None,
    basis: Sequence[Job] = (),
) -> Job:
    """A run on a grammar; without a basis, one on CONCAT."""
    return Job(
        learn_grammar,
        model=model,
        role=role,
        geometry=study.geometry,
        grammar=grammar,
        seed=seed,
        protocol=protocol or study.training,
        channel=str(channel),
        device=study.device,
        cap=study.cap if basis else float(study.basis_cap),
        basis=list(basis),
    )
