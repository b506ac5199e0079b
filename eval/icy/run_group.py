"""Runs that are trained side by side: their data sets and batches, and which of them go on."""

import math
from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.batches import BLOCK, LanguageDataset, Run
from ecsuite.eval.icy.fast.cells import Parameters
from ecsuite.eval.icy.fast.senders import Learner, SupervisedBatch
from ecsuite.eval.icy.protocol import EarlyStopping, Protocol
from ecsuite.grammars.geometry import Geometry

HELD_OUT_BATCH, LARGE_HELD_OUT_BATCH = 1024, 16_384
"""Number of held-out meanings in a batch on the CPU, and on others, where few large batches take less time."""


class RunGroup:
    """Runs that are trained side by side, and their early stopping; for the arguments see `acquisition.learn`.

    A run that has ended may still be computed, as long as it costs less than to go on without it.
    """

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
        """Indices of the runs that are computed; the position of a run in this list is that of its replica."""
        self.ended: set[int] = set()
        """Indices of those of them that have ended."""

        self._block = -1
        self._meanings = self._messages = torch.zeros(0)
        self._tables = torch.zeros(0)
        """On other devices than the CPU the messages of all runs, (runs, num_meanings, length)."""
        if device.type != "cpu":
            self._tables = torch.from_numpy(np.stack([dataset.messages for dataset in self.datasets]))
            self._tables = self._tables.to(device)

    @property
    def going(self) -> list[int]:
        """The positions in `active` of the runs that have not ended."""
        return [place for place, index in enumerate(self.active) if index not in self.ended]

    def end(self, places: Collection[int]) -> None:
        """Note that the runs at these positions of `active` have ended."""
        self.ended |= {self.active[place] for place in places}

    def keep(self, places: Sequence[int]) -> None:
        """Continue only the runs at these positions of `active`."""
        self.active = [self.active[place] for place in places]
        self.ended.intersection_update(self.active)
        self._meanings, self._messages = self._meanings[:, list(places)], self._messages[:, :, list(places)]

    def batch(self, updates: int) -> tuple[Tensor, Tensor]:
        """The batches of all active runs: meanings and messages as `SupervisedBatch` takes them."""
        block, place = divmod(updates, BLOCK)
        if block != self._block:
            self._block = block
            # (BLOCK, replicas, attributes, batch) and (BLOCK, length, replicas, batch)
            self._meanings, self._messages = self._drawn(block)
        return self._meanings[place], self._messages[place]

    def _drawn(self, block: int) -> tuple[Tensor, Tensor]:
        datasets = [self.datasets[index] for index in self.active]
        if self.device.type == "cpu":
            meanings, messages = zip(*(dataset.block(block) for dataset in datasets), strict=True)
            return torch.stack(meanings, dim=1), torch.stack(messages, dim=2)
        # Numbers of meanings are sent, and looked up there; those of one seed are the same in all languages.
        by_seed = {dataset.seed: dataset for dataset in datasets}
        drawn = {seed: dataset.draw(block) for seed, dataset in by_seed.items()}
        chosen = torch.from_numpy(np.stack([drawn[dataset.seed] for dataset in datasets], axis=1))
        chosen = chosen.to(self.device)  # (BLOCK, replicas, batch)
        rows = self._tables[torch.tensor(self.active, device=self.device)[:, None], chosen]
        powers = torch.arange(self.geometry.num_attributes - 1, -1, -1, device=self.device)
        weights = self.geometry.num_values ** powers[:, None]
        meanings_there = chosen[:, :, None] // weights % self.geometry.num_values
        return meanings_there, rows.permute(0, 3, 1, 2).long().contiguous()

    def examples(self, meanings: Tensor, messages: Tensor) -> SupervisedBatch:
        """A batch with what the learners need of it."""
        return SupervisedBatch(meanings, messages, self.geometry.num_values, self.geometry.vocab_size + 1)

    def diverged(
        self, learner: Learner, parameters: Parameters, meanings: Tensor, messages: Tensor
    ) -> list[int]:
        """The positions in `active` of the runs that have not ended and whose own loss is not finite."""
        found = []
        for place in self.going:
            examples = self.examples(meanings[place : place + 1], messages[:, place : place + 1])
            with torch.no_grad():
                loss = learner.loss(_replica(parameters, place), examples)
            if not math.isfinite(loss.item()):
                found.append(place)
        return found

    def held_out_accuracy(self, learner: Learner, parameters: Parameters, place: int) -> float | None:
        """Accuracy of one replica on its held-out meanings; None if there are none."""
        dataset = self.datasets[self.active[place]]
        if not len(dataset.held_out):
            return None
        own, right = _replica(parameters, place), 0.0
        size = HELD_OUT_BATCH if self.device.type == "cpu" else LARGE_HELD_OUT_BATCH
        for start in range(0, len(dataset.held_out), size):
            chosen = dataset.held_out[start : start + size]
            meanings, messages = dataset.examples(chosen[None])
            examples = self.examples(meanings.to(self.device), messages[0, :, None].to(self.device))
            with torch.no_grad():
                learner.loss(own, examples)
            right += float(examples.accuracy) * len(chosen)
        return right / len(dataset.held_out)


def _replica(parameters: Parameters, place: int) -> Parameters:
    """The parameters of one replica, with a replica dimension and without gradients."""
    return {name: value[place : place + 1].detach() for name, value in parameters.items()}
