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
from ecsuite.eval.icy.batches import BLOCK, LanguageDataset, Run
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.fast.recurrent_kernels import Parameters
from ecsuite.eval.icy.fast.supervised_batches import Learner, SupervisedBatch
from ecsuite.eval.icy.learners import make_learner
from ecsuite.eval.icy.memory import bytes_of_run, most_runs
from ecsuite.eval.icy.models import make_agent, parse_model
from ecsuite.eval.icy.protocol import EarlyStopping, Protocol
from ecsuite.eval.learning.replicas import Replicas
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.devices import computing, free_memory
from ecsuite.runtime.errors import DivergedError

HELD_OUT_BATCH = 1024
"""Number of held-out meanings in a batch."""
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
        examples = RunGroup([run], role, geometry, protocol, device).examples(0)
        num_bytes = bytes_of_run(learner, parameters, examples)
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
        updates = 0
        while run_group.active:
            examples = run_group.examples(updates)
            parameters = replicas.parameters()
            loss = learner.loss(parameters, examples)
            found, *accuracies = torch.cat([loss.detach()[None], examples.accuracy]).tolist()  # waits once
            ended = [] if math.isfinite(found) else run_group.diverged(learner, parameters, examples)
            for place in ended:
                run = runs[run_group.active[place]]
                diverged.append(
                    f"{role} {spec} on {run.grammar}, seed {run.seed}: the loss is not finite after {updates} updates"
                )
            for place, (index, accuracy) in enumerate(zip(run_group.active, accuracies, strict=True)):
                if place in ended:
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
            if len(ended) < len(run_group.active):
                replicas.update(loss)
                updates += 1
            if ended:
                kept = [place for place in range(len(run_group.active)) if place not in ended]
                run_group.keep(kept)
                if kept:
                    replicas.keep(kept)
            if time.monotonic() - last_report > SECONDS_BETWEEN_REPORTS:
                last_report = time.monotonic()
                for index in run_group.active:
                    report_progress(index, updates, run_group.early_stoppings[index].accuracy)
    if diverged:
        raise DivergedError("; ".join(diverged))


class RunGroup:
    """Runs that are trained in parallel: their data sets, batches and early stopping; for the arguments see `learn`."""

    def __init__(
        self, runs: Sequence[Run], role: Role, geometry: Geometry, protocol: Protocol, device: torch.device
    ) -> None:
        self.geometry, self.device = geometry, device
        self.datasets = [
            LanguageDataset(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out)
            for run in runs
        ]
        chance = 1 / geometry.num_values
        self.floors = [dataset.floor if role == "sender" else chance for dataset in self.datasets]
        self.early_stoppings: list[EarlyStopping] = [
            protocol.early_stopping(run.cap, floor) for run, floor in zip(runs, self.floors, strict=True)
        ]
        self.active = list(range(len(runs)))
        """Indices of the runs that are not stopped; the position of a run in this list is that of its replica."""

        self._block = -1
        self._meanings = self._messages = torch.zeros(0)

    def keep(self, places: Sequence[int]) -> None:
        """Continue only the runs at these positions of `active`."""
        self.active = [self.active[place] for place in places]
        self._meanings, self._messages = self._meanings[:, list(places)], self._messages[:, :, list(places)]

    def examples(self, updates: int) -> SupervisedBatch:
        """The batches of all active runs."""
        block, place = divmod(updates, BLOCK)
        if block != self._block:
            self._block = block
            blocks = [self.datasets[index].block(block) for index in self.active]
            meanings, messages = zip(*blocks, strict=True)
            # (BLOCK, replicas, attributes, batch) and (BLOCK, length, replicas, batch)
            self._meanings = torch.stack(meanings, dim=1).to(self.device)
            self._messages = torch.stack(messages, dim=2).to(self.device)
        return self._examples(self._meanings[place], self._messages[place])

    def diverged(self, learner: Learner, parameters: Parameters, examples: SupervisedBatch) -> list[int]:
        """The positions in `active` of the runs whose own loss is not finite."""
        found = []
        for place in range(len(self.active)):
            own, messages = _replica(parameters, place), examples.messages[:, place : place + 1, 0]
            with torch.no_grad():
                loss = learner.loss(own, self._examples(examples.meanings[place : place + 1], messages))
            if not math.isfinite(loss.item()):
                found.append(place)
        return found

    def held_out_accuracy(self, learner: Learner, parameters: Parameters, place: int) -> float | None:
        """Accuracy of one replica on its held-out meanings; None if there are none."""
        dataset = self.datasets[self.active[place]]
        if not len(dataset.held_out):
            return None
        own, right = _replica(parameters, place), 0.0
        for start in range(0, len(dataset.held_out), HELD_OUT_BATCH):
            chosen = dataset.held_out[start : start + HELD_OUT_BATCH]
            meanings, messages = dataset.examples(chosen[None])
            examples = self._examples(meanings.to(self.device), messages[0, :, None].to(self.device))
            with torch.no_grad():
                learner.loss(own, examples)
            right += float(examples.accuracy) * len(chosen)
        return right / len(dataset.held_out)

    def _examples(self, meanings: Tensor, messages: Tensor) -> SupervisedBatch:
        return SupervisedBatch(meanings, messages, self.geometry.num_values, self.geometry.vocab_size + 1)


def _replica(parameters: Parameters, place: int) -> Parameters:
    """The parameters of one replica, with a replica dimension and without gradients."""
    return {name: value[place : place + 1].detach() for name, value in parameters.items()}
