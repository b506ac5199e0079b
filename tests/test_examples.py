"""The examples pass their checks, are short, and train."""

import ast
import runpy
from pathlib import Path

import pytest
import torch
from quick_checks import TRAIN_MORE, without

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train
from ecsuite.parts import own_code
from ecsuite.testing import checks, kind_of, run

FOLDER = Path(__file__).parents[1] / "examples"
MAX_LINES = 60
PARTS = {
    "deletion.py:Deletion,probability=0.2": (),
    "lazimpa.py:Impatient": (),
    "lazimpa.py:Lazy": (),
    "diverse.py:Diverse": (),
    "csv_world.py:CsvWorld": (),
    "colour_world.py:ColourWorld,distractors=nearest": (),
    "transformer_sender.py:TransformerSender": (),
    "word_order.py:word_order": (),
    "naming_game.py:NamingGame,num_agents=3,num_objects=4": (),
    "policy_gradient.py:PolicyGradient": (),
    "alternating.py:Alternating,every=2": (),
    "slow_teacher.py:SlowTeacher": (),
    "reads_twice.py:ReadsTwice": (),
    "generator_world.py:Points": (),
    "egg_basic_games.py:Sender": (),
    "egg_basic_games.py:Receiver": (),
}
PROGRAMS = ("image_game.py", "responses.py")
"""Examples that are run with Python, and have no part."""
TINY = (
    "training.num_examples=64",
    "training.num_epochs=1",
    "training.batch_size=32",
    "evaluation.num_valid=32",
)


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch):
    monkeypatch.chdir(FOLDER)
    monkeypatch.setattr(own_code, "_trusted", set())


@pytest.mark.sample(3)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    "left_out", [TRAIN_MORE, pytest.param((), marks=pytest.mark.slow)], ids=["quick", "all"]
)
def test_an_example_passes_its_checks(part, left_out):
    part = f"./{part}"
    found = without(left_out, checks(kind_of(part), part))
    problems = {str(each.check): each.problem for each in map(run, found)}
    assert not {statement: problem for statement, problem in problems.items() if problem}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_an_example_is_short(file):
    """Without its docstrings and blank lines."""
    tree = ast.parse(file.read_text())
    texts = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    num_doc_lines = sum(node.end_lineno - node.lineno + 1 for node in texts)
    assert len([line for line in file.read_text().splitlines() if line.strip()]) - num_doc_lines <= MAX_LINES


def test_every_example_is_in_the_table():
    table = (FOLDER / "README.md").read_text()
    assert not [
        file.name for file in FOLDER.iterdir() if file.suffix == ".py" and f"`{file.name}`" not in table
    ]
    assert {part.partition(":")[0] for part in PARTS} | {*PROGRAMS} == {
        file.name for file in FOLDER.glob("*.py")
    }


def test_a_folder_of_drawn_images_is_played(tmp_path):
    pytest.importorskip("PIL")
    program = runpy.run_path("image_game.py")
    program["draw"](tmp_path / "shapes")
    settings = {name: value for name, _, value in (each.partition("=") for each in TINY)}
    changes = {name: int(value) for name, value in settings.items()} | {"world.size": 16}
    run, counts = program["play"](tmp_path / "shapes", tmp_path / "run", **changes)
    assert sum(counts.values()) == len(run.corpus.messages) == 36
    assert {of_class for of_class, _ in counts} == {"red", "blue", "gold"}


def test_agents_of_egg_are_trained_together(tmp_path):
    parts = [f"{role}=./egg_basic_games.py:{role.capitalize()},hidden=20" for role in ("sender", "receiver")]
    experiment = load_experiment("disc_tiny", [*TINY, *parts, "loss=./lazimpa.py:Lazy"])
    result = train(experiment, tmp_path / "run", device="cpu", progress=lambda *_: None, note=lambda _: None)
    assert result.step == 2 and experiment.sender.options.hidden == 20


@pytest.mark.parametrize("kind", ["relaxed", "discrete", "fixed"])
def test_the_impatient_receiver_weighs_the_symbols_of_a_message_alike(kind):
    own_code.trust(["./lazimpa.py:Impatient"])
    made = own_code.load("./lazimpa.py:Impatient", "receiver", None, (), None)
    receiver = made(made.Options(width=4), vocab_size=2, max_len=3)
    ids, weights = torch.tensor([[1, 2], [2, EOS], [EOS, PAD]]), torch.full((3, 2, 3), 1 / 3)
    message, expected = {
        "discrete": (
            Message(symbols=ids, ends=None, length=torch.tensor([3.0, 2.0])),
            [[1 / 3, 1 / 2], [1 / 3, 1 / 2], [1 / 3, 0]],
        ),
        "relaxed": (
            Message(
                symbols=weights,
                ends=torch.tensor([[0.5, 0], [0, 1], [0.5, 0]]),
                length=torch.tensor([2.0, 2.0]),
            ),
            [[0.5 + 0.5 / 3, 0.5], [0.5 / 3, 0.5], [0.5 / 3, 0]],
        ),
        "fixed": (
            Message(symbols=weights, ends=None, length=torch.tensor([3.0, 3.0])),
            [[1 / 3, 1 / 3]] * 3,
        ),
    }[kind]
    states, shares = receiver(message)
    assert states.shape == (3, 2, 4)
    torch.testing.assert_close(shares, torch.tensor(expected))
    last, ends = receiver.eval()(message)
    assert len(last) == (3 if kind == "relaxed" else 1) and torch.equal(ends.sum(0), torch.ones(2))


@pytest.mark.parametrize("channel", ["gumbel", "reinforce"])
def test_lazimpa_trains_over_channels_of_symbols(tmp_path, channel):
    parts = ["receiver=./lazimpa.py:Impatient,width=8", "loss=./lazimpa.py:Lazy", f"channel={channel}"]
    experiment = load_experiment("disc_tiny", [*TINY, *parts])
    result = train(experiment, tmp_path / "run", device="cpu", progress=lambda *_: None, note=lambda _: None)
    assert result.step == 2
