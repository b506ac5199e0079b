"""TRE7 by gradient descent, as the ICY program finds it: an upper bound of the optimum in `eval.metrics.tre`."""

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
    """The error that Adam reaches on the tables and, perhaps, on the projections of positions.

    Tables of attribute values start at zero, projections with torch's random start of a linear map; each
    step sees all objects, and its loss is the sum of their errors. The paper means to train the
    projections; its program leaves them as they start (`fixed`).

    Args:
        corpus: Messages of equal length with attribute values.
        seed: Of the objects drawn and of the projections.
        projection: Whether the projections are trained.
        num_steps: Adam's steps.
        lr: Adam's learning rate.
        num_unused_symbols: Symbols that are in the tables and never said; the program has two.

    Returns:
        The error before the last step, the mean over objects.

    Raises:
        ValueError: If the corpus has no attribute values.
    """
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        raise ValueError(f"no TRE7 to train: {attributes}")
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
