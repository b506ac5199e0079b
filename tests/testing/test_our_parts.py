import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ecsuite.agents.registry import PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.games.config import registry as games
from ecsuite.language_models.backend import BACKENDS
from ecsuite.testing import checks, run
from quick_checks import TRAIN, without

KINDS = "play participant world environment task channel noise loss optimizer schedule meeting reasoning".split()
REGISTRIES = {kind: getattr(games, {"loss": "LOSSES"}.get(kind, f"{kind.upper()}S")) for kind in KINDS} | {
    "backend": BACKENDS, "sender": SENDERS, "receiver": RECEIVERS, "perception": PERCEPTIONS, "metric": METRICS,
}  # fmt: skip
FINISHED = Path(__file__).parents[1] / "fixtures" / "small" / "finished"
TALK = ("play=talk,blocks=1,symbols=letters,names=[a,b,c,d,e],max_symbols=3",)
IMAGES = ("world=shape", "task=discrimination", "world.images_per_batch=16")
NAMES_AND_SETTINGS = {
    "play:talk": ("talk,blocks=1", ()),
    "play:acting": ("acting", ("channel.length=fixed",)),
    "reasoning:rsa": ("rsa,cost=length", ()),
    "reasoning:obverter": ("obverter,cost=length", ("task.sender_input=targets_and_distractors",)),
    "participant:committed": ("committed,name=a", ()),
    "participant:trained": (f"trained,run={FINISHED}", TALK),
    "participant:phrasebook": ("phrasebook,inventory=book.json", TALK),
    "sender:phrasebook": ("phrasebook,inventory=book.json", ()),
    "receiver:phrasebook": ("phrasebook,inventory=book.json", ("receiver.perception=identity",)),
    "task:concept": ("concept,num_targets=2,num_distractors=2", ("world=thing",)),
    "sender:scripted": ("scripted", ("channel.max_len=2",)),
    "loss:reward": ("reward", ("channel=reinforce",)),
    "sender:transformer": ("transformer-2l,init=copied", ()),  # one layer has nothing to copy
    "world:unequal_attributes": ("unequal_attributes,num_values=[4,4]", ()),
    "perception:linear": ("linear,size=8", ()),
    "perception:tanh": ("tanh,size=8", ()),
    "perception:mlp": ("mlp,size=8", ()),
    "world:text": ("text,train_data=train.txt,valid_data=valid.txt", ("task.num_distractors=null",)),
    "world:features": ("features,features=features.npz", ()),
    "world:space": ("space,space=sizes.csv", ()),
    "world:objects": ("objects,objects=objects.csv", ()),
    "world:images": ("images,objects=photos", ("sender.perception=conv", "receiver.perception=conv")),
    "world:image_features": ("image_features,objects=photos", ()),
    "meeting:list": ("list,pairs=[[0,0],[1,1],[2,2],[3,3]]", ()),
    "receiver:lexicon": (
        "lexicon,lexicon=[[1,0,1,0,1,1,0,1],[0,1,1,1,0,1,1,1],[1,1,0,0,1,0,1,1],[1,0,0,1,1,1,0,1],[0,0,1,1,1,1,1,0]]",
        ("receiver.perception=identity",),
    ),
    "meeting:file": ("file,path=pairs.csv", ()),
    "perception:conv": ("conv,size=8", IMAGES),
    "perception:conv_max": ("conv_max,size=8", IMAGES),
    "perception:conv_grid": ("conv_grid,size=8", IMAGES),
    "perception:conv4": ("conv4", IMAGES),
    "perception:pretrained": ("pretrained,freeze=false", IMAGES),
}
EXCEPTIONS = {
    # The published models have weights for inputs that are zero.
    "sender:husenda": "Every parameter gets a finite gradient, and some are not zero",
    "sender:husendz": "Every parameter gets a finite gradient, and some are not zero",
    # The receiver alone learns.
    "reasoning:obverter": "Every parameter gets a finite gradient, and some are not zero",
    # Torch's packed sequences take their lengths from the processor.
    "receiver:bidirectional": "tried on torch's device `meta`",
    # A rule reads each meaning, and each message, on the processor.
    "sender:phrasebook": "tried on torch's device `meta`",
    "receiver:phrasebook": "tried on torch's device `meta`",
    # Its words are put on other meanings, whose messages stay together.
    "metric:efficiency": "the level of shuffled meanings",
    # It trains models, which see the messages in their order.
    "metric:xferbench": "not change the values",
}
SLOW = pytest.mark.slow
QUICK = ("play:naming", "play:talk")
"""Parts that are tried whole every time, beside the first sender: they take a moment."""
NEEDS_TIMM = pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed")


def make_photos(folder):
    image = pytest.importorskip("PIL.Image")
    for number in range(24):
        file = folder / ("light" if number % 2 else "dark") / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 128, (16, 16, 3)) + 100 * (number % 2)
        image.fromarray(pixels.astype(np.uint8)).save(file)


def parts():
    """Every registered part, and the checks to leave out; quick ones of the first of a kind are in the ordinary set.

    These are all parts of one game, which is trained, too, for its sender.
    """
    for kind, registry in REGISTRIES.items():
        for number, name in enumerate(registry.parts):
            if kind == "metric" and find_metric(name).shared.needs_agents:
                continue  # it is of a run, and not of a corpus
            if kind == "backend" and name != "drawn":
                continue  # it needs a server, a model or a person
            part = f"{kind}:{name}"
            needed = [NEEDS_TIMM] if name == "pretrained" else []
            needed += [pytest.mark.timeout(900)] if name.startswith("ease_of") else []  # they train models
            is_quick = (kind == "sender" and number == 0) or part in QUICK
            yield pytest.param(kind, name, (), id=part, marks=[] if is_quick else [SLOW, *needed])
            if number == 0 and kind != "sender":
                yield pytest.param(kind, name, TRAIN, id=f"{part} without training")


@pytest.mark.sample(6)
@pytest.mark.parametrize(("kind", "name", "left_out"), list(parts()))
def test_a_registered_part_passes(kind, name, left_out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("train.txt", "valid.txt"):
        rows = np.random.default_rng(0).integers(4, size=(48, 3, 2))
        lines = (" . ".join(" ".join(map(str, object_)) for object_ in row) + " . 0" for row in rows)
        (tmp_path / file).write_text("\n".join(lines) + "\n")
    labels = np.repeat(np.arange(8), 12)
    vectors = np.random.default_rng(0).normal(size=(len(labels), 5)) + labels[:, None]
    np.savez(tmp_path / "features.npz", features=vectors.astype(np.float32), class_id=labels)
    values = [f"{a},{b},{c}" for a in "abcd" for b in "efgh" for c in "ij"]
    (tmp_path / "objects.csv").write_text("\n".join(["one,two,three", *values]) + "\n")
    sizes = np.arange(16)
    near = np.exp(-np.abs(sizes[:, None] - sizes))
    beliefs = near / near.sum(1, keepdims=True)  # p(u|m)
    np.savetxt(tmp_path / "sizes.csv", np.column_stack([sizes, beliefs]), delimiter=",")
    pairs = [{"form": [n % 5 + 1], "meaning": [f"attribute{n // 4}={n % 4}"]} for n in range(8)]
    (tmp_path / "book.json").write_text(json.dumps(pairs))
    (tmp_path / "pairs.csv").write_text("sender,receiver\n0,0\n1,1\n2,2\n3,3\n")
    if name.startswith("image"):
        make_photos(tmp_path / "photos")
    part = f"{kind}:{name}"
    found = without(left_out, checks(kind, *NAMES_AND_SETTINGS.get(part, (name, ()))))
    problems = {str(each.check): each.problem for each in map(run, found)}
    excepted = EXCEPTIONS.get(part, "none")
    assert not {statement: problem for statement, problem in problems.items() if problem and excepted not in statement}
