"""Acquisition: train several runs in parallel, each until its protocol stops it.

All inputs of a run are functions of its seed, so results do not depend on which runs are batched together, but for the
last bits of weights on processors whose products of several matrices differ from those of one (some from AMD).
"""

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from ecsuite.agents.spec import AgentSpec, Role
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.learners import make_learner
from ecsuite.eval.icy.memory import bytes_of_run, most_runs
from ecsuite.eval.icy.models import make_agent, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.run_group import RunGroup
from ecsuite.eval.icy.updates import Updates
from ecsuite.eval.learning.replicas import Replicas
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.devices import computing, free_memory
from ecsuite.runtime.errors import DivergedError

SECONDS_BETWEEN_REPORTS = 0.5
"""How often it is told how far the runs are."""

RunProgressCallback = Callable[[int, int, float], None]
"""Called from time to time with the index of a run, its updates so far, and its accuracy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Result of a run."""

    grammar: str
    seed: int
    steps: int
    """Number of updates until the language was acquired, else the updates made."""
    reached: bool
    """Whether the language was acquired."""
    is_early: bool
    """Whether the run was stopped before the cap without acquiring the language."""
    accuracy: float
    """Accuracy at the end, as measured by the protocol."""
    floor: float
    """Accuracy without learning: of the most frequent symbols (sender), or chance level (receiver)."""
    held_out: float | None
    """Accuracy on all held-out meanings at the end."""
    weights: dict[str, Tensor] = field(default_factory=dict, compare=False, repr=False)
    """The agent's parameters at the end."""


def learn(
    model: str,
    role: Role,
    geometry: Geometry,
    runs: Sequence[Run],
    protocol: Protocol,
    *,
    channel: str = "soft",
    device: torch.device | None = None,
    report_progress: RunProgressCallback = lambda index, updates, accuracy: None,
) -> Iterator[tuple[int, Outcome]]:
    """Train runs in parallel, on a GPU as many at a time as fit in its free memory.

    Args:
        model: Name and options of the model.
        role: sender or receiver.
        geometry: Sizes of all the languages.
        runs: Runs to train.
        protocol: Protocol of training and measurement.
        channel: Channel of the logits, see `ecsuite.eval.icy.channels`; all but soft allow only one run.
        device: CPU if not given.
        report_progress: Called from time to time with the state of each run.

    Yields:
        The index of each run and its outcome, as soon as it ends.

    Raises:
        DivergedError: If the loss of a run is not finite; raised when the others have ended.
    """
    device = device or torch.device("cpu")
    spec, link, number = parse_model(role, model), parse_channel(channel), len(runs)
    if spec.family == "hashtable":  # which looks up and stores row by row
        device = torch.device("cpu")
    if device.type != "cpu" and number > 1:
        number = _runs_that_fit(spec, role, geometry, runs[0], protocol, link, device)
    diverged: list[str] = []
    for start in range(0, len(runs), number):
        chosen = runs[start : start + number]
        report = functools.partial(_report_from, start, report_progress)
        try:
            for index, outcome in _learn_side_by_side(
                spec, role, geometry, chosen, protocol, link, device, report
            ):
                yield start + index, outcome
        except DivergedError as error:
            diverged.append(str(error))
    if diverged:
        raise DivergedError("; ".join(diverged))


def _report_from(start: int, report: RunProgressCallback, index: int, updates: int, accuracy: float) -> None:
    """Report the state of a run by its index among all runs."""
    report(start + index, updates, accuracy)


def _runs_that_fit(
    spec: AgentSpec,
    role: Role,
    geometry: Geometry,
    run: Run,
    protocol: Protocol,
    link: SupervisedChannel,
    device: torch.device,
) -> int:
    """How many runs like this one fit in the free memory of a device."""
    with computing(device, protocol.precision, seed=run.seed):
        agent = make_agent(spec, role, geometry, protocol.hidden_size)
        parameters = Replicas([agent], lr=protocol.lr, clip=protocol.clip, device=device).parameters()
        learner = make_learner(agent.to(device), geometry, link, run.seed)
        run_group = RunGroup([run], role, geometry, protocol, device)
        num_bytes = bytes_of_run(learner, parameters, run_group.examples(*run_group.batch(0)))
    return most_runs(num_bytes, free_memory(device))


def _learn_side_by_side(
    spec: AgentSpec,
    role: Role,
    geometry: Geometry,
    runs: Sequence[Run],
    protocol: Protocol,
    link: SupervisedChannel,
    device: torch.device,
    report_progress: RunProgressCallback,
) -> Iterator[tuple[int, Outcome]]:
    """Train runs that fit in memory; see `learn`."""
    last_report = time.monotonic()
    diverged: list[str] = []
    with computing(device, protocol.precision, seed=runs[0].seed):
        agents = []
        for run in runs:
            # Only the initial weights come from torch's global generator.
            torch.manual_seed(run.seed)
            agents.append(make_agent(spec, role, geometry, protocol.hidden_size))
        replicas = Replicas(agents, lr=protocol.lr, clip=protocol.clip, device=device)
        learner = make_learner(agents[0].to(device), geometry, link, runs[0].seed)
        run_group = RunGroup(runs, role, geometry, protocol, device)
        steps = Updates(learner, replicas, run_group.examples)
        if steps.has_graphs:  # those need the memory that a learner keeps for batches of one size
            learner = make_learner(agents[0], geometry, link, runs[0].seed)
        updates = 0
        while run_group.going:
            batch = run_group.batch(updates)
            loss, accuracies = steps.loss(*batch)
            parameters = replicas.parameters()
            ended = [] if math.isfinite(loss) else run_group.diverged(learner, parameters, *batch)
            for place in ended:
                run = runs[run_group.active[place]]
                diverged.append(
                    f"{role} {spec} on {run.grammar}, seed {run.seed}: the loss is not finite after {updates} updates"
                )
            for place, (index, accuracy) in enumerate(zip(run_group.active, accuracies, strict=True)):
                if place in ended or index in run_group.ended:
                    continue
                early_stopping = run_group.early_stoppings[index]
                decision = early_stopping.observe(updates, accuracy)
                if decision is not None:
                    ended.append(place)
                    outcome = Outcome(
                        **asdict(decision),
                        grammar=runs[index].grammar,
                        seed=runs[index].seed,
                        accuracy=early_stopping.accuracy,
                        floor=run_group.floors[index],
                        held_out=run_group.held_out_accuracy(learner, parameters, place),
                        weights=replicas.replica(place),
                    )
                    yield index, outcome
            run_group.end(ended)
            kept = run_group.going
            if kept:
                steps.step()
                updates += 1
            is_finite = math.isfinite(loss)
            if 0 < len(kept) < len(run_group.active) and (steps.is_worth_it(len(kept)) or not is_finite):
                run_group.keep(kept)
                steps.keep(kept)
            if time.monotonic() - last_report > SECONDS_BETWEEN_REPORTS:
                last_report = time.monotonic()
                for index in (run_group.active[place] for place in run_group.going):
                    report_progress(index, updates, run_group.early_stoppings[index].accuracy)
    if diverged:
        raise DivergedError("; ".join(diverged))
