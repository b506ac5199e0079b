"""Corpora of runs: ids of words, pictures of the objects that messages are about, and metrics while a run learns."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.files.tensor_files import read_tensors
from ecsuite.formats import read_corpus
from ecsuite.games.channels.channels import words_to_symbols
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import WORLDS
from ecsuite.games.pictures.corpora import DRAWN, GAP, LISTED, SIDE, corpus_pictures
from ecsuite.games.plays.evaluation import joined
from ecsuite.games.runs.identity import RunContext, check_data
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.worlds.world import make_world
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


@pytest.mark.parametrize(
    ("num_levels", "values", "ids"),
    [
        (2, [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], [1, 2, 5, 8]),
        (3, [[0, 0], [0.5, 0], [0, 0.5], [1, 1]], [1, 2, 4, 9]),
        (11, [[0.3, 0.7]], [1 + 3 + 77]),
        (2, [[0.49, 0.51, 0.5]], [3]),  # rounded as the channel rounds, half to even
        (2, [[1] * 30], [2**30]),  # the largest id
    ],
)
def test_words_by_hand(num_levels, values, ids):
    messages, names = words_to_symbols(np.array(values, dtype=np.float32)[None], num_levels)
    assert [message.tolist() for message in messages] == [ids] and names is None
    assert words_to_symbols(np.ones((1, 1, 31), dtype=np.float32), 2)[1] == ("", "1" * 31)


SMALL = (
    "training.batch_size=8", "training.num_examples=16", "evaluation.corpus_size=12", "evaluation.num_valid=8",
)  # fmt: skip


@pytest.fixture
def written(tmp_path):
    """Writes the config of a run; its world, and a corpus of as many messages as it has rounds."""

    def written(name, *settings):
        experiment = load_experiment(name, [*SMALL, *settings])
        tree = RunContext.of(experiment, data=check_data(experiment)).to_tree()
        (tmp_path / "config.yaml").write_text(f"format: 1\n{as_yaml(tree)}")
        world = make_world(experiment)
        about = joined([world.describe(batch) for batch in world.corpus_batches(12)])
        messages = Ragged.from_rows([[1]] * len(about.meanings))
        return world, Corpus(messages=messages, meanings=about.meanings, columns=about.columns)

    return written


def test_worlds_of_images_are_known():
    seen = [name for name in WORLDS.parts if "conv" in WORLDS.load(name).default_perceptions[0]]
    assert {*seen} <= {*LISTED, *DRAWN}


@pytest.mark.parametrize("name", ["shape_gs", "mu_shapeworld_ref"])
def test_drawn_images_are_those_that_the_sender_saw(written, tmp_path, name):
    world, corpus = written(name, "task.num_targets=5")
    found = corpus_pictures(tmp_path, corpus, [9, 2])
    _, second = world.corpus_batches(12)  # 8 rounds, then 4
    pixels, words = found[9]
    targets = second.objects[second.shown[1, :3]]
    assert [*found] == [2, 9] and words == "3 of 5 targets"
    assert pixels.shape == (64, 3 * 64 + 2 * GAP, 3)
    for place, target in enumerate(targets):
        assert np.array_equal(pixels[:, place * (64 + GAP) :][:, :64], target)
    changed = replace(corpus, meanings=corpus.meanings[::-1])
    with pytest.raises(ConfigError, match="gives other objects than in its corpus"):
        corpus_pictures(tmp_path, changed, [2])


def test_images_of_the_user_are_found_by_name(written, tmp_path, image_folder):
    photos = shutil.copytree(image_folder, tmp_path / "photos")
    _, corpus = written(str(photos), "world.size=16", "task.num_distractors=2")
    found = corpus_pictures(tmp_path, corpus, [3])
    pixels, words = found[3]
    assert words == corpus.columns["file"][3] and pixels.shape == (SIDE, SIDE, 3)
    next(Path(photos).rglob("*.png")).unlink()
    with pytest.raises(ConfigError, match="has other content than when this config was written"):
        corpus_pictures(tmp_path, corpus, [3])


@pytest.mark.slow
def test_they_are_in_the_log_and_training_does_not_depend_on_them(tmp_path, small, run, whole, log_of):
    result = run(small("evaluation.metrics=topsim,zla"), tmp_path)
    log = log_of(tmp_path)
    assert all({"topsim", "zla_segments"} <= set(line["metrics"]) for line in log) and len(log) == 6
    plain = [{key: line[key] for key in line if key not in ("metrics", "reasons")} for line in log]
    assert plain == log_of(whole)
    for file in ("corpus.jsonl", "meanings.jsonl"):
        assert (tmp_path / file).read_bytes() == (whole / file).read_bytes()
    for file in RunFolder(whole).checkpoints:  # the rest of it has a checksum of the log
        found, expected = read_tensors(tmp_path / file.name)[0], read_tensors(file)[0]
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in found)
    (score,) = find_metric("topsim")(read_corpus(tmp_path), Options())
    assert result.metrics["topsim"] == pytest.approx(score.value)
    found = load_run(tmp_path)
    assert found.log["metrics.topsim"].tolist() == [line["metrics"]["topsim"] for line in log]
    assert found.corpus.metadata["metrics"] == result.metrics


def test_metrics_of_agents_are_refused_before_a_play_that_has_none(ecsuite, tmp_path):
    code, _, err = ecsuite("train-game", "naming", "--metrics", "topsim,rsa", "--out", "run")
    assert (code, err.count("\n")) == (2, 1) and not (tmp_path / "run").exists()
    assert err.startswith("evaluation.metrics: rsa needs senders and receivers, which play naming does not")
