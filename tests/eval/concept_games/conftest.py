"""A study that trains in one second."""

import pytest

from ecsuite.eval.concept_games.study import load_study

SMALL = """
about: two games, small
published: table1
seeds: [1, 2]
rows:
  - {name: thing_gs, base: thing_gs}
  - {name: thing_qt, base: thing_qt, set: {channel.word_size: 4}}
"""

QUICK = (
    "training.num_examples=128", "training.num_epochs=1", "evaluation.num_valid=64", "evaluation.corpus_size=150",
    "world.num_values=4", "task.num_targets=4", "task.num_distractors=4",
)  # fmt: skip


@pytest.fixture
def small(tmp_path):
    """Two rows with two seeds."""
    (tmp_path / "small.yaml").write_text(SMALL)
    return load_study(str(tmp_path / "small.yaml"), assignments=QUICK, folder=tmp_path / "runs")
