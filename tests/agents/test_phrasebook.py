"""Agents by rule, phrasebooks and fixed languages: what is said and read, known success, and what does not fit."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ecsuite.agents.phrasebook import Phrasebook
from ecsuite.eval.metrics import find_metric
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.play import players_of
from ecsuite.games.runs.run import load_run
from ecsuite.games.training.train import train
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SYMBOLS, CONCEPTS = {name: n for n, name in enumerate("abcde")}, {"x=0": 0, "x=1": 1, "y=0": 2, "y=1": 3}
RNG = np.random.default_rng(0)


def pair_of(form, meaning, weight=1.0, **more):
    return {"form": list(form), "meaning": list(meaning), "weight": weight, **more}


def book_of(*pairs, size=None):
    return Phrasebook(json.dumps(list(pairs)), SYMBOLS, CONCEPTS, "inventory", size)


def said(book, meaning, room=4, order="kept", fill="nothing", rng=RNG):
    rules = SimpleNamespace(order=order, fill=fill)
    return "".join("abcde"[symbol] for symbol in book.say(meaning, room, rng, rules))


def read(book, message, unknown="skip"):
    names = {number: name for name, number in CONCEPTS.items()}
    heard = [SYMBOLS.get(symbol, -1) for symbol in message]
    return {names[concept]: weight for concept, weight in book.read(heard, unknown).items()}


def test_a_speaker_covers_a_meaning_in_the_order_of_positions_while_there_is_room():
    book = book_of(
        pair_of("ab", ["x=0"], 2, position=1), pair_of("c", ["y=0"], 1, position=0), pair_of("d", ["x=0"], 0.5)
    )
    assert said(book, {0, 2}) == "cab" and said(book, {0, 2}, fill="repeat") == "cabc"
    assert said(book, {0, 2}, room=2) == "ab"  # the form of the highest weight, and there is no room for more
    assert said(book, {0, 2}, room=1) == "c" and said(book, {1, 3}) == ""  # nothing is known of this meaning
    orders = {said(book, {0, 2}, order="shuffled", rng=np.random.default_rng(seed)) for seed in range(9)}
    assert orders == {"cab", "abc"}
    assert said(book_of(pair_of("a", ["x=0"], 1), pair_of("b", ["y=0"], 2), size=1), {0, 2}) == "b"


def test_a_listener_adds_up_the_evidence_of_forms_long_ones_first():
    book = book_of(
        pair_of("a", ["x=0"], 5), pair_of("ab", ["x=1", "y=1"], 2), pair_of("c", ["y=0"], 1),
        pair_of("c", ["x=0"], 3),
    )  # fmt: skip
    assert read(book, "ab") == {"x=1": 1, "y=1": 1}  # not a, which overlaps
    assert read(book, "aab") == {"x=0": 5, "x=1": 1, "y=1": 1}
    assert read(book, "cc") == {"y=0": 2, "x=0": 6}  # a form of two meanings is evidence for both
    assert read(book, "aec") == {"x=0": 8, "y=0": 1} and read(book, "aec", "stop") == {"x=0": 5}
    assert read(book, "a?c") == read(book, "aec") and read(book, "") == {}


GAME = ("world.num_attributes=2", "world.num_values=4", "channel.vocab_size=8", "channel.max_len=2")
VALUES = [(place, value) for place in range(2) for value in range(4)]
COMPOSITIONAL = [
    pair_of([4 * place + value + 1], [f"attribute{place}={value}"], position=place) for place, value in VALUES
]
CONSTANT = [pair_of([1], [f"attribute{place}={value}"]) for place, value in VALUES]
QUIET = {"device": "cpu", "progress": lambda *_: None, "note": lambda _: None}


def experiment_of(tmp_path, pairs, *changes, roles=("sender", "receiver")):
    file = tmp_path / "inventory.json"
    file.write_text(json.dumps(pairs))
    parts = [f"{role}=phrasebook,inventory={file}" for role in roles]
    return load_experiment("disc_tiny", [*GAME, *parts, "receiver.perception=identity", *changes])


@pytest.mark.parametrize("length", ["variable", "fixed"])
@pytest.mark.parametrize("task", ["discrimination", "reconstruction"])
def test_agents_with_a_word_for_each_value_are_right_and_with_one_word_guess(tmp_path, length, task):
    for pairs, is_right in ((COMPOSITIONAL, True), (CONSTANT, False)):
        changes = (f"channel.length={length}", f"task={task}", "evaluation.num_valid=2048")
        experiment = experiment_of(tmp_path, pairs, *changes)
        world = make_world(experiment)
        players = players_of(experiment, world)
        accuracy = evaluate(players, world, experiment)["accuracy"]
        chance = players.chance()["accuracy"]
        assert accuracy == 1 if is_right else accuracy == pytest.approx(chance, abs=4 * 0.5 / 2048**0.5)


def test_it_is_heard_and_read_in_training_where_ends_are_probable(tmp_path):
    experiment = experiment_of(tmp_path, COMPOSITIONAL)
    pair = make_pair(experiment, make_world(experiment))
    assert not list(pair.parameters())
    played = pair.play(pair.world.batch("train", 0), "train", torch.Generator().manual_seed(0))
    assert played.objective.isfinite() and played.measures["accuracy"] > 0.9


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Runs whose senders have a fixed language, of values and of whole meanings, and their trained receivers."""
    found = {}
    for name, pairs in {
        "compositional": COMPOSITIONAL,
        "holistic": [
            pair_of([a, b], [f"attribute0={v // 4}", f"attribute1={v % 4}"])
            for v, (a, b) in enumerate(np.random.default_rng(3).permutation(64)[:16, None] // [8, 1] % 8 + 1)
        ],
    }.items():
        folder = tmp_path_factory.mktemp(name)
        pairs = [{**each, "form": [int(symbol) for symbol in each["form"]]} for each in pairs]
        settings = ("channel=reinforce,length=fixed", "training.num_epochs=3", "optimizer.lr=0.01")
        experiment = experiment_of(folder, pairs, *settings, "receiver=gru,hidden_size=64", roles=("sender",))
        train(experiment, folder / "run", **QUIET)
        found[name] = load_run(folder / "run")
    return found


def scores(run, name):
    return {score.name.partition(",")[0]: score for score in find_metric(name)(run, seed=1)}


def test_inventories_of_known_languages(taught):
    # A book that csar finds in the messages; the sender of the run has the true one.
    run = taught["compositional"]
    assert run.measures["accuracy"] > 0.99
    for name in ("phrasebook", "phrasebook,held_out=0.3"):
        found = scores(run, name)
        assert found["phrasebook_listener"].value == pytest.approx(1, abs=0.01), name
        assert found["phrasebook_speaker"].value == pytest.approx(1, abs=0.01), name
        assert found["phrasebook_npmi"].value == 1
        assert found["phrasebook_listener"].chance.level == pytest.approx(0.25, abs=0.02)
    # Whole messages are forms, so that it knows the meanings that it was made of, and by chance no others.
    run = taught["holistic"]
    assert scores(run, "phrasebook")["phrasebook_listener"].value > 0.9
    held_out = scores(run, "phrasebook,held_out=0.3")["phrasebook_listener"]
    assert held_out.value < 0.6 and held_out.details["tested_meanings"] < 16
    nothing = scores(run, "phrasebook,inventory=morphemes")["phrasebook_listener"]
    assert nothing.value is None and "no pairs" in nothing.reason


UNFIT = [
    ([pair_of([9], ["attribute0=0"])], r"pair 1: unknown symbol '9'"),
    ([*COMPOSITIONAL, pair_of([1], ["color=red"])], r"pair 9: unknown meaning 'color=red'"),
    ([{"form": [], "meaning": ["attribute0=0"]}], r"at least|length >= 1"),
    ([{"form": [1]}], r"missing required field meaning - at \$\[0\]"),
    ([], r"length >= 1"),
    ({"scores": []}, r"expected one score with an inventory, got 0"),
    ({"scores": [1, {"details": 3}]}, r"expected one score with an inventory, got 0"),
    ("not pairs", r"Expected array"),
]


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        *(
            (content, (), rf"sender\.inventory: .*inventory\.json: .*{message}[^\n]*$")
            for content, message in UNFIT
        ),
        (COMPOSITIONAL, ("receiver.perception=linear",), r"receiver\.perception: expected identity"),
        (COMPOSITIONAL, ("task.sender_input=targets_and_distractors",),
         r"sender phrasebook: expected it to see"),
        (COMPOSITIONAL, ("channel.length=fixed", "sender.fill=nothing"),
         r"sender\.fill: messages .* expected repeat"),
        (COMPOSITIONAL, ("task=reconstruction,num_known=1",), r"task: the receiver scores values"),
        (COMPOSITIONAL, ("sender.inventory=absent.json",), r"absent\.json: cannot be read"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path, content, changes, message):
    experiment = experiment_of(tmp_path, content, *changes)
    with pytest.raises(ConfigError, match=f"^{message}"):
        make_pair(experiment, make_world(experiment))


def test_participants_with_a_book_understand_each_other_in_symbols_of_the_play(tmp_path):
    file = tmp_path / "inventory.json"
    file.write_text(json.dumps(COMPOSITIONAL))
    book = f"phrasebook,inventory={file}"
    play = "talk,agents=2,symbols=letters,names=[a,b,c,d,e,f,g,h],max_symbols=2,blocks=2,test=false"
    world = (
        "world.num_attributes=2", "world.num_values=4", "training.batch_size=16", "training.num_epochs=1",
    )  # fmt: skip
    for task in ("discrimination", "reconstruction"):
        settings = [f"play={play},task={task}", f"play.participant={book}", *world]
        result = train(load_experiment("talk_chain", settings), tmp_path / task, **QUIET)
        assert result.measures["accuracy"] == 1
    said = {tuple(row.tolist()) for row in load_run(tmp_path / task).corpus.messages}
    assert len(said) == 16
    with pytest.raises(ConfigError, match=r"^play\.participant\.inventory: .*: pair 8: unknown symbol '8'"):
        settings = [f"play={play.replace(',h]', ']')}", f"play.participant={book}", *world]
        train(load_experiment("talk_chain", settings), tmp_path / "few", **QUIET)


SMALL = ("world.num_values=5", "channel.vocab_size=5", "receiver.hidden_size=8", "training.batch_size=4")


def play(mode, *overrides, dtype=torch.float32):
    """Values of the targets, (4, 2), what is asked of the receiver, the symbols, (4, 2), and what was played."""
    experiment = load_experiment("fixed_language", [*SMALL, *overrides])
    world = make_world(experiment)
    game, batch = make_pair(experiment, world, dtype), world.batch("train", 0)
    played = game.play(batch, mode, torch.Generator().manual_seed(0))
    symbols = played.message.symbols
    ids = symbols.argmax(-1) if symbols.dim() == 3 else symbols
    asked = game.round_parts(batch)[1].values
    return batch.values[batch.shown[:, 0]], asked, ids.t().numpy(), played


@pytest.mark.parametrize("channel", ["reinforce", "gumbel"])
@pytest.mark.parametrize("mode", ["train", "sample", "greedy"])
def test_a_symbol_is_a_value_or_a_sum_of_both_which_may_be_asked_of_the_receiver(channel, mode):
    values, _, said, played = play(mode, f"channel.kind={channel}")
    assert (said == values + 1).all() and played.objective.isfinite()
    values, _, said, _ = play(mode, f"channel.kind={channel}", "sender.language=sums")
    sums = np.stack([values.sum(1), values[:, 0] - values[:, 1]], 1) % 5
    assert (said == sums + 1).all()
    values, asked, _, _ = play(mode, f"channel.kind={channel}", "task.asked=sums")
    assert (asked.numpy() == np.stack([values.sum(1), values[:, 0] - values[:, 1]], 1) % 5).all()


@pytest.mark.parametrize("receiver", ["lstm", "transformer", "fc2l", "hier:gru"])
def test_its_certain_symbols_are_heard_in_the_precision_of_the_game(receiver):
    """They are said in fp32, whatever the receiver computes in."""
    *_, played = play("train", "channel.kind=gumbel", f"receiver={receiver}", dtype=torch.bfloat16)
    played.objective.backward()
    assert played.objective.isfinite()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["channel.max_len=3"], "expected channel.max_len to be world.num_attributes"),
        (["channel.vocab_size=4"], "at least world.num_values symbols, got 2 of 4 symbols for 10 features"),
        (["sender.perception=mlp"], "sender.perception: expected identity"),
        (["world.num_values=4", "sender.language=sums"], "sender.language: with 4 values two pairs may have"),
        (["world.num_values=4", "task.asked=sums"], "task.asked: with 4 values two pairs may have the same"),
        (["task.asked=sums", "task.num_known=1"], "num_known: expected 0 with asked=sums"),
        (["world.num_attributes=3", "channel.max_len=3", "task.asked=sums"], "task.asked: sums need 2 attr"),
    ],
)  # fmt: skip
def test_fixed_languages_that_do_not_fit_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        play("greedy", *overrides)
