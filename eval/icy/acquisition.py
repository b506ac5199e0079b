"""Acquisition: train several runs in parallel, each until its protocol stops it.

All inputs of a run are functions of its seed, so results do not depend on which runs are batched together, except for
the last bits of weights on processors on which batched and single matrix products differ (some from AMD).
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ecsuite.agents.spec import AgentName, Role
from ecsuite.eval.icy.agents import BASELINES, make_agent, make_learner, parse_model
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.fast.cells import Parameters
from ecsuite.eval.icy.fast.senders import SupervisedBatch, SupervisedLearner
from ecsuite.eval.icy.protocol import EarlyStopping, Protocol
from ecsuite.eval.models.replicas import Replicas
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language, majority_accuracy
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.devices import computing, free_memory
from ecsuite.runtime.errors import DivergedError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.randomness import random_words
from ecsuite.runtime.recording import Recorded

BLOCK = 64
"""Number of batches that are drawn at once."""
HELD_OUT_BATCH, LARGE_HELD_OUT_BATCH = 1024, 16_384
"""Held-out meanings per batch on the CPU and on other devices, where large batches are faster."""
MAX_RUNNING_SHARE, MAX_UNDROPPED = 0.5, 8
"""With graphs, replicas of ended runs are dropped if at most this share of the replicas is still running and there are
more than `MAX_UNDROPPED`: new graphs cost about a hundred updates, and few replicas take little time."""
USED_SHARE = 0.8
"""Share of a device's free memory that runs may take."""
COPIES_OF_WEIGHTS = 4
"""Weights, gradients, and the two moments of Adam."""
SECONDS_BETWEEN_REPORTS = 0.5
"""Progress interval in seconds."""

RunProgressCallback = Callable[[int, int, float], None]
"""Called at intervals with the index of a run, its updates so far, and its accuracy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRun:
    """One training run: a language, and its limit of updates."""

    grammar: str
    seed: int
    cap: int | None = None
    """Maximum number of updates; None: the run ends only at the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutcome:
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
    """The agent's parameters and buffers at the end."""


class LanguageDataset:
    """The batches of a run. Batches of one seed have the same meanings in all languages.

    Args:
        run: Grammar and seed of the language.
        geometry: Sizes of the language.
        batch_size: Number of meanings in a batch, drawn uniformly and independently.
        held_out: Fraction of meanings held out from training; the seed selects the same ones for all grammars.
    """

    def __init__(self, run: TrainingRun, geometry: Geometry, *, batch_size: int, held_out: float) -> None:
        made = language(run.grammar, geometry, run.seed)
        self.seed, self.batch_size, self.geometry = run.seed, batch_size, geometry
        self.floor = majority_accuracy(made.messages)
        self.messages = made.messages  # (num_meanings, message_length)
        order = np.arange(len(made.messages))
        if held_out:
            order = np.random.default_rng([run.seed, *b"held-out"]).permutation(order)
        num_held_out = round(held_out * len(order))
        self.train = np.sort(order[num_held_out:])
        self.held_out = np.sort(order[:num_held_out])

    def block(self, number: int) -> tuple[Tensor, Tensor]:
        """Batches from number * BLOCK: meanings (BLOCK, attributes, batch), messages (BLOCK, length, batch)."""
        return self.examples(self.draw(number))

    def draw(self, number: int) -> NDArray[np.int64]:
        """Ids of the meanings of these batches, (BLOCK, batch)."""
        starts = np.arange(number * BLOCK, (number + 1) * BLOCK) * self.batch_size
        indices = (starts[:, None] + np.arange(self.batch_size)).ravel()
        words = random_words(self.seed, "icy", indices, 1)[:, 0] % np.uint64(len(self.train))
        return self.train[words.astype(np.int64)].reshape(BLOCK, self.batch_size)

    def examples(self, chosen: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Meanings (batches, attributes, batch), messages (batches, length, batch) of ids (batches, batch)."""
        weights = self.geometry.num_values ** np.arange(self.geometry.num_attributes)[::-1]
        meanings = chosen[:, None] // weights[:, None] % self.geometry.num_values
        messages = self.messages[chosen].transpose(0, 2, 1).astype(np.int64)
        return torch.from_numpy(meanings), torch.from_numpy(messages)


class RunGroup:
    """Runs that are trained in parallel: their data sets, batches and early stopping; for the arguments see `learn`.

    A run that has ended may still be computed, as long as that costs less than dropping it.
    """

    def __init__(
        self,
        runs: Sequence[TrainingRun],
        role: Role,
        geometry: Geometry,
        protocol: Protocol,
        device: torch.device,
    ) -> None:
        self.geometry, self.device = geometry, device
        self.datasets = [
            LanguageDataset(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out)
            for run in runs
        ]
        chance = 1 / geometry.num_values
        self.floors = [dataset.floor if role == "sender" else chance for dataset in self.datasets]
        self.early_stoppings = [
            EarlyStopping(protocol, run.cap, floor) for run, floor in zip(runs, self.floors, strict=True)
        ]
        self.active = list(range(len(runs)))
        """Indices of the runs that are computed; a run has the same position in this list as its replica."""
        self.ended: set[int] = set()
        """Indices of the active runs that have ended."""
        self._block = -1
        self._meanings = self._messages = self._tables = torch.zeros(0)
        if device.type != "cpu":  # messages of all runs, (runs, num_meanings, length)
            self._tables = torch.from_numpy(np.stack([dataset.messages for dataset in self.datasets]))
            self._tables = self._tables.to(device)

    @property
    def running(self) -> list[int]:
        """The positions in `active` of the runs that have not ended."""
        return [position for position, index in enumerate(self.active) if index not in self.ended]

    def end(self, positions: Collection[int]) -> None:
        """Note that the runs at these positions of `active` have ended."""
        self.ended |= {self.active[position] for position in positions}

    def keep(self, positions: Sequence[int]) -> None:
        """Continue only the runs at these positions of `active`."""
        self.active = [self.active[position] for position in positions]
        self.ended.intersection_update(self.active)
        self._meanings, self._messages = self._meanings[:, [*positions]], self._messages[:, :, [*positions]]

    def batch(self, updates: int) -> tuple[Tensor, Tensor]:
        """The batches of all active runs: meanings and messages, shaped for `SupervisedBatch`."""
        block, position = divmod(updates, BLOCK)
        if block != self._block:
            self._block = block
            # (BLOCK, replicas, attributes, batch) and (BLOCK, length, replicas, batch)
            self._meanings, self._messages = self._draw(block)
        return self._meanings[position], self._messages[position]

    def _draw(self, block: int) -> tuple[Tensor, Tensor]:
        datasets = [self.datasets[index] for index in self.active]
        if self.device.type == "cpu":
            meanings, messages = zip(*(dataset.block(block) for dataset in datasets), strict=True)
            return torch.stack(meanings, dim=1), torch.stack(messages, dim=2)
        # Only ids are sent to the device; runs with the same seed have the same ids in all languages.
        by_seed = {dataset.seed: dataset for dataset in datasets}
        drawn = {seed: dataset.draw(block) for seed, dataset in by_seed.items()}
        chosen = torch.from_numpy(np.stack([drawn[dataset.seed] for dataset in datasets], axis=1))
        chosen = chosen.to(self.device)  # (BLOCK, replicas, batch)
        rows = self._tables[torch.tensor(self.active, device=self.device)[:, None], chosen]
        powers = torch.arange(self.geometry.num_attributes - 1, -1, -1, device=self.device)
        weights = self.geometry.num_values ** powers[:, None]
        meanings_on_device = chosen[:, :, None] // weights % self.geometry.num_values
        return meanings_on_device, rows.permute(0, 3, 1, 2).long().contiguous()

    def examples(self, meanings: Tensor, messages: Tensor) -> SupervisedBatch:
        """Make a batch for the learners."""
        return SupervisedBatch(meanings, messages, self.geometry.num_values, self.geometry.vocab_size + 1)

    def diverged(
        self, learner: SupervisedLearner, parameters: Parameters, meanings: Tensor, messages: Tensor
    ) -> list[int]:
        """The positions in `active` of the unfinished runs whose own loss is not finite."""
        found = []
        for position in self.running:
            examples = self.examples(meanings[position : position + 1], messages[:, position : position + 1])
            with torch.no_grad():
                loss = learner.loss(_replica(parameters, position), examples)
            if not math.isfinite(loss.item()):
                found.append(position)
        return found

    def held_out_accuracy(
        self, learner: SupervisedLearner, parameters: Parameters, position: int
    ) -> float | None:
        """Accuracy of one replica on its held-out meanings; None if there are none."""
        dataset = self.datasets[self.active[position]]
        if not len(dataset.held_out):
            return None
        own, right = _replica(parameters, position), 0.0
        size = HELD_OUT_BATCH if self.device.type == "cpu" else LARGE_HELD_OUT_BATCH
        for start in range(0, len(dataset.held_out), size):
            chosen = dataset.held_out[start : start + size]
            meanings, messages = dataset.examples(chosen[None])
            examples = self.examples(meanings.to(self.device), messages[0, :, None].to(self.device))
            with torch.no_grad():
                learner.loss(own, examples)
            right += float(examples.accuracy) * len(chosen)
        return right / len(dataset.held_out)


def _replica(parameters: Parameters, position: int) -> Parameters:
    """The parameters of one replica, with a replica dimension and without gradients."""
    return {name: value[position : position + 1].detach() for name, value in parameters.items()}


class Updates:
    """Losses and updates of replicas; on CUDA their kernels are recorded as graphs.

    An update of a recurrent agent is some hundred kernels of a few microseconds each: launching them singly takes
    the CPU longer than the GPU needs to compute them.

    Args:
        learner: Learner of the agents.
        replicas: Their weights.
        examples: Makes a batch of meanings and messages.
    """

    def __init__(
        self,
        learner: SupervisedLearner,
        replicas: Replicas,
        examples: Callable[[Tensor, Tensor], SupervisedBatch],
    ) -> None:
        self.learner, self.replicas, self.examples = learner, replicas, examples
        self.has_graphs = replicas.flat.is_cuda and bool(replicas.shapes) and learner.has_static_operations
        self.recorded = Recorded(replicas.optimizer)
        self._loss: Tensor | None = None
        self._gradient: Tensor | None = None

    def loss(self, meanings: Tensor, messages: Tensor) -> tuple[float, list[float]]:
        """The sum of the losses, and the accuracy of each replica; waits for the device, once."""
        if self.has_graphs:
            outputs, (self._gradient,) = self.recorded("loss", self._differentiate, [meanings, messages])
            figures = outputs["figures"]
        else:
            self._loss, figures = self._compute(meanings, messages)
        loss, *accuracies = figures.tolist()
        return loss, accuracies

    def step(self) -> None:
        """Update the replicas with the gradients of the last loss."""
        if self._gradient is None:
            assert self._loss is not None
            self.replicas.update(self._loss)
        elif self.replicas.has_begun:
            self.recorded("step", self._step, [self._gradient])
        else:
            self.replicas.step(self._gradient)
        self._loss = self._gradient = None

    def should_drop(self, num_running: int) -> bool:
        """Whether to drop the replicas of ended runs while `num_running` continue."""
        number = self.replicas.count
        return not self.has_graphs or (number > MAX_UNDROPPED and num_running <= MAX_RUNNING_SHARE * number)

    def keep(self, kept: Sequence[int]) -> None:
        """Drop all replicas except the ones with these indices."""
        self.replicas.keep(kept)
        self.recorded = Recorded(self.replicas.optimizer)

    def _compute(self, meanings: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
        examples = self.examples(meanings, messages)
        self.replicas.renew()
        loss = self.learner.loss(self.replicas.parameters(), examples)
        return loss, torch.cat([loss.detach()[None], examples.accuracy])

    def _differentiate(self, meanings: Tensor, messages: Tensor) -> Outputs:
        loss, figures = self._compute(meanings, messages)
        return {"figures": figures}, [self.replicas.gradient(loss)]

    def _step(self, gradient: Tensor) -> Outputs:
        self.replicas.step(gradient)
        return {}, ()


class _AllocatedBytes(TorchDispatchMode):
    """Sum of the sizes of all new tensors."""

    num_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if not func.is_view and not func._schema.is_mutable:
            self.num_bytes += _num_bytes(*(each for each in tree_leaves(made) if isinstance(each, Tensor)))
        return made


def _num_bytes(*tensors: Tensor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def learn(
    model: str,
    role: Role,
    geometry: Geometry,
    runs: Sequence[TrainingRun],
    protocol: Protocol,
    *,
    channel: str = "soft",
    device: torch.device | None = None,
    report_progress: RunProgressCallback = lambda index, updates, accuracy: None,
) -> Iterator[tuple[int, RunOutcome]]:
    """Train runs in parallel, on a GPU in groups that fit in its free memory; runs of users' agents sequentially.

    Args:
        model: Name and options of the model.
        role: sender or receiver.
        geometry: Sizes of all the languages.
        runs: Runs to train.
        protocol: Protocol of training and measurement.
        channel: Channel of the logits, see `ecsuite.eval.icy.channels`; all but soft allow only one run.
        device: CPU if not given.
        report_progress: Called at intervals with the state of each run.

    Yields:
        The index of each run and its outcome, as soon as it ends.

    Raises:
        DivergedError: If the loss of a run is not finite; raised after all other runs have ended.
    """
    device = device or torch.device("cpu")
    spec, link, number = parse_model(role, model), parse_channel(channel), len(runs)
    if spec.family in BASELINES[role]:  # looks up and stores row by row
        device = torch.device("cpu")
    if is_foreign(spec.family):  # its dropout and buffers, as of batch normalisation, belong to one run
        number = 1
    elif device.type != "cpu" and number > 1:
        number = _runs_that_fit(spec, role, geometry, runs[0], protocol, link, device)
    diverged: list[str] = []
    for start in range(0, len(runs), number):
        chosen = runs[start : start + number]
        try:
            yield from _learn_side_by_side(
                spec, role, geometry, chosen, protocol, link, device, report_progress, start
            )
        except DivergedError as error:
            diverged.append(str(error))
    if diverged:
        raise DivergedError("; ".join(diverged))


def most_runs(num_bytes: int, free: int) -> int:
    """Number of runs of this size that fit in free memory, at least one."""
    return max(1, int(USED_SHARE * free) // max(1, num_bytes))


def _runs_that_fit(
    spec: AgentName,
    role: Role,
    geometry: Geometry,
    run: TrainingRun,
    protocol: Protocol,
    link: SupervisedChannel,
    device: torch.device,
) -> int:
    """Number of runs like this one that fit in the free memory of a device.

    A run takes at most its weights and their copies, its batches, and all tensors of the forward pass, as if none was
    freed before the backward pass, which reuses their memory.
    """
    with computing(device, protocol.precision, seed=run.seed):
        agent = make_agent(spec, role, geometry, protocol.hidden_size)
        parameters = Replicas([agent], lr=protocol.lr, clip=protocol.clip, device=device).parameters()
        # Not the learner of the training: a learner counts its updates.
        learner = make_learner(agent.to(device), geometry, link, run.seed)
        run_group = RunGroup([run], role, geometry, protocol, device)
        examples = run_group.examples(*run_group.batch(0))
        forward = _AllocatedBytes()  # type: ignore[no-untyped-call]
        with forward:
            learner.loss(parameters, examples)
        weights, batches = _num_bytes(*parameters.values()), _num_bytes(examples.meanings, examples.messages)
    num_bytes = COPIES_OF_WEIGHTS * weights + BLOCK * batches + forward.num_bytes
    return most_runs(num_bytes, free_memory(device))


def _learn_side_by_side(
    spec: AgentName,
    role: Role,
    geometry: Geometry,
    runs: Sequence[TrainingRun],
    protocol: Protocol,
    link: SupervisedChannel,
    device: torch.device,
    report_progress: RunProgressCallback,
    first: int,
) -> Iterator[tuple[int, RunOutcome]]:
    """Train runs that fit in memory; see `learn`. `first` is the index of `runs[0]` among all runs."""
    last_report = time.monotonic()
    diverged: list[str] = []
    with computing(device, protocol.precision, seed=runs[0].seed):
        agents = []
        for run in runs:
            # Only initial weights, and users' agents, which are trained alone, draw from torch's global generators.
            torch.manual_seed(run.seed)
            agents.append(make_agent(spec, role, geometry, protocol.hidden_size))
        replicas = Replicas(agents, lr=protocol.lr, clip=protocol.clip, device=device)
        learner = make_learner(agents[0].to(device), geometry, link, runs[0].seed)
        run_group = RunGroup(runs, role, geometry, protocol, device)
        steps = Updates(learner, replicas, run_group.examples)
        if steps.has_graphs:  # graphs keep using the memory of their learner, so evaluation gets another one
            learner = make_learner(agents[0], geometry, link, runs[0].seed)
        updates = 0
        while run_group.running:
            batch = run_group.batch(updates)
            loss, accuracies = steps.loss(*batch)
            parameters = replicas.parameters()
            ended = [] if math.isfinite(loss) else run_group.diverged(learner, parameters, *batch)
            for position in ended:
                run = runs[run_group.active[position]]
                diverged.append(
                    f"{role} {spec} on {run.grammar}, seed {run.seed}: the loss is not finite after {updates} updates"
                )
            for position, (index, accuracy) in enumerate(zip(run_group.active, accuracies, strict=True)):
                if position in ended or index in run_group.ended:
                    continue
                early_stopping = run_group.early_stoppings[index]
                decision = early_stopping.observe(updates, accuracy)
                if decision is not None:
                    ended.append(position)
                    agents[index].load_state_dict(replicas.replica(position), strict=False)
                    state = agents[index].eval().state_dict()
                    outcome = RunOutcome(
                        **asdict(decision),
                        grammar=runs[index].grammar,
                        seed=runs[index].seed,
                        accuracy=early_stopping.accuracy,
                        floor=run_group.floors[index],
                        held_out=run_group.held_out_accuracy(learner, parameters, position),
                        weights={name: each.cpu().clone() for name, each in state.items()},
                    )
                    yield first + index, outcome
            run_group.end(ended)
            kept = run_group.running
            if kept:
                steps.step()
                updates += 1
            is_finite = math.isfinite(loss)
            if 0 < len(kept) < len(run_group.active) and (steps.should_drop(len(kept)) or not is_finite):
                run_group.keep(kept)
                steps.keep(kept)
            if time.monotonic() - last_report > SECONDS_BETWEEN_REPORTS:
                last_report = time.monotonic()
                for index in (run_group.active[position] for position in run_group.running):
                    report_progress(first + index, updates, run_group.early_stoppings[index].accuracy)
    if diverged:
        raise DivergedError("; ".join(diverged))
