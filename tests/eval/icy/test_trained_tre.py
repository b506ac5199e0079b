"""TRE7 by gradient descent, as in the ICY program: never below our optimum, and close to it after enough steps."""

import numpy as np
import pytest
import torch

from ecsuite.eval.counts.positions import position_columns
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.tre import draw_objects, plain_tre7
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

GEOMETRY = Geometry(num_attributes=2, num_values=4, word_length=2, vocab_size=3)


def trained_tre7(corpus, *, is_trained, num_steps, lr=0.01):
    """The error that Adam reaches by training tables of attribute values and, optionally, projections of positions.

    Tables are initialised to zero, projections like torch's linear layers. In the paper the projections are trained;
    its program leaves them at their initial values. Its tables have two symbols that are in no message.
    """
    rows = draw_objects(corpus, 0)
    columns, values = position_columns(corpus)[:, rows] - 1, torch.from_numpy(corpus.meanings[rows])
    symbols = np.arange(columns.max() + 3)
    # (num_objects, num_symbols, num_positions)
    target = torch.from_numpy((columns.T[:, None] == symbols[:, None]).astype(np.float32))
    num_attributes, num_positions = values.shape[1], len(columns)
    projections = [
        torch.empty(num_attributes, 1, height, num_positions).uniform_(
            -(num_positions**-0.5), num_positions**-0.5, generator=torch.Generator().manual_seed(height)
        )
        for height in (num_positions, 1)
    ]
    tables = torch.zeros(num_attributes, int(values.max()) + 1, len(symbols), num_positions)
    trained = [tables, *projections] if is_trained else [tables]
    optimizer = torch.optim.Adam([parameter.requires_grad_() for parameter in trained], lr=lr)
    for _ in range(num_steps):
        parts = tables @ projections[0] + projections[1]
        error = (sum(part[value] for part, value in zip(parts, values.T, strict=True)) - target).abs().sum()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
    return error.item() / len(rows)


@pytest.mark.parametrize("is_trained", [True, False])
@pytest.mark.parametrize("name", ["concat", "rot", "hol"])
def test_the_optimum_is_a_lower_bound(name, is_trained):
    corpus = language(name, GEOMETRY, 0).corpus()
    reached = trained_tre7(corpus, is_trained=is_trained, num_steps=60)
    assert reached >= plain_tre7(corpus, Options())[0].value - 1e-4


@pytest.mark.slow
def test_descent_approaches_the_optimum():
    corpus = language("rot", GEOMETRY, 0).corpus()
    reached = trained_tre7(corpus, is_trained=True, num_steps=600, lr=0.003)
    assert reached == pytest.approx(plain_tre7(corpus, Options())[0].value, abs=0.05)
