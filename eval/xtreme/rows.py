"""Rows: inputs of a backbone and targets of a head."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ecsuite.eval.models.training import bucketed
from ecsuite.runtime.devices import sent

IGNORED = -100
"""Target of a position without a label."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Inputs as rows of sub-words, with targets."""

    ids: Sequence[Sequence[int]]
    """Sub-words of each row, with special symbols."""
    targets: Sequence[Sequence[int]]
    """For labels, one per sub-word or `IGNORED`; for spans, the positions of the first and the last sub-word."""
    padding: int
    """Padding symbol of shorter rows."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_tokens(self) -> int:
        """Total number of sub-words."""
        return sum(map(len, self.ids))

    def take(
        self, index: Sequence[int], device: torch.device, most: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A batch of some rows, padded, up to a length `most` such that there are few shapes; see `bucketed`.

        Returns:
            Sub-words (rows, longest) and mask without padding (rows, longest) on the device, and targets (rows, longest
            or 2), on the CPU unless the device is CUDA.
        """
        lengths = torch.tensor([len(self.ids[row]) for row in index])
        longest = bucketed(int(lengths.max()), most, device)
        ids = _pad([self.ids[row] for row in index], self.padding, longest)
        mask = torch.arange(longest) < lengths[:, None]
        widths = {len(self.targets[row]) - len(self.ids[row]) for row in index}
        targets = _pad([self.targets[row] for row in index], IGNORED, longest if widths == {0} else 0)
        targets = sent(targets, device) if device.type == "cuda" else targets
        return sent(ids, device), sent(mask, device), targets

    def batches(self, batch: int, order: Iterable[int] | None = None) -> list[list[int]]:
        """Batches of `batch` rows of similar length; rows of equal length stay in the given order."""
        by_length = sorted(order or range(len(self)), key=lambda row: len(self.ids[row]))
        return [by_length[start : start + batch] for start in range(0, len(by_length), batch)]

    def shuffled(self, batch: int, generator: torch.Generator) -> list[list[int]]:
        """Batches as above, in random order; rows of equal length are in random order, too."""
        batches = self.batches(batch, torch.randperm(len(self), generator=generator).tolist())
        return [batches[position] for position in torch.randperm(len(batches), generator=generator).tolist()]


def _pad(rows: Sequence[Sequence[int]], padding: int, least: int = 0) -> Tensor:
    """Rows of different lengths as one padded tensor, at least so long."""
    longest = max(least, *map(len, rows))
    return torch.tensor([[*row, *([padding] * (longest - len(row)))] for row in rows])
