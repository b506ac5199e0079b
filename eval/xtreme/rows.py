"""Rows: what a body reads and what a head is to say about it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

IGNORED = -100
"""The target of a place about which nothing is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Inputs, each a row of sub-words."""

    ids: Sequence[Sequence[int]]
    """Sub-words of each row, with special symbols."""
    targets: Sequence[Sequence[int]]
    """For labels, one a sub-word or `IGNORED`; for stretches, the places of the first and the last sub-word."""
    padding: int
    """Fills up shorter rows."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_tokens(self) -> int:
        """Sub-words in all."""
        return sum(map(len, self.ids))

    def take(self, index: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Some rows side by side.

        Returns:
            Sub-words (rows, longest), which of them are there (rows, longest), and targets (rows, longest or 2).
        """
        ids = _side_by_side([self.ids[row] for row in index], self.padding).to(device)
        lengths = torch.tensor([len(self.ids[row]) for row in index], device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        targets = _side_by_side([self.targets[row] for row in index], IGNORED).to(device)
        return ids, mask, targets

    def batches(self, batch: int, order: Iterable[int] | None = None) -> list[list[int]]:
        """Rows of about the same length together, `batch` at a time; those of equal length in the given order."""
        by_length = sorted(order or range(len(self)), key=lambda row: len(self.ids[row]))
        return [by_length[start : start + batch] for start in range(0, len(by_length), batch)]

    def shuffled(self, batch: int, num_epochs: int, generator: torch.Generator) -> Iterator[list[int]]:
        """Such batches, others in each epoch, in random order."""
        for _ in range(num_epochs):
            batches = self.batches(batch, torch.randperm(len(self), generator=generator).tolist())
            for place in torch.randperm(len(batches), generator=generator).tolist():
                yield batches[place]


def _side_by_side(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    """Rows of different lengths as one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *([filler] * (longest - len(row)))] for row in rows])
