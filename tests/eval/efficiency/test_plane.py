"""The efficiency plane of records: languages by kind, beside the bound of their space; others are refused."""

import numpy as np
import pytest

from ecsuite.eval.efficiency import bound as bounds
from ecsuite.eval.efficiency.kept_bounds import bound_of
from ecsuite.eval.records.source import Record, Source
from ecsuite.eval.reports.efficiency_plane import draw_plane
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.space import Space

TOY = Space(name="toy", beliefs=np.eye(2), need=np.array([0.5, 0.5]), vectors=np.arange(2)[:, None])


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.setattr(bounds, "NUM_BETAS", 30)
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))


def source(name, complexity, accuracy, digest=TOY.digest, **more):
    signature = f"x|space:toy|need:space|digest:{digest}|v:1"
    values = {"complexity,space=toy": complexity, "semantic_accuracy,space=toy": accuracy}
    records = [Record(score=score, value=value, signature=signature) for score, value in values.items()]
    return Source(name=name, file=more.pop("file"), records=tuple(records), **more)


def test_languages_are_points_beside_the_bound(tmp_path):
    bound_of(TOY)
    game = {"game": "disc_tiny", "file": tmp_path}
    figure = draw_plane(
        [source("a", 1.0, 0.9, **game), source("b", 0.5, 0.4, **game), source("c", 0.2, 0.1, file=tmp_path)]
    )
    [axes] = figure.axes
    bound, agents, corpus = axes.get_lines()
    assert max(bound.get_xdata()) <= 1.15
    assert agents.get_xdata().tolist() == [0.5, 1.0] and agents.get_ydata().tolist() == [0.4, 0.9]
    assert corpus.get_xdata().tolist() == [0.2]


def test_what_is_on_no_plane(tmp_path):
    one, other = source("a", 1.0, 0.9, file=tmp_path), source("b", 1.0, 0.9, "ff", file=tmp_path)
    with pytest.raises(ConfigError, match="not kept on this machine"):
        draw_plane([one])
    with pytest.raises(ConfigError, match="a and b are of different spaces"):
        draw_plane([one, other])
    with pytest.raises(ConfigError, match="c has no complexity: score it with --metrics efficiency"):
        draw_plane([Source(name="c", file=tmp_path)])
