"""Every setting of every shipped experiment is read: another value of it gives another run, or is refused.

Runs are compared in stages, the cheapest first, up to the first difference.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from quick_checks import signalling_games

from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.config.sections import PARTS, PLAIN
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import Population
from ecsuite.games.training.train import train
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

OWN = ("objects", "images")
"""Worlds of the user's objects."""


SAMPLE = {
    "disc_tiny": ("name", "about", *PARTS, *PLAIN),
    "thing_qt": ("world", "channel"),
    "shape_gs_l4": ("sender",),
}
"""Sections of experiments that are tested every time; the others of the second and third are as in the first."""

REDUCED = {
    "world.num_attributes": 5, "world.num_values": 3, "world.images_per_batch": 8, "world.images_per_label": 2,
    "task.num_targets": 2, "task.num_distractors": 2, "channel.vocab_size": 7, "channel.max_len": 2,
    "sender.hidden_size": 8, "sender.embedding_size": 4, "sender.perception.size": 6,
    "receiver.hidden_size": 8, "receiver.embedding_size": 4, "receiver.perception.size": 6,
    "training.num_examples": 6, "training.batch_size": 3, "training.num_epochs": 2, "training.precision": "fp32",
    "training.evaluate_every": 2, "training.checkpoint_every": 2, "evaluation.num_valid": 3,
    "evaluation.corpus_size": 4,
}  # fmt: skip
"""Small sizes, so that a run of 4 steps takes a moment."""

MORE_ROUNDS = {"training.num_examples": 12, "training.batch_size": 6}
"""Of games in which each round of a batch has one target, so that more of them need more images."""

REDUCED_OF = {
    "fixed_language": {"world.num_attributes": 2},  # one for each symbol
    "objects_game": {"world.num_values": [3, 2, 3, 2]},
    "image_factors": MORE_ROUNDS,
    "self_supervised": {**MORE_ROUNDS, "evaluation.num_valid": 12},  # of 3 rounds none may be right
}
"""Other small sizes of an experiment."""


def flat(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Values of a tree by their dotted path."""
    found = {}
    for key, value in tree.items():
        found |= flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
    return found


def digest(*arrays: Any) -> str:
    """A digest of arrays, numbers and texts."""
    made = hashlib.sha256()
    for array in arrays:
        content = array.detach().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)
        made.update(f"{content.dtype}{content.shape}".encode())
        made.update(content.tobytes() if content.dtype != object else repr(content.tolist()).encode())
    return made.hexdigest()


def rounds_of(experiment, world, players):
    """The rounds of training, evaluation and corpus, and what else is evaluated."""
    batches = [world.batch(split, number) for split in ("train", "valid") for number in (0, 1)]
    batches += list(world.corpus_batches(experiment.evaluation.corpus_size))
    parts = [(batch.objects, batch.shown, batch.candidate_indices(), batch.labels) for batch in batches]
    return digest(world.num_train, world.num_valid, *(array for of_batch in parts for array in of_batch))


def weights_of(experiment, world, players):
    """The initial state of the agents, in its order."""
    return digest(*(part for name, tensor in players.state_dict().items() for part in (name, tensor)))


def play_of(experiment, world, players):
    """Messages, measures and gradients of a batch of training in the first and in the third epoch."""
    found = []
    for epoch in (0, 2):
        players.zero_grad(set_to_none=True)
        noise = torch.Generator().manual_seed(1)
        played = players.first_pair.play(world.batch("train", 0), "train", noise, epoch)
        if played.objective.requires_grad:  # somebody learns
            played.objective.backward()
        found += [played.message.symbols, *played.measures.values()]
        found += [parameter.grad for parameter in players.parameters() if parameter.grad is not None]
    return digest(*found)


def corpus_of(experiment, world, players):
    """The messages of the untrained sender, and what they are about."""
    corpus = record_corpus(players, experiment)
    return digest(
        corpus.messages.values, corpus.messages.lengths, corpus.meanings, json.dumps(corpus.metadata)
    )


def run_of(experiment, world, players):
    """Everything in the run folder, and its name, except the config."""
    with TemporaryDirectory() as folder:
        train(
            experiment,
            Path(folder),
            device="cpu",
            scorer=LanguageMetrics,
            progress=lambda *_: None,
            note=lambda _: None,
        )
        found = [experiment.name]
        for file in sorted(Path(folder).iterdir()):
            if file.name == "metadata.json":
                metadata = json.loads(file.read_text())
                # The checksum is that of the rest of the file, with the config.
                of_run = {key: value for key, value in metadata.items() if key not in ("config", "checksum")}
                found += [json.dumps(of_run)]
            elif file.name == "log.jsonl":
                lines = [json.loads(line) for line in file.read_text().splitlines()]
                found += [json.dumps({**line, "examples_per_second": 0}) for line in lines]
            elif file.name != "config.yaml":
                found += [file.name, np.frombuffer(file.read_bytes(), dtype=np.uint8)]
        return digest(*found)


STAGES = (rounds_of, weights_of, play_of, corpus_of, run_of)


class Stages:
    """The stages of a run, each computed when it is asked for."""

    def __init__(self, experiment):
        self.experiment, self.found = experiment, {}
        self.world = make_world(experiment)
        torch.manual_seed(experiment.training.seed)
        self.players = Population.from_experiment(experiment, self.world)

    def __getitem__(self, stage):
        if stage not in self.found:
            self.found[stage] = stage(self.experiment, self.world, self.players)
        return self.found[stage]


def makes_a_difference(unchanged, assignment):
    """Whether an assignment gives another run, or is refused."""
    try:
        changed = Stages(override(unchanged.experiment, [assignment]))
        return any(changed[stage] != unchanged[stage] for stage in STAGES)
    except ConfigError:
        return True


@pytest.fixture(scope="module")
def feature_files(tmp_path_factory):
    """Two files of feature vectors."""
    files = [str(tmp_path_factory.mktemp("features") / f"{seed}.npz") for seed in (1, 2)]
    for seed, file in enumerate(files):
        write_features(file, synthetic_features(seed, 12, 20, 5, 4))
    return files


@pytest.fixture(scope="module")
def unchanged(feature_files, object_table, image_folder):
    """The stages of each experiment in its reduced size, by name."""
    made = {}

    def unchanged(name):
        if name not in made:
            own = {"mu_cub": feature_files[0], "yao": feature_files[0], "objects": object_table}
            own["images"] = image_folder
            option = "objects" if name in OWN else "features"
            experiment = load_experiment(name, [f"world.{option}={own[name]}"] if name in own else [])
            known = flat(experiment.to_tree())
            sizes = REDUCED | REDUCED_OF.get(name, {})
            small = [f"{path}={value}" for path, value in sizes.items() if path in known]
            made[name] = Stages(override(experiment, small))
        return made[name]

    return unchanged


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SAMPLE else SLOW) for name in signalling_games()]
)
def test_the_same_settings_give_the_same_run(name, unchanged):
    run = unchanged(name)
    assert not makes_a_difference(run, f"training.seed={run.experiment.training.seed}")
