"""Batches of a seed never change: runs, corpora and published figures depend on these very rounds.

`python tests/games/worlds/test_same_batches.py` writes the digests anew, for a change that says so in CHANGELOG.md.
"""

import hashlib
import json
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world

FILE = Path(__file__).with_suffix(".json")
FIELDS = ("objects", "shown", "candidates", "labels", "values", "rules", "present", "ids")
SIZES = ("training.batch_size=8", "training.num_examples=44", "evaluation.num_valid=20")
SETS = "task.kind=concept task.num_targets=2 task.num_distractors=3"
TASKS = ("", "task.sender_input=targets_and_distractors", "task.kind=in_batch", "task.fewest_distractors=1")
ATTRIBUTES = (
    "",
    "world.num_attributes=12 world.num_values=8",
    "world.held_out=0.3",
    "world.num_attributes=3 world.held_out=0.25 world.rare_combinations=1",
    "world.frequencies=power_law,exponent=2 world.held_out=0.4",
    "world.kind=unequal_attributes world.num_values=[4,3,2] world.exponents=[2,0,1]",
    "world.kind=letter_strings world.max_count=4",
    "world.kind=objects world.objects=objects.csv world.held_out=0.4",
    "world.kind=objects world.objects=objects.csv world.held_out_value=color=a",
    "world.kind=digits world.held_out=0.2",
)
GAMES = [f"{task} {world}".strip() for world, task in product(ATTRIBUTES, TASKS)]
CASES = [
    *GAMES,
    *(f"{game} world.candidates=split" for game in GAMES if "held_out" in game),
    "world.num_attributes=3 world.shared_values=1",
    "world.kind=objects world.objects=objects.csv world.distractors=nearest",
    f"world.kind=thing world.num_attributes=3 world.rule_length=2 world.held_out=0.25 {SETS}",
    f"world.kind=thing world.num_attributes=3 world.rule_length=2 world.distractors=hard {SETS}",
]


def digest(case):
    """The first characters of a SHA-256 of batches of every split and of the corpus."""
    world, made = make_world(load_experiment("disc_tiny", [*SIZES, *case.split()])), hashlib.sha256()
    batches = [world.batch(split, number) for split in world.splits for number in (0, 1, 5, 7)]
    for batch in (*batches, *islice(world.corpus_batches(30), 8)):
        for name in FIELDS:
            values = getattr(batch, name)
            made.update(name.encode())
            if values is not None:
                content = np.ascontiguousarray(values).tobytes()
                made.update(f"{values.dtype} {values.shape}".encode() + content)
    return made.hexdigest()[:16]


def write_table(folder):
    """A table of 16 objects."""
    rows = "".join(f"{color},{shape}\n" for color, shape in product("abcd", "efgh"))
    (folder / "objects.csv").write_text("color,shape\n" + rows)


@pytest.mark.sample(34)
@pytest.mark.parametrize("case", CASES)
def test_batches_are_those_that_were_recorded(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)
    assert digest(case) == json.loads(FILE.read_text())[case]


if __name__ == "__main__":
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_table(Path(folder))
        FILE.write_text(json.dumps({case: digest(case) for case in CASES}, indent=1) + "\n")
