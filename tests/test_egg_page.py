"""docs/from_egg.md has every flag and every class of EGG, and what it says of our options is accepted."""

import argparse
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "from_egg.md"
ROWS = [line.strip("|\n").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in row] for row in ROWS if len(row) == 2]
COMMON_FLAGS = """--random_seed --checkpoint_dir --preemptable --checkpoint_freq --validation_freq --n_epochs
--load_from_checkpoint --no_cuda --batch_size --optimizer --lr --update_freq --vocab_size --max_len --tensorboard
--tensorboard_dir --distributed_port --fp16""".split()
"""Those of `_populate_cl_params` in egg/core/util.py of May 2025."""
EXPORTS = """Trainer get_opts init build_optimizer Callback EarlyStopperAccuracy ConsoleLogger ProgressBarLogger
TensorboardLogger TemperatureUpdater InteractionSaver CheckpointSaver ReinforceWrapper GumbelSoftmaxWrapper SymbolGameGS
SymbolGameReinforce ReinforceDeterministicWrapper RelaxedEmbedding RnnReceiverReinforce RnnSenderReinforce
SenderReceiverRnnReinforce CommunicationRnnReinforce RnnReceiverDeterministic RnnSenderGS RnnReceiverGS
SenderReceiverRnnGS dump_interactions move_to get_summary_writer close SymbolReceiverWrapper
TransformerReceiverDeterministic TransformerSenderReinforce RnnEncoder find_lengths LoggingStrategy Interaction
MessageEntropy TopographicSimilarity Disent PrintValidationEvents DiscriminationLoss ReconstructionLoss NTXentLoss
UniformAgentSampler FullSweepAgentSampler PopulationGame ContinuousLinearSender ContinuousLinearReceiver
SenderReceiverContinuousCommunication""".split()
"""Those of `__all__` in egg/core/__init__.py of May 2025."""
ZOO = """basic_games channel compo_vs_generalization compo_vs_generalization_ood compositional_efficiency dsprites_bvae
emcom_as_ssl external_game language_bottleneck mnist_autoenc mnist_vae objects_game pop signal_game simclr
simple_autoenc summation template""".split()
"""The folders of egg/zoo of May 2025."""


def test_every_flag_class_and_game_has_a_row():
    for name in [*COMMON_FLAGS, *EXPORTS]:
        quoted = rf"`[^`]*(?<![\w-]){re.escape(name)}\b[^`]*`"
        rows = [ours for theirs, ours in ROWS if re.search(quoted, theirs)]
        assert rows and all("`" in ours or ours.startswith("not here, because ") for ours in rows), name


@pytest.mark.skipif(find_spec("egg") is None, reason="EGG is not installed (put its checkout on PYTHONPATH)")
def test_the_lists_are_those_of_egg():
    import egg.core
    from egg.core.util import _populate_cl_params

    parser = _populate_cl_params(argparse.ArgumentParser(add_help=False))
    assert {action.option_strings[0] for action in parser._actions} == set(COMMON_FLAGS)
    assert set(egg.core.__all__) == set(EXPORTS)
    zoo = Path(egg.core.__file__).parents[1] / "zoo"
    assert {path.name for path in zoo.iterdir() if path.is_dir() and path.name[0] not in "._"} == set(ZOO)
