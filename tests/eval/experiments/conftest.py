"""A sweep and a table of CBM that train in a second, and a small collection in the layout of ELCC."""

import json

import pytest

from ecsuite.eval.experiments.cbm import load_table

SMALL = {
    "base": "disc_tiny",
    "vary": {"channel.kind": ["gumbel", "reinforce"], "channel.vocab_size": [3, 5]},
    "seeds": 2,
    "set": {
        "training.num_examples": 64,
        "training.batch_size": 32,
        "training.num_epochs": 1,
        "evaluation.num_valid": 32,
        "sender.hidden_size": 4,
        "receiver.hidden_size": 4,
    },
    "score": ["topsim", "elcc"],
}


@pytest.fixture
def small():
    """The content of its YAML file."""
    return {**SMALL, "set": dict(SMALL["set"]), "vary": dict(SMALL["vary"])}


LANGUAGES = {
    ("egg-disc", "4-attr"): [[1, 3, 0], [1, 4, 0], [2, 3, 0], [2, 4, 0]] * 5,
    ("egg-disc", "8-attr"): [[1, 1, 0], [2, 2, 0], [2, 1, 0], [1, 2, 0]] * 5,
    ("egg-disc", "2-attr"): [[1, 0], [2, 0]] * 5,
    ("rlupus", "9-player.run-3"): [[5, 6, 7, 8], [8], [7, 7]] * 7,
    ("rlupus", "9-player.run-4"): [[5], [8, 8], [6, 7]] * 7,
    ("nav", "lexicon"): [[1, 2], [2, 1], [3]] * 6,
    ("nav", "lexicon_2"): [[1, 2, 3], [3, 3], [2]] * 6,
}


@pytest.fixture
def collection(tmp_path):
    """The paths of the corpora."""
    paths = []
    for (system, variant), messages in LANGUAGES.items():
        folder = tmp_path / "systems" / system / "data" / variant
        folder.mkdir(parents=True)
        (folder / "corpus.jsonl").write_text("".join(f"{message}\n" for message in messages))
        (folder / "metadata.json").write_text(json.dumps({"variant": variant}))
        (folder.parent.parent / "system.json").write_text(json.dumps({"game_type": system}))
        paths.append(folder / "corpus.jsonl")
    return paths


SMALL_TABLE = """
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
def small_table(tmp_path):
    """Two rows with two seeds."""
    (tmp_path / "small.yaml").write_text(SMALL_TABLE)
    return load_table(str(tmp_path / "small.yaml"), assignments=QUICK)
