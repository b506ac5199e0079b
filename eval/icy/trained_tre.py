"""TRE7 by gradient descent, as in the ICY program: an upper bound of the optimum in `eval.metrics.tre`."""

from typing import Literal

import numpy as np
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.tre import draw_objects
from ecsuite.eval.statistics.positions import attributes_or_reason, position_columns


def trained_tre7(
    corpus: Corpus,
    seed: int,
    *,
    projection: Literal["trained", "fixed"] = "trained",
    num_steps: int = 1000,
    lr: float = 0.01,
    num_unused_symbols: int = 2,
) -> float:
    """The error that Adam reaches by training the tables and, optionally, the projections of positions.

    Tables of attribute values are initialised to zero, projections like torch's linear layers; each step uses all
    objects, and its loss is the sum of their errors. In the paper the projections are trained; its program leaves
    them at their initial values (`fixed`).

    Args:
        corpus: Messages of equal length with attribute values.
        seed: Seed of the sampled objects and of the projections.
        projection: Whether the projections are trained.
        num_steps: Number of Adam steps.
        lr: Learning rate of Adam.
        num_unused_symbols: Number of symbols that are in the tables but in no message; the program has two.

    Returns:
        The error before the last step, the mean over objects.

    Raises:
        ValueError: If the corpus has no attribute values.
    """
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        raise ValueError(f"TRE7: expected attribute values: {attributes}")
    rows = draw_objects(len(attributes), seed)
    columns, values = position_columns(corpus)[:, rows] - 1, torch.from_numpy(attributes[rows])
    num_positions, num_values = len(columns), int(attributes.max()) + 1
    symbols = np.arange(columns.max() + 1 + num_unused_symbols)
    # (num_objects, num_symbols, num_positions)
    target = torch.from_numpy((columns.T[:, None] == symbols[:, None]).astype(np.float32))

    generator = torch.Generator().manual_seed(seed)
    num_attributes, bound = values.shape[1], num_positions**-0.5
    weight = torch.empty(num_attributes, 1, num_positions, num_positions)
    bias = torch.empty(num_attributes, 1, 1, num_positions)
    for parameter in (weight, bias):
        parameter.uniform_(-bound, bound, generator=generator)
    tables = torch.zeros(num_attributes, num_values, len(symbols), num_positions, requires_grad=True)
    parameters = [tables]
    if projection == "trained":
        parameters += [weight.requires_grad_(), bias.requires_grad_()]
    optimiser = torch.optim.Adam(parameters, lr=lr)
    error = torch.zeros(())
    for _ in range(num_steps):
        parts = tables @ weight + bias
        rebuilt = sum(part[value] for part, value in zip(parts, values.T, strict=True))
        error = (rebuilt - target).abs().sum()
        optimiser.zero_grad()
        error.backward()
        optimiser.step()
    return error.item() / len(rows)
