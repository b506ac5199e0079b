"""The jobs of ICY, which of them a study needs, and which runs are trained together.

An agent learns a grammar until its protocol stops it: all protocols except `metrics` consist of such runs. CONCAT comes
first; its updates set the maximum updates of the others. Pairs are then trained end to end, and trained senders speak
about all meanings.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import torch
from safetensors.numpy import save as save_arrays
from safetensors.torch import load_file, save

from ecsuite.agents.spec import Role
from ecsuite.eval.icy import acquisition, end_to_end
from ecsuite.eval.icy.acquisition import TrainingRun
from ecsuite.eval.icy.agents import messages_of, parse_model
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.end_to_end import ROLES
from ecsuite.eval.icy.measures import VERSIONS as MEASURE_VERSIONS
from ecsuite.eval.icy.measures import measure_language
from ecsuite.eval.icy.protocol import PUBLISHED_CAP, Protocol, published_ratios
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.study import BASIS, IcyStudy, JobName
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.jobs.job import Context, Job, Outcome, Result, Stopped, canonical, job_function
from ecsuite.parts.own_code import is_foreign

EXPECTED_STEPS = 350
"""Estimated number of updates for CONCAT to the usual target."""
EXPECTED_STEPS_HIGH = 1000
"""Estimated number of updates for CONCAT to a target of `HIGH_TARGET` or more."""
HIGH_TARGET = 0.95
EXPECTED_RATIO = {"hol": 20.0, "rot": 7.0, "shuf": 20.0, "pairsum": 10.0, "shufdet": 2.0, "proj": 2.3}
"""Estimated ratios of updates to CONCAT for models that are not in the paper; for other grammars, `USUAL_RATIO`."""
USUAL_RATIO = 1.5

UNBATCHED_FAMILIES = ("hashtable", "knn", "transformer", "sru", "sru-tanh")
"""Families whose runs are trained one at a time, as runs of users' agents are; on CUDA, the families of
`BATCHED_ON_CUDA` are trained together."""
BATCHED_ON_CUDA = ("transformer",)
SMALL_FAMILIES = ("fc1l", "fc2l")
"""Families so small that many runs are trained in parallel."""
MOST_SMALL_RUNS = 16
"""Maximum runs of small families in a group: the cost depends on the number of operations rather than on their size."""
MOST_RUNS = {"fp32": 2, "tf32": 4, "bf16": 4}
"""Maximum runs of other families in a group, by precision: more do not fit a core's cache."""
NUM_SHOWN = 2
"""Number of runs of a group whose accuracy the progress line shows."""


def expected_steps(*, protocol: Protocol, cap: float, basis: Sequence[Any], **inputs: Any) -> float:
    """Estimated number of updates of a run; changes only the order of jobs and the time left.

    Without a target a run ends at its cap, which is a multiple of the updates of its basis if there is one.
    """
    is_high = protocol.target is None or protocol.target >= HIGH_TARGET
    steps = EXPECTED_STEPS_HIGH if is_high else EXPECTED_STEPS
    if not basis:
        return min(steps, cap)
    ratio = _expected_ratio(protocol=protocol, **inputs)
    return steps * (cap if protocol.target is None else min(ratio, cap))


def is_expected_to_fail(*, protocol: Protocol, cap: float, basis: Sequence[Any], **inputs: Any) -> bool:
    """Whether a run is expected to end at its cap: as in the paper, or as with the usual model."""
    if not basis or protocol.target is None:
        return False
    return _expected_ratio(protocol=protocol, **inputs) >= min(cap, PUBLISHED_CAP)


def _expected_ratio(
    *, model: str, role: Role, geometry: Geometry, grammar: str, protocol: Protocol, **_: Any
) -> float:
    """Updates in multiples of CONCAT's: as in the paper, or as with the usual model.

    Less if there are few meanings, which an agent memorises after a few repetitions.
    """
    name = grammar.partition(",")[0]
    published = published_ratios(model).get(name) if role == "sender" else None
    ratio = EXPECTED_RATIO.get(name, USUAL_RATIO) if published is None else published[0]
    return min(ratio, USUAL_RATIO + geometry.num_meanings / protocol.batch_size)


def group_runs(jobs: Sequence[Job], num_free: int) -> Sequence[Sequence[Job]]:
    """Group runs of one model into groups of an efficient size, but no fewer groups than free workers.

    Args:
        jobs: Jobs of `learn_grammar`.
        num_free: Number of idle workers.
    """
    alike: dict[str, list[Job]] = {}
    for job in jobs:
        varying = ("grammar", "seed", "basis")
        common = {name: value for name, value in job.inputs.items() if name not in varying}
        alike.setdefault(json.dumps(canonical(common)), []).append(job)
    return [group for same in alike.values() for group in _groups(same, num_free)]


def _groups(jobs: Sequence[Job], num_free: int) -> Iterator[Sequence[Job]]:
    inputs = jobs[0].inputs
    family = parse_model(inputs["role"], inputs["model"]).family
    is_batched = not is_foreign(family) and (
        family not in UNBATCHED_FAMILIES or (family in BATCHED_ON_CUDA and inputs["device"] == "cuda")
    )
    if inputs["role"] == "receiver" or not is_batched or inputs["channel"] != "soft":
        yield from _batched(jobs, 1)
    elif inputs["device"] != "cpu":
        yield jobs
    elif family in SMALL_FAMILIES:
        # Groups of nearly equal size: a run alone takes more than twice its time in a group.
        number = max(math.ceil(len(jobs) / MOST_SMALL_RUNS), min(num_free, len(jobs)))
        ends = [len(jobs) * index // number for index in range(number + 1)]
        yield from (jobs[start:end] for start, end in pairwise(ends))
    else:
        num_seeds = len({job.inputs["seed"] for job in jobs})
        most = max(1, min(MOST_RUNS[inputs["protocol"].precision], num_seeds // num_free))
        for grammar in dict.fromkeys(job.inputs["grammar"] for job in jobs):
            yield from _batched([job for job in jobs if job.inputs["grammar"] == grammar], most)


def _batched(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    """Split jobs into groups of a size; the last may be smaller."""
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


class GroupProgress:
    """Progress of runs that are trained together, which ends them on request."""

    def __init__(self, inputs: Sequence[Mapping[str, Any]], context: Context) -> None:
        self.inputs, self.context = inputs, context
        self.accuracies: dict[int, float] = {}
        self.shares: dict[int, float] = {}

    def __call__(self, index: int, updates: int, accuracy: float) -> None:
        """Report the state of a run.

        Raises:
            Stopped: If the context asks the group to stop.
        """
        self.accuracies[index] = accuracy
        self.shares[index] = min(1.0, updates / expected_steps(**self.inputs[index]))
        texts = [
            f"{self.inputs[run]['grammar']} {self.inputs[run]['seed']}: {self.accuracies[run]:.2f}"
            + (" (expected not to be learnt)" if is_expected_to_fail(**self.inputs[run]) else "")
            for run in sorted(self.accuracies)
        ]
        more = f" +{len(texts) - NUM_SHOWN}" if len(texts) > NUM_SHOWN else ""
        label = f"{self.inputs[index]['model']} {' '.join(texts[:NUM_SHOWN])}{more}"
        self.context.report_progress(label, sum(self.shares.values()) / len(self.inputs))
        if self.context.should_stop():
            raise Stopped


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

    `seed` seeds language, weights, batches and noise. `basis` has the results on CONCAT of this agent and of others
    that share the cap; it may be empty. `cap` is the maximum number of updates, with a basis a multiple of its updates.

    Returns:
        The fields of `acquisition.RunOutcome`, the weights as arrays. If an agent of the basis did not acquire CONCAT,
        only `is_trained`, which is false.
    """
    inputs = {name: value for name, value in locals().items() if name != "context"}
    [(_, outcome)] = learn_grammars([inputs], context)
    return outcome  # type: ignore[no-any-return]


@learn_grammar.run_many(group_runs)
def learn_grammars(batch: Sequence[Mapping[str, Any]], context: Context) -> Iterator[tuple[int, Outcome]]:
    """Train agents in parallel; see `learn_grammar`."""
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
    indices = list(runs)
    first = batch[indices[0]]
    outcomes = acquisition.learn(
        first["model"],
        first["role"],
        first["geometry"],
        list(runs.values()),
        first["protocol"],
        channel=first["channel"],
        device=torch.device(first["device"]),
        report_progress=GroupProgress([batch[index] for index in indices], context),
    )
    for position, outcome in outcomes:
        fields = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
        weights = {name: weight.contiguous() for name, weight in fields.pop("weights").items()}
        yield indices[position], Outcome(value={"is_trained": True, **fields}, arrays=save(weights))


@job_function(
    version=[end_to_end.VERSION, GRAMMARS_VERSION],
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
    """Train a pretrained pair end to end; see `end_to_end.train_end_to_end`.

    Returns:
        The measures of `train_end_to_end`, and `is_trained`; only `is_trained`, which is false, if an agent was not
        pretrained to the target.
    """
    settings = dict(locals())
    pretrained: dict[Role, Result] = {role: settings.pop(f"pretrained_{role}") for role in ROLES}
    del settings["context"]
    if not all(result.checked().get("reached") for result in pretrained.values()):
        return {"is_trained": False}
    weights = {role: load_file(result.arrays) for role, result in pretrained.items() if result.arrays}

    def report_progress(label: str, share: float) -> None:
        context.report_progress(label, share)
        if context.should_stop():
            raise Stopped

    return {"is_trained": True} | end_to_end.train_end_to_end(
        weights, report_progress=report_progress, **settings
    )


@job_function(
    version=[PROTOCOL_VERSION, GRAMMARS_VERSION],
    label=lambda *, sender, **_: f"messages of {sender.label}",
)
def speak(*, model: str, geometry: Geometry, hidden_size: int, sender: Result, context: Context) -> Outcome:
    """The messages of a trained sender for all meanings, with argmax symbols, as an array `messages`."""
    value = sender.checked()
    if not value["is_trained"]:
        return Outcome(value=value, arrays=save_arrays({}))
    assert sender.arrays is not None
    messages = messages_of(model, load_file(sender.arrays), geometry, hidden_size)
    return Outcome(value=value, arrays=save_arrays({"messages": messages}))


@job_function(
    version=[MEASURE_VERSIONS, GRAMMARS_VERSION],
    label=lambda *, grammar, seed, **_: f"{grammar} {seed}",
)
def measure_grammar(
    *, grammar: str, geometry: Geometry, seed: int, metrics: tuple[str, ...], context: Context
) -> dict[str, Any]:
    """Metrics of a language: value, reason and signature by name."""
    return measure_language(grammar, geometry, seed, metrics)


def plan(study: IcyStudy) -> dict[JobName, Job]:
    """The jobs of a study, by name.

    Returns:
        Names are (grammar, seed) in `metrics`, (channel, sender, receiver, grammar, seed, part) in `end-to-end`, where
        part is `pair` or the role of a pretraining run, and else (channel, model, grammar, seed).
    """
    protocol, geometry = study.config.protocol, study.geometry
    if protocol == "metrics":
        return {
            (grammar, seed): Job(
                measure_grammar, grammar=grammar, geometry=geometry, seed=seed, metrics=study.metrics
            )
            for grammar, seed in product(study.grammars, study.seeds)
        }
    jobs: dict[JobName, Job] = {}
    if protocol == "end-to-end":
        for link, (sender, receiver), seed in product(
            study.channels, zip(study.models, study.receivers, strict=True), study.seeds
        ):
            jobs |= _plan_pair(study, link, sender, receiver, seed)
        return jobs
    others = replace(study.training, target=None) if protocol == "budget" else study.training
    for link, model, seed in product(study.channels, study.models, study.seeds):
        jobs[str(link), model, BASIS, seed] = basis = _run(study, study.role, model, link, BASIS, seed)
        for grammar in study.grammars:
            if grammar != BASIS:
                job = _run(study, study.role, model, link, grammar, seed, others, [basis])
                jobs[str(link), model, grammar, seed] = job
    return jobs


def plan_corpora(study: IcyStudy) -> dict[JobName, Job]:
    """The jobs for the messages of a study's senders, named as in `plan`; none if no corpora are saved."""
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
    study: IcyStudy, link: SupervisedChannel, sender: str, receiver: str, seed: int
) -> dict[JobName, Job]:
    channel = study.pretraining_channel(link)
    models: dict[Role, str] = {"sender": sender, "receiver": receiver}
    basis = {
        role: _run(study, role, model, channel, BASIS, seed, study.pretraining)
        for role, model in models.items()
    }
    jobs: dict[JobName, Job] = {}
    for grammar in study.grammars:
        runs = basis
        if grammar != BASIS:
            runs = {
                role: _run(
                    study, role, model, channel, grammar, seed, study.pretraining, list(basis.values())
                )
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
    study: IcyStudy,
    role: Role,
    model: str,
    channel: SupervisedChannel,
    grammar: str,
    seed: int,
    protocol: Protocol | None = None,
    basis: Sequence[Job] = (),
) -> Job:
    """The job of a run on a grammar; without a basis the grammar is CONCAT."""
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
