"""docs/from_egg.md has every flag and every class of EGG, and what it says of our options is accepted."""

import argparse
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from ecsuite.commands.game_options import GameOptions
from ecsuite.commands.setting_options import flags_of
from ecsuite.games.config.experiment import listed, load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world

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
ZOO_ROWS = [
    row.strip("|").split("|")
    for row in PAGE.read_text().partition("## The folders of `egg.zoo`")[2].split("\n## ")[0].splitlines()
    if row.startswith("| `")
]
ZOO_GAMES = [
    text
    for _, ours in ZOO_ROWS[1:]
    for text in re.findall(r"`([^`]+)`", ours)
    if not any(name in text for name in ("FOLDER", ".csv", ".npz", "-data", "yao"))
    and not (DOCS.parent / "configs" / "claims" / f"{text}.yaml").exists()
]
"""Games and options without files of the user's, and no claims."""
KEYS = {flag: key for key, flag in flags_of(GameOptions).items()}
SMALL = ("training.batch_size=8", "evaluation.num_valid=8")
NO_SETTINGS = ("--out", "--resume", "--log", "--device")
FILES = ("--train-data", "--valid-data", "--objects", "--features")
OPTIONS = [
    text
    for _, ours in ROWS
    for text in re.findall(r"`(--[^`]+)`", ours)
    if "./mine" not in text and not any(name in text for name in (*FILES, *NO_SETTINGS))
]


@pytest.mark.parametrize("name", [*COMMON_FLAGS, *EXPORTS])
def test_every_flag_and_class_has_a_row(name):
    rows = [ours for theirs, ours in ROWS if re.search(rf"`[^`]*(?<![\w-]){re.escape(name)}\b[^`]*`", theirs)]
    assert rows and all("`" in ours or ours.startswith("not here, because ") for ours in rows)


def test_few_things_are_not_here():
    assert sum(ours.startswith("not here") for _, ours in ROWS) <= 5


@pytest.mark.skipif(find_spec("egg") is None, reason="EGG is not installed (put its checkout on PYTHONPATH)")
def test_the_lists_are_those_of_egg():
    import egg.core
    from egg.core.util import _populate_cl_params

    parser = _populate_cl_params(argparse.ArgumentParser(add_help=False))
    assert {action.option_strings[0] for action in parser._actions} == set(COMMON_FLAGS)
    assert set(egg.core.__all__) == set(EXPORTS)
    zoo = Path(egg.core.__file__).parents[1] / "zoo"
    assert {path.name for path in zoo.iterdir() if path.is_dir() and path.name[0] not in "._"} == set(ZOO)


def test_every_game_of_the_zoo_has_a_row():
    named = {name for theirs, _ in ZOO_ROWS for name in re.findall(r"`(\w+)`", theirs)}
    assert set(ZOO) <= named


@pytest.mark.sample(8)
@pytest.mark.parametrize("text", dict.fromkeys(ZOO_GAMES))
def test_a_game_of_the_zoo_is_played(text):
    name, *words = shlex.split(text)
    learn_once(load_experiment(name, *settings_of(words)))


@pytest.mark.sample(8)
@pytest.mark.parametrize("text", dict.fromkeys(OPTIONS))
def test_options_make_a_game_that_is_played(text):
    """Each with disc_tiny, whose rounds are played and learnt from once."""
    assigned, flags = settings_of(shlex.split(text))
    if any(each.startswith("world.") for each in assigned):
        return  # with files only
    learn_once(load_experiment("disc_tiny", assigned, flags))


def settings_of(words):
    """What options set: settings, and flags by their keys."""
    flags, assigned = {}, []
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag == "--set":
            assigned.append(value)
        else:
            is_list = flag in ("--keep", "--metrics")
            number = value if flag in ("--keep-best", "--channel", "--task") else _number(value)
            flags[KEYS[flag]] = listed(value) if is_list else number
    return [*SMALL, *assigned], flags


def test_files_of_the_page_are_games(tmp_path):
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        (tmp_path / f"game{number}.yaml").write_text(block)
        learn_once(load_experiment(str(tmp_path / f"game{number}.yaml"), SMALL))


def learn_once(experiment):
    world = make_world(experiment)
    torch.manual_seed(0)
    game = make_pair(experiment, world)
    played = game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0))
    played.objective.backward()
    assert played.objective.isfinite() and any(each.grad is not None for each in game.parameters())


def _number(value):
    return float(value) if "." in value and value[0].isdigit() else int(value) if value.isdigit() else value
