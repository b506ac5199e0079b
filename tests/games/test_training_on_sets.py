"""Training of games about sets: as that of other games, and with images, statistics and further evaluations."""

import signal

import numpy as np
import pytest
from safetensors.torch import load_file

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import override

THINGS = (
    "world.kind=thing", "world.num_values=3", "world.num_attributes=3", "world.rule_length=2", "world.held_out=0.25",
    "task.kind=concept", "task.num_targets=2", "channel.kind=quantized", "training.num_epochs=1",
    "sender.perception.size=8", "receiver.perception.size=8",
)  # fmt: skip
PICTURES = (
    "world.kind=shape", "task.kind=concept", "task.num_targets=2", "channel.kind=quantized",
    "world.images_per_batch=6", "training.batch_size=6", "training.num_examples=24", "training.num_epochs=1",
    "evaluation.num_valid=9", "training.evaluate_every=1", "training.checkpoint_every=1", "evaluation.corpus_size=10",
    "sender.perception=conv", "receiver.perception=conv", "sender.perception.size=8", "receiver.perception.size=8",
)  # fmt: skip
SETS = {
    "quantized": (THINGS, ()),
    "decay": (THINGS, ("schedule.kind=linear",)),
    "gumbel": (THINGS, ("channel.kind=gumbel", "channel.length=variable")),
    "reinforce": (THINGS, ("channel.kind=reinforce", "channel.length=fixed", "evaluation.mode=sample")),
    "continuous, all": (THINGS, ("channel.kind=continuous", "task.sender_input=targets_and_distractors")),
    "pictures": (PICTURES, ()),
    "pictures, conv4, bf16": (PICTURES, ("sender.perception=conv4", "training.precision=bf16")),
}
"""Games about sets, with changes: 8 steps, of pictures 4."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_games_about_sets_stop_and_go_on_to_the_same_bytes(tmp_path, small, run, name, contents, kill):
    settings, changes = SETS[name]
    experiment = override(small(*settings), changes)
    at = 2 if name.startswith("pictures") else 5
    stopped = run(experiment, tmp_path / "stopped", progress=kill(signal.SIGTERM, at))
    assert stopped.stopped == "preempted" and stopped.step == at + 1 and stopped.extra_evaluations == {}
    run(experiment, tmp_path / "stopped", resume=True)
    run(experiment, tmp_path / "whole")
    gone_on, whole = contents(tmp_path / "stopped"), contents(tmp_path / "whole")
    for files in (gone_on, whole):  # the checkpoint before the last may be the one at the stop
        files.pop(min(file for file in files if file.startswith("checkpoint")))
    assert gone_on == whole


@pytest.mark.slow
def test_a_run_about_sets_is_complete(tmp_path, small, run, log_of):
    """Its corpus, further evaluations, and the same figures when the finished run is asked for again."""
    experiment = small(*THINGS, "evaluation.corpus_size=70", "channel.num_levels=3")
    result = run(experiment, tmp_path)
    assert set(result.measures) == {"loss", "accuracy", "set_accuracy", "length"}
    assert result.chance == {"accuracy": 0.6, "set_accuracy": 0.1}
    assert set(result.extra_evaluations) == {"seen rules"}
    assert set(result.extra_evaluations["seen rules"]) == set(result.measures)
    assert result.extra_evaluations["seen rules"] != result.measures
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 70 and corpus.eos is None
    assert corpus.concept_names[:3] == ("attribute0=0", "attribute0=1", "attribute0=2")
    assert (corpus.concepts.lengths == 2).all()
    metadata = corpus.metadata
    assert (metadata["vocab_size"], metadata["max_len"]) == (3**6, 3)
    assert metadata["extra_evaluations"] == result.extra_evaluations and metadata["chance"] == result.chance
    assert {name: metadata["training"][name] for name in result.measures} == result.measures
    again = run(experiment, tmp_path)
    assert again.was_done
    assert (again.measures, again.extra_evaluations) == (result.measures, result.extra_evaluations)
    assert again.summary().splitlines()[-1].split()[:2] == ["seen", "rules"]
    assert set(log_of(tmp_path)[0]["train"]) == set(result.measures)


@pytest.mark.slow
def test_checkpoints_hold_the_statistics_of_batch_normalisation(tmp_path, small, run):
    run(small(*PICTURES), tmp_path)
    tensors = load_file(max(tmp_path.glob("checkpoint*")))
    counts = [tensor for name, tensor in tensors.items() if name.endswith("num_batches_tracked")]
    assert len(counts) >= 6 and all(count == 4 for count in counts)  # a batch a step, none from evaluation
    means = [tensor for name, tensor in tensors.items() if name.endswith("running_mean")]
    assert len(means) == len(counts) and all(mean.abs().max() > 0 for mean in means)


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [["training.batch_size=1"], ["training.batch_size=1", "task.sender_input=targets_and_distractors"]],
)
def test_one_round_a_step(tmp_path, small, run, overrides):
    result = run(small(*THINGS, "training.num_examples=3", "evaluation.num_valid=2", *overrides), tmp_path)
    assert result.step == 3 and np.isfinite(list(result.measures.values())).all()
