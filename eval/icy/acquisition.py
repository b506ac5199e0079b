"""Acquisition: train runs side by side, each until its protocol has seen enough.

Everything that a run sees is a function of its seed, so it counts the same in whatever company it is trained.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ecsuite.agents.imitation import Imitator, Lesson
from ecsuite.agents.kernels import Parameters
from ecsuite.agents.precision import routed_products
from ecsuite.agents.spec import Role, parse_agent
from ecsuite.eval.icy.course import Course, Run
from ecsuite.eval.icy.protocol import Protocol, Watch
from ecsuite.eval.icy.pupils import make_agent, make_pupil
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
    device: torch.device | None = None,
    tell: Watcher = lambda index, updates, accuracy: None,
) -> list[Outcome]:
    """Train runs side by side.

    Args:
        model: Name and options of the agent.
        role: sender or receiver.
        geometry: Of all the languages.
        runs: What to learn.
        protocol: How to measure.
        device: CPU if not given.
        tell: Is told how it goes.

    Returns:
        Outcomes in the order of the runs.
    """
    device = device or torch.device("cpu")
    began = told = time.monotonic()
    spec = parse_agent(role, model)
    agents = []
    for run in runs:
        torch.manual_seed(run.seed)  # the first weights, and nothing else, come from torch's own generator
        agents.append(make_agent(spec, role, geometry, protocol.hidden_size))
    pupil = make_pupil(agents[0], geometry)
    replicas = Replicas(agents, lr=protocol.lr, clip=protocol.clip, device=device)
    school = School(runs, role, geometry, protocol, device)
    outcomes = dict[int, Outcome]()
    updates = 0
    with routed_products(device, protocol.precision):
        while school.alive:
            lesson = school.lesson(updates)
            parameters = replicas.parameters()
            loss = pupil.loss(parameters, lesson)
            ended = []
            for place, (index, accuracy) in enumerate(zip(school.alive, lesson.right.tolist(), strict=True)):
                verdict = school.watches[index].see(updates, accuracy)
                if verdict is not None:
                    ended.append(place)
                    outcomes[index] = Outcome(
                        grammar=runs[index].grammar,
                        seed=runs[index].seed,
                        steps=verdict.steps,
                        reached=verdict.reached,
                        is_early=verdict.is_early,
                        accuracy=school.watches[index].accuracy,
                        floor=school.floors[index],
                        held_out=school.held_out_accuracy(pupil, parameters, place),
                        seconds=time.monotonic() - began,
                        weights=replicas.replica(place),
                    )
            if len(ended) < len(school.alive):
                replicas.update(loss)
                updates += 1
            if ended:
                kept = [place for place in range(len(school.alive)) if place not in ended]
                school.keep(kept)
                if kept:
                    replicas.keep(kept)
            if time.monotonic() - told > 0.5:
                told = time.monotonic()
                for index in school.alive:
                    tell(index, updates, school.watches[index].accuracy)
    return [outcomes[index] for index in range(len(runs))]


class School:
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
        self.courses = [
            Course(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out) for run in runs
        ]
        guess = 1 / geometry.num_values
        self.floors = [course.floor if role == "sender" else guess for course in self.courses]
        self.watches: list[Watch] = [
            protocol.watch(run.cap, floor) for run, floor in zip(runs, self.floors, strict=True)
        ]
        self.alive = list(range(len(runs)))
        """Indices of the runs that go on; the place of a run in this list is that of its replica."""

    def keep(self, places: Sequence[int]) -> None:
        """Let only the runs at these places go on."""
        self.alive = [self.alive[place] for place in places]

    def lesson(self, updates: int) -> Lesson:
        """The batches of all runs that go on."""
        return self._lesson([(index, self.courses[index].batch(updates)) for index in self.alive])

    def held_out_accuracy(self, pupil: Imitator, parameters: Parameters, place: int) -> float | None:
        """Accuracy of one replica on its held-out meanings; None if there are none."""
        index = self.alive[place]
        held_out = self.courses[index].held_out
        if not len(held_out):
            return None
        own = {name: value[place : place + 1].detach() for name, value in parameters.items()}
        right = 0.0
        for chosen in held_out.split(HELD_OUT_BATCH):
            lesson = self._lesson([(index, chosen)])
            with torch.no_grad():
                pupil.loss(own, lesson)
            right += float(lesson.right) * len(chosen)
        return right / len(held_out)

    def _lesson(self, batches: Sequence[tuple[int, Tensor]]) -> Lesson:
        courses = [(self.courses[index], chosen) for index, chosen in batches]
        meanings = torch.stack([course.meanings[chosen].t() for course, chosen in courses])
        messages = torch.stack([course.messages[chosen].t() for course, chosen in courses], dim=1)
        return Lesson(
            meanings.to(self.device, non_blocking=True),
            messages.to(self.device, non_blocking=True),
            self.geometry.num_values,
            self.geometry.vocab_size + 1,
        )
