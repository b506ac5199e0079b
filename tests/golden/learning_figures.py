"""What models learn: steps of ICY, and scores of XferBench, translation and XTREME, each at its smallest.

Bounds, a case each. Learning carries a difference in the last digit of a product on to the next update, so that a
bound is the wider the longer a model learns, and the fewer examples a share is of:

- ICY's steps to the criterion, and XferBench `nano` and the cross-entropy of translations, which learn for seconds:
  2 % or one step, 0.1 % of the nats.
- XferBench `mini`, here of a model that was not pretrained, since that takes over a minute: 0.01 nats, where its
  documentation calls 0.017 noise.
- XTREME: 6 points of 100, so that one example of the 20 that are tested may change sides.

On one machine all of them repeat exactly; `paired.py` looks at that.
"""

from functools import partial
from pathlib import Path
from typing import Any

from access import as_json
from comparison import Bound, Case
from corpora import irregular, write_text
from human_data import write_pairs, write_tasks

STEPS = Bound(relative=0.02, absolute=1)
NATS = Bound(relative=1e-3)
LONG_NATS = Bound(absolute=0.01)
POINTS = Bound(absolute=6)
BART = ("transformers>=5.23", "sacrebleu")
"""Older versions of transformers draw other random numbers while BART learns."""
DEVICE = ("--device", "cpu")
HERE = (*DEVICE, "--workers", "1")
SMALL = (
    "--num-attributes", "2", "--num-values", "3", "--word-length", "2", "--hidden-size", "16",
    "--seeds", "123-123", "--grammar", "perm",
)  # fmt: skip


def icy_steps(folder: Path, model: str, *options: str) -> dict[str, Any]:
    """Updates until a model says CONCAT and PERM with an accuracy of 80 %, and how many parameters it has."""
    (row,) = as_json("icy", "--model", model, *options, *SMALL, *HERE, folder=folder)["rows"]
    runs = [run for each in (row["concat_steps"], *row["cells"]) for run in each["runs"]]
    return {"parameters": row["parameters"], **{run["grammar"]: run["steps"] for run in runs}}


def xferbench(folder: Path) -> dict[str, float]:
    options = ("--metrics", "xferbench,preset=nano", *HERE)
    found = as_json("score", irregular(folder), *options, folder=folder)
    return {"score": found["score"], **found["by_target"]}


def baseline(folder: Path, name: str, preset: str = "nano") -> dict[str, float]:
    """Nats a token in each target, after one of the sources that corpora are held against."""
    text = ("--text", write_text(folder / "text.txt")) if name == "human" else ()
    found = as_json("score", "reference", f"{name},preset={preset}", *text, *HERE, folder=folder)
    return {"score": found["score"], **found["by_target"]}


def translation(folder: Path, setting: str) -> dict[str, Any]:
    """Cross-entropy and sizes of a translator; its chrF at this size is 0, which is no figure."""
    pairs = ("--pairs", write_pairs(folder / "pairs.tsv"))
    options = (*pairs, "--preset", "nano", "--setting", setting, *DEVICE)
    found = as_json("translate", irregular(folder), *options, folder=folder)
    keys = "cross_entropy num_parameters num_trainable num_train num_left_out num_test passes".split()
    return {key: found[key] for key in keys}


def xtreme(folder: Path, tasks: str, *options: str) -> dict[str, Any]:
    """The measures of tasks, in points of 100, by body, task and language."""
    data = ("--data", write_tasks(folder / "data"), "--tasks", tasks, "--languages", "eu")
    found = as_json("xtreme", irregular(folder), *data, "--preset", "nano", *options, *HERE, folder=folder)
    places = [" ".join(str(cell[key]) for key in ("body", "task", "language")) for cell in found["cells"]]
    kept = [
        {key: cell["metrics"][key] for key in ("accuracy", "f1") if key in cell["metrics"]} for cell in found["cells"]
    ]  # fmt: skip
    return dict(zip(places, kept, strict=True))


ICY = ("fc1l", "lstm", "husendz:dgsend")
CASES = {f"icy sender {model}": Case(partial(icy_steps, model=model), STEPS) for model in ICY} | {
    "icy receiver hier:gru": Case(lambda folder: icy_steps(folder, "hier:gru", "--role", "receiver"), STEPS),
    "xferbench nano": Case(xferbench, NATS),
    "baseline no_pretrain mini": Case(lambda folder: baseline(folder, "no_pretrain", "mini"), LONG_NATS),
    "baseline paren_synth": Case(lambda folder: baseline(folder, "paren_synth"), NATS),
    "baseline human": Case(lambda folder: baseline(folder, "human"), NATS),
    "translation full": Case(lambda folder: translation(folder, "full"), NATS, needs=BART),
    "translation frozen": Case(lambda folder: translation(folder, "frozen"), NATS, needs=BART),
    "xtreme adapt": Case(lambda folder: xtreme(folder, "panx,xnli"), POINTS),
    "xtreme direct": Case(lambda folder: xtreme(folder, "tatoeba", "--protocol", "direct"), POINTS),
}
