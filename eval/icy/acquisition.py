"""Acquisition: train runs side by side, each until its protocol has seen enough.

Everything that a run sees is a function of its seed, so it counts the same in whatever company it is trained.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ecsuite.agents.spec import Role, parse_agent
from ecsuite.devices import routed_products
from ecsuite.eval.icy.batches import BLOCK, LanguageDataset, Run
from ecsuite.eval.icy.channels import parse_channel
from ecsuite.eval.icy.fast.recurrent_kernels import Parameters
from ecsuite.eval.icy.fast.supervised_batches import Learner, SupervisedBatch
from ecsuite.eval.icy.learners import make_agent, make_learner
from ecsuite.eval.icy.protocol import EarlyStopping, Protocol
from ecsuite.eval.icy.replicas import Replicas
from ecsuite.grammars.geometry import Geometry

HELD_OUT_BATCH = 1024
"""Held-out meanings that are checked at once."""

Watcher = Callable[[int, int, float], None]
"""Told now and then: index of a run, its updates so far, its accuracy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a run."""

    grammar: str
    seed: int
    steps: int
    """Updates until the language was acquired, or those made in vain."""
    reached: bool
    """Whether it was acquired."""
    is_early: bool
    """Whether it was given up before the cap."""
    accuracy: float
    """At the end, as the protocol saw it."""
    floor: float
    """Accuracy that needs no learning."""
    held_out: float | None
    """Accuracy on all held-out meanings at the end."""
    seconds: float
    """Wall-clock time, shared by the runs that were trained together."""
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
    report_progress: Watcher = lambda index, updates, accuracy: None,
) -> list[Outcome]:
    """Train runs side by side.

    Args:
        model: Name and options of the agent.
        role: sender or receiver.
        geometry: Of all the languages.
        runs: What to learn.
        protocol: How to measure.
        channel: What scores go through, see `ecsuite.eval.icy.channels`; over any but soft a run learns alone.
        device: CPU if not given.
        report_progress: Is told how it goes.

    Returns:
        Outcomes in the order of the runs.
    """
    device = device or torch.device("cpu")
    began = told = time.monotonic()
    spec = parse_agent(role, model)
    agents = []
    with torch.random.fork_rng(devices=[]):
        for run in runs:
            torch.manual_seed(
                run.seed
            )  # the first weights, and nothing else, come from torch's own generator
            agents.append(make_agent(spec, role, geometry, protocol.hidden_size))
    replicas = Replicas(agents, lr=protocol.lr, clip=protocol.clip, device=device)
    learner = make_learner(agents[0].to(device), geometry, parse_channel(channel), runs[0].seed)
    run_group = RunGroup(runs, role, geometry, protocol, device)
    outcomes = dict[int, Outcome]()
    updates = 0
    with routed_products(device, protocol.precision):
        while run_group.alive:
            examples = run_group.examples(updates)
            parameters = replicas.parameters()
            loss = learner.loss(parameters, examples)
            ended = []
            for place, (index, accuracy) in enumerate(
                zip(run_group.alive, examples.accuracy.tolist(), strict=True)
            ):
                decision = run_group.early_stoppings[index].see(updates, accuracy)
                if decision is not None:
                    ended.append(place)
                    outcomes[index] = Outcome(
                        grammar=runs[index].grammar,
                        seed=runs[index].seed,
                        steps=decision.steps,
                        reached=decision.reached,
                        is_early=decision.is_early,
                        accuracy=run_group.early_stoppings[index].accuracy,
                        floor=run_group.floors[index],
                        held_out=run_group.held_out_accuracy(learner, parameters, place),
                        seconds=time.monotonic() - began,
                        weights=replicas.replica(place),
                    )
            if len(ended) < len(run_group.alive):
                replicas.update(loss)
                updates += 1
            if ended:
                kept = [place for place in range(len(run_group.alive)) if place not in ended]
                run_group.keep(kept)
                if kept:
                    replicas.keep(kept)
            if time.monotonic() - told > 0.5:
                told = time.monotonic()
                for index in run_group.alive:
                    report_progress(index, updates, run_group.early_stoppings[index].accuracy)
    return [outcomes[index] for index in range(len(runs))]


class RunGroup:
    """Runs that learn in step: their languages, batches and watches.

    Args:
        runs: What to learn.
        role: sender or receiver.
        geometry: Of all the languages.
        protocol: How to measure.
        device: Where to put the batches.
    """

    def __init__(
        self, runs: Sequence[Run], role: Role, geometry: Geometry, protocol: Protocol, device: torch.device
    ) -> None:
        self.geometry, self.device = geometry, device
        self.datasets = [
            LanguageDataset(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out)
            for run in runs
        ]
        guess = 1 / geometry.num_values
        self.floors = [dataset.floor if role == "sender" else guess for dataset in self.datasets]
        self.early_stoppings: list[EarlyStopping] = [
            protocol.early_stopping(run.cap, floor) for run, floor in zip(runs, self.floors, strict=True)
        ]
        self.alive = list(range(len(runs)))
        """Indices of the runs that go on; the place of a run in this list is that of its replica."""

        self._block = -1
        self._meanings = self._messages = torch.zeros(0)

    def keep(self, places: Sequence[int]) -> None:
        """Let only the runs at these places go on."""
        self.alive = [self.alive[place] for place in places]
        self._meanings, self._messages = self._meanings[:, list(places)], self._messages[:, :, list(places)]

    def examples(self, updates: int) -> SupervisedBatch:
        """The batches of all runs that go on."""
        block, place = divmod(updates, BLOCK)
        if block != self._block:
            self._block = block
            meanings, messages = zip(
                *(self.datasets[index].block(block) for index in self.alive), strict=True
            )
            self._meanings = torch.stack(meanings, dim=1).to(
                self.device
            )  # (BLOCK, replicas, attributes, batch)
            self._messages = torch.stack(messages, dim=2).to(self.device)  # (BLOCK, length, replicas, batch)
        return self._examples(self._meanings[place], self._messages[place])

    def held_out_accuracy(self, learner: Learner, parameters: Parameters, place: int) -> float | None:
        """Accuracy of one replica on its held-out meanings; None if there are none."""
        dataset = self.datasets[self.alive[place]]
        if not len(dataset.held_out):
            return None
        own = {name: value[place : place + 1].detach() for name, value in parameters.items()}
        right = 0.0
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
