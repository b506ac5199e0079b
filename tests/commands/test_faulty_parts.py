import re
from pathlib import Path

import pytest

from ecsuite.commands.new import FOLDER
from ecsuite.parts import own_code

OWN = "./own.py:own"
TRAIN = ("train-game", "disc_tiny", "--set", "training.num_examples=64", "--set", "training.batch_size=32")
COMMANDS = {
    "world": (*TRAIN, "--world", OWN), "task": (*TRAIN, "--task", OWN),
    "channel": (*TRAIN, "--channel", OWN),
    "sender": (*TRAIN, "--sender", OWN),
    "receiver": (*TRAIN, "--receiver", OWN),
    "perception": (*TRAIN, "--set", f"sender.perception={OWN}"),
    "loss": (*TRAIN, "--loss", OWN),
    "optimizer": (*TRAIN, "--set", f"optimizer={OWN}"),
    "schedule": (*TRAIN, "--set", f"schedule={OWN}"),
    "metric": ("score", "corpus.jsonl", "--metrics", OWN),
    "grammar": ("grammar", OWN, "--num-attributes", "2", "--num-values", "3"),
    "model of icy": ("icy", "--model", OWN, "--num-attributes", "2", "--num-values", "3", "--seeds", "1"),
}  # fmt: skip
CLASSES = {kind: kind for kind in COMMANDS} | {"model of icy": "sender"}
FUNCTIONS = ("metric", "grammar")
WRONG_SHAPES = {
    "world": ("labels=labels,", "labels=labels[:, :1],"),
    "task": ("return TaskOutput(loss=loss,", "return TaskOutput(loss=loss[0, 0],"),
    "channel": ("self.options.confusion).long()", "self.options.confusion).long()[:, 1:]"),
    "sender": ("return builder.message()", "return builder.message().symbols"),
    "receiver": ("message.at_ends(states)", "message.at_ends(states[..., 1:])"),
    "perception": (".to(features.dtype)", ".to(features.dtype)[:, 1:]"),
    "loss": ("return loss, self", "return loss[:1], self"),
    "optimizer": ("return torch.optim.SGD(", "return list("),
    "schedule": ("return min(1.0, (step + 1) / self.warmup)", "return [1.0]"),
    "metric": ("return float(np.mean(unique)) if unique else None", "return unique"),
    "grammar": ("return messages", "return messages[1:]"),
    "model of icy": ("self.scores(state)", "self.scores(state)[:, 1:]"),
}


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(own_code, "_trusted", set())


def template(kind):
    return FOLDER.joinpath(f"{CLASSES[kind]}.txt").read_text().replace("NAME", "own")


def raising(kind):
    """A part of the right kind whose first method fails; a function as soon as it is called."""
    if kind in FUNCTIONS:
        return "def own(first):\n    1 / 0\n"
    before, head, after = re.split(r"(?m)^(    def .*:\n)", template(kind), maxsplit=1)
    return f"{before}{head}        1 / 0\n{after}"


FAULTS = {
    "no file": (lambda kind: None, "./own.py: can't be read: No such file or directory"),
    "syntax error": (lambda kind: "import os\ndef x(:\n", "./own.py:2: invalid syntax"),
    "no such class": (lambda kind: "class Other: pass\n", "./own.py: has no own; it has Other"),
    "wrong kind": (lambda kind: "\nclass own:\n    pass\n", "./own.py:"),
    "raises": (raising, "./own.py:"),
    "wrong shape": (lambda kind: template(kind).replace(*WRONG_SHAPES[kind]), "./own.py:"),
}


@pytest.mark.sample(30)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_fault_is_told_in_a_line_and_nothing_is_written(ecsuite, tmp_path, kind, fault):
    make, beginning = FAULTS[fault]
    code = make(kind)
    if code is not None:
        assert fault != "wrong shape" or code != template(kind)
        Path("own.py").write_text(code)
    Path("corpus.jsonl").write_text("[1, 2]\n[3]\n")
    Path("meanings.jsonl").write_text('{"meaning": [0]}\n{"meaning": [1]}\n')
    before = sorted(tmp_path.rglob("*"))
    status, out, err = ecsuite(*COMMANDS[kind])
    assert (status, out) == (2, "")
    assert err.startswith(beginning) and err.count("\n") == 1
    if fault in ("raises", "wrong shape"):
        assert err.split(":")[1].isdigit(), "a line of the file"
    assert sorted(tmp_path.rglob("*")) == before


UNFIT = {
    "ends": (
        "channel", "return rotated(message", "return rotated(replace(message, ends=message.ends * 0.5)",
        "own: the probabilities of a message's ends do not add up to 1",
    ),
    "length": (
        "sender", "return builder.message()",
        "m = builder.message(); object.__setattr__(m, 'length', m.length + 1); return m",
        "own: the length of a message is not the mean of its ends",
    ),
    "no target": ("world", "labels=labels,", "labels=labels & False,", "own: expected a target among"),
    "infinite": ("task", "loss=loss,", "loss=loss / 0,", "own: expected finite measures, got {'loss': "),
}  # fmt: skip


@pytest.mark.parametrize("fault", UNFIT)
def test_what_does_not_fit_is_told_before_the_first_step(ecsuite, tmp_path, fault):
    kind, right, wrong, message = UNFIT[fault]
    code = template(kind)
    assert right in code
    code = code.replace("import dataclass", "import dataclass, replace")
    Path("own.py").write_text(code.replace(right, wrong))
    status, out, err = ecsuite(*COMMANDS[kind])
    assert (status, out) == (2, "") and not Path("runs").exists()
    assert err.startswith("./own.py:") and message in err and err.count("\n") == 1


KINDS = [kind for kind in COMMANDS if kind != "model of icy"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_another_kind_is_told_what_it_must_be(refused, tmp_path, kind):
    other = KINDS[KINDS.index(kind) - 1] if kind != "grammar" else "sender"  # metrics are functions, too
    Path("corpus.jsonl").write_text("[1, 2]\n[2, 1]\n")
    Path("own.py").write_text(template(other))
    err = refused(*COMMANDS[kind])
    assert re.match(rf"\./own\.py:\d+: own: (for )?an? {kind}", err) and f"see `ecsuite new {kind}`" in err
