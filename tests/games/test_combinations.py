"""Combinations of parts and options, drawn at random: each trains, stops and resumes to the same bytes, or is refused.

A refusal is one line, before anything is written. The draw of a number is always the same: `drawn(17)` gives the
settings of one that failed. `pytest -m slow` tries more of them.
"""

import json
import random
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ecsuite.agents.registry import PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import CHANNELS, LOSSES, MEETINGS, OPTIMIZERS, SCHEDULES, TASKS, WORLDS
from ecsuite.parts.registry import option_types
from ecsuite.runtime import recording
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

NUM_ORDINARY, NUM_SLOW = 4, 300

SIZES = {
    "world.num_attributes": 3, "world.num_values": 3, "world.images_per_batch": 12, "world.images_per_label": 2,
    "world.max_count": 3, "task.num_targets": 2, "task.num_distractors": 2, "channel.vocab_size": 5,
    "channel.max_len": 3, "channel.word_size": 3, "sender.hidden_size": 6, "sender.embedding_size": 4,
    "receiver.hidden_size": 6, "receiver.embedding_size": 4, "sender.perception.size": 6,
    "sender.num_heads": 2, "receiver.num_heads": 2, "receiver.blocks": 1,
}  # fmt: skip
"""Sizes of parts that have these options: a run of four steps takes a moment."""
TRAINING = (
    "training.num_examples=10", "training.batch_size=5", "training.num_epochs=2", "training.evaluate_every=3",
    "training.checkpoint_every=1", "training.precision=fp32", "evaluation.num_valid=7", "evaluation.corpus_size=6",
)  # fmt: skip
COMPANIONS = {
    "loss.length_cost_power": ("loss.length_cost=0.1",),
    "channel.trainable_temperature": ("channel.temperature_decay=1",),
    "optimizer.nesterov": ("optimizer.momentum=0.5",),
}
"""What an option needs beside it; most of what does not fit is refused, and so tries little."""
FOREIGN = {
    "world": ("image_features", "text"), "perception": ("pretrained", "conv4"), "meets": ("list", "file")
}  # fmt: skip
"""Parts that need files which no draw has, and one that takes seconds a step."""
SOCIETIES = (
    (),
    ("society.senders=2", "society.receivers=2"),
    ("society.senders=3", "society.receivers=2"),
    ("society.receivers=3", "society.voting=true"),
    ("society.agents=3",),
    ("society.agents=3", "society.shares=perception", "society.pairs_per_step=5"),
    ("society.senders=3", "society.receivers=2", "society.sender_speeds=[0.5]"),
    ("society.senders=3", "society.imitate_every=2"),
)
TAUGHT = (
    "generations.transmit=true", "generations.size=6", "generations.batch_size=4", "generations.sender_steps=1",
)  # fmt: skip
LEARNT = ("generations.every=3", *TAUGHT, "generations.receiver_steps=1")
GENERATIONS = (
    (), (), ("generations.every=2",), ("generations.every=2", *TAUGHT), LEARNT,
    ("generations.every=3", "generations.which=random", "generations.roles=senders"),
    (*LEARNT, "generations.receivers_learn=sender"), (*LEARNT, "generations.which=none"),
)  # fmt: skip
FROZEN = ("training.freeze_sender=true",)
RUNS = (
    (), (), ("training.accumulate=2",), FROZEN, ("training.keep_best=accuracy", "training.patience=2"),
    ("evaluation.keep=[interactions,languages]",), ("evaluation.mode=sample",), ("evaluation.batch_size=3",),
    ("evaluation.metrics=[zla]",),
)  # fmt: skip


def another(hint: Any, rng: random.Random) -> str | None:
    """Some value of an option with this type, as `--set` reads it; None: of no type that is drawn."""
    kind = get_origin(hint)
    if kind is Literal:
        return str(rng.choice(get_args(hint)))
    if hint is bool:
        return rng.choice(["true", "false"])
    bounds = getattr(hint, "__metadata__", ())
    if not bounds or get_args(hint)[0] not in (int, float):
        return None
    if get_args(hint)[0] is int:
        return str((bounds[0].ge or 0) + rng.choice([0, 1, 2]))
    return str(rng.choice([0.2, 0.5, 0.9]))


def of_part(section: str, registry: Any, rng: random.Random, name: str, unfit: str = "") -> list[str]:
    """A part with its sizes, and with other values of some of its options, but those that do not fit."""
    options = option_types(registry.load(name.partition(":")[0]).Options)
    found = [f"{section}={name}"]
    for option, hint in options.items():
        key = f"{section}.{option}".replace("ROLE", "sender")
        value = None if rng.random() < 0.85 or option in unfit.split() else another(hint, rng)
        if key in SIZES:
            value = "[3, 2]" if "tuple" in str(hint) else str(SIZES[key])
        if value is not None:
            found += [f"{section}.{option}={value}", *COMPANIONS.get(key, ())]
    return found


def drawn(number: int, files: dict[str, str]) -> list[str]:
    """The settings of a draw by its number, with a file of each world that reads one."""
    rng = random.Random(number)
    world = rng.choice([name for name in WORLDS.parts if name not in FOREIGN["world"]])
    settings = of_part("world", WORLDS, rng, world)
    if world in files:
        settings.append(f"world.{'features' if world == 'features' else 'objects'}={files[world]}")
    made, society, generations = WORLDS.load(world), rng.choice(SOCIETIES), rng.choice(GENERATIONS)
    has_images = getattr(PERCEPTIONS.load(made.default_perceptions[0]), "takes_images", True)
    tasks = [name for name in TASKS.parts if name != "concept" or made.has_rules]
    settings += of_part("task", TASKS, rng, rng.choice(tasks), "variant num_known")
    learns = "generations.transmit=true" in generations or "society.imitate_every=2" in society
    of_symbols = learns and rng.random() < 0.9
    channel = rng.choice(("soft", "gumbel", "reinforce") if of_symbols else list(CHANNELS.parts))
    settings += of_part("channel", CHANNELS, rng, channel)
    perception: list[str] = []
    for role, registry in (("sender", SENDERS), ("receiver", RECEIVERS)):
        names = [name for name in registry.parts if name not in ("scripted", "phrasebook", "recurrent")]
        settings += of_part(role, registry, rng, rng.choice(["recurrent", "recurrent", *names]))
        parts = {each: PERCEPTIONS.load(each) for each in PERCEPTIONS.parts}
        takes = {name: getattr(part, "takes_images", has_images) for name, part in parts.items()}
        fitting = [each for each in takes if each not in FOREIGN["perception"] and takes[each] == has_images]
        if not perception or "society.shares=perception" not in society:
            unfit = "width" if has_images else "width shift"
            perception = of_part("ROLE.perception", PERCEPTIONS, rng, rng.choice(fitting), unfit)
        settings += [each.replace("ROLE", role) for each in perception]
    loss = "reward" if channel == "reinforce" and rng.random() < 0.5 else "task"
    cost = "" if "channel.length=variable" in settings else "length_cost length_cost_power"
    settings += of_part("loss", LOSSES, rng, loss, cost)
    settings += of_part("optimizer", OPTIMIZERS, rng, rng.choice(list(OPTIMIZERS.parts)))
    settings += of_part("schedule", SCHEDULES, rng, rng.choice(list(SCHEDULES.parts)))
    runs = [each for each in RUNS if each != FROZEN or not (society or generations)]
    settings += [*TRAINING, *society, *generations, *rng.choice(runs)]
    if society and rng.random() < 0.2:
        meets = rng.choice([name for name in MEETINGS.parts if name not in FOREIGN["meets"]])
        settings.append(f"society.meets={meets}")
    if rng.random() < 0.25:
        settings = with_objective(settings, rng)
    return settings


def with_objective(settings: list[str], rng: random.Random) -> list[str]:
    """Settings with a prior of messages, or with speakers that reason, in a world that both fit."""
    drawn_anew = ("world", "task", "channel", "sender", "receiver", "loss", "society.meets")
    settings = [each for each in settings if not each.startswith(drawn_anew)]
    settings += ["world.num_attributes=2", "world.num_values=3", "channel.vocab_size=4", "channel.max_len=3"]
    settings.append(f"channel.kind={rng.choice(('gumbel', 'reinforce'))}")
    heard = ("recurrent", "fc2l")
    for role, kinds in (("sender", (*heard, "transformer")), ("receiver", heard)):
        settings += [f"{role}.kind={rng.choice(kinds)}", f"{role}.hidden_size=8"]
    length = rng.choice(("variable", "variable", "fixed"))
    task = rng.choice(("reconstruction", "discrimination"))
    settings += [f"channel.length={length}", f"task.kind={task}"]
    if rng.random() < 0.5:
        prior = rng.choice(("uniform", "lm", "length") if length == "variable" else ("uniform", "lm"))
        beta = rng.choice(("constant", "linear", "constraint"))
        return [*settings, f"loss=elbo,prior={prior}", f"loss.beta_schedule={beta}"]
    if task == "discrimination":
        settings.append("task.sender_input=targets_and_distractors")
    fixed = ("society.senders", "society.receivers", "society.imitate", "training.freeze")
    unfit = ("society.voting", "society.sender_speeds", "generations.sender", *fixed)
    settings = [each for each in settings if not each.startswith(unfit)]
    more = rng.choice(((), ("reasoning.alpha=2", "reasoning.cost=length")))
    return [*settings, "reasoning=obverter", *more]


def scramble(seed: int) -> None:
    """Give every global generator another state: nothing may depend on it."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def plays(settings: list[str], folder) -> bool:
    """Whether a combination trains, and ends with the same bytes after a stop; else it was refused as it should be."""
    try:
        experiment = load_experiment("disc_tiny", settings)
        scramble(1)
        trained(experiment, folder / "whole")
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) < 600
        assert not (folder / "whole").exists(), f"refused after something was written: {error}"
        return False
    scramble(2)
    trained(experiment, folder / "parts", stop_after=2, resume=True)
    scramble(3)
    trained(experiment, folder / "parts", resume=True)
    for whole in (folder / "whole").iterdir():
        if whole.suffix in (".safetensors", ".parquet") or whole.name in ("corpus.jsonl", "meanings.jsonl"):
            assert whole.read_bytes() == (folder / "parts" / whole.name).read_bytes(), whole.name
    return True


@pytest.fixture(scope="module")
def files(object_table, image_folder, feature_file):
    """A file of each world that reads one."""
    return {"objects": object_table, "images": image_folder, "features": feature_file}


SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in range(NUM_SLOW)]


@pytest.mark.parametrize("number", [*range(NUM_ORDINARY), *SLOW[NUM_ORDINARY:]])
def test_a_combination_trains_and_resumes_to_the_same_bytes_or_is_refused(number, files, tmp_path):
    plays(drawn(number, files), tmp_path)


@pytest.mark.device("pretended")
@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")
@pytest.mark.parametrize("number", [2, *SLOW[:2], *SLOW[3:]])
def test_graphs_of_a_combination_give_the_weights_of_steps_one_by_one(number, files, tmp_path, monkeypatch):
    found = []
    for num_before in (10**6, 1):
        monkeypatch.setattr(recording, "NUM_CALLS_BEFORE_GRAPH", num_before)
        folder = tmp_path / str(num_before)
        settings = [*drawn(number, files), "training.num_epochs=4", "training.evaluate_every=1"]
        try:
            experiment = load_experiment("disc_tiny", settings)
            scramble(1)
            trained(experiment, folder, device="cuda")
        except ConfigError:
            return
        except RuntimeError as error:
            if "_pack_padded_sequence" in str(error):
                pytest.skip("the pretended device has no packed sequences")
            raise
        figures = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        figures = [line | {"examples_per_second": 0} for line in figures]
        found.append((load_file(max(folder.glob("checkpoint-*.safetensors"))), figures))
    (weights, figures), (expected, others) = found
    assert figures == others and all(torch.equal(weights[name], each) for name, each in expected.items())
