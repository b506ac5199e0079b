"""Combinations of values that are held out: which objects and rules, in which splits, and what is refused."""

from itertools import product

import numpy as np
import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("training.batch_size=16", "training.num_examples=1024", "evaluation.num_valid=64")


@pytest.fixture
def table(tmp_path):
    """A table of 3 x 3 x 2 objects."""
    file = tmp_path / "things.csv"
    rows = product(("cup", "bowl", "jar"), ("red", '"red, dark"', "blue"), (1, 2))
    file.write_text("shape,color,size\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    return str(file)


def make(game, held_out, *more):
    return make_world(
        load_experiment(game, [*SMALL, "task.num_distractors=1", *more, f"world.held_out_value={held_out}"])
    )


def objects_in(world, split, part="candidates"):
    """The candidates or targets of many rounds of a split, as sets of names of their values."""
    batch = world.draw(split, 0, 512)
    chosen = batch.labels if part == "targets" else batch.labels | True
    rows = batch.values[batch.candidate_indices()[chosen]].tolist()
    return {frozenset(map(list.__getitem__, map(list, world.value_names), row)) for row in rows}


@pytest.mark.parametrize(
    ("game", "held_out", "number", "total"),
    [
        (("disc_tiny", "world.num_attributes=3"), "attribute0=1,attribute2=3", 4, 64),
        (("disc_tiny", "world.frequencies=power_law"), "[attribute0=1, attribute1=2]", 7, 16),
        (("objects_game", "world.num_values=[4, 3, 2]"), "attribute1=0,attribute2=1", 4, 24),
        (("objects_game", "world.kind=letter_strings", "world.max_count=5"), "[a=1, 'a=3,b=3']", 6, 25),
    ],
)
def test_every_world_of_named_values_has_it(game, held_out, number, total):
    world = make(game[0], held_out, *game[1:])
    assert len(objects_in(world, "valid", "targets")) == number
    assert len(objects_in(world, "train")) == total - number and len(objects_in(world, "valid")) == total
    assert not objects_in(world, "valid", "targets") & objects_in(world, "train")
    assert world.extra_evaluations() == {"seen objects": (world, "seen")}
    described = [world.describe(batch).columns["split"] for batch in world.corpus_batches(1000)]
    assert {*np.concatenate(described)} == {"train", "held_out"}


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        ("shape=cup,color=rad", "^world.held_out_value: unknown value 'color=rad'; did you mean 'color=red'"),
        ("shape=cup,", "^world.held_out_value: unknown value ''; choices: 'shape=bowl', 'shape=cup'"),
        ("shape=cup,shape=jar", r"^world.held_out_value: no object has shape=cup,shape=jar: expected a combin"),
        ("[size=1, size=2]", "^world.held_out_value: all 18 objects have it: none is left for training"),
        ("[]", r"held_out_value: expected values such as color=red, got \[\]"),
        ("3", "world.held_out_value: expected str or list or null, got 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_out_is_refused_in_one_line(table, held_out, message):
    with pytest.raises(ConfigError, match=message) as refused:
        make(table, held_out)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_game_with_a_combination_held_out(ecsuite, table, tmp_path):
    quick = [text for setting in (*SMALL, "training.num_epochs=1") for text in ("--set", setting)]
    code, _, err = ecsuite(
        "train-game", table, *quick, "--set", "world.held_out_value=[\"shape=cup,color=red\", \"shape=jar,size=1\"]",
        "--task", "discrimination,num_distractors=1", "--out", "run",
    )  # fmt: skip
    assert code == 0 and "5 of 18 objects are held out from training" in err
    corpus = read_corpus(tmp_path / "run")
    named = [[corpus.concept_names[each] for each in phrase] for phrase in corpus.concepts]
    held_out = [
        {*names} for names, of in zip(named, corpus.columns["split"], strict=True) if of == "held_out"
    ]
    combinations = {"shape=cup", "color=red"}, {"shape=jar", "size=1"}
    assert len(held_out) == 5 and all(any(each <= n for each in combinations) for n in held_out)


def test_combinations_of_many_attributes_need_no_table():
    """8^12 objects, of which one in 64 has the first combination, and one in 8 the second."""
    sizes = ("world.num_attributes=12", "world.num_values=8")
    many, share = (*sizes, "training.batch_size=4096", "task.num_distractors=4"), 1 / 8 + 7 / 8 / 64
    world = make("disc_tiny", '["attribute3=1,attribute11=7", "attribute5=2"]', *many)

    def is_held_out(values):
        return (values[:, 3] == 1) & (values[:, 11] == 7) | (values[:, 5] == 2)

    train, everything = (world.draw(split, 0, 1024).values for split in ("train", "all"))
    batch = world.draw("valid", 0, 4096)
    valid = batch.values[batch.candidate_indices()[batch.labels]]
    assert not is_held_out(train).any() and is_held_out(valid).all()
    distractors = batch.values[batch.candidate_indices()[~batch.labels]]
    assert is_held_out(distractors).mean() == pytest.approx(share, abs=0.02)
    assert is_held_out(everything).mean() == pytest.approx(share, abs=0.02)
    assert f" {round(share * 8**12)} of {8**12} objects are held out" in world.notes[-1]
    assert len(np.unique(valid, axis=0)) == len(valid)  # all others are free
    assert np.bincount(train[:, 0], minlength=8).min() > 500
    in_batch = make("disc_tiny", "attribute3=1,attribute11=7", *sizes, "task={kind: in_batch}").batch(
        "valid", 0
    )
    assert in_batch.labels.shape[1] >= 16 and (in_batch.labels.sum(1) == 1).all()
    described = world.describe(world.draw("all", 0, 512))
    assert ((described.columns["split"] == "held_out") == is_held_out(described.meanings)).all()
    with pytest.raises(ConfigError, match="attributes with at most 4,194,304 combinations, got 16,777,216"):
        make("disc_tiny", ",".join(f"attribute{place}=0" for place in range(8)), *many)


def test_rules_with_a_combination_are_held_out():
    sets = ("task.kind=concept", "task.num_targets=2", "task.num_distractors=2", "world.rule_length=2")
    thing = ("world.kind=thing", "world.num_attributes=3")
    world = make("disc_tiny", "attribute0=1,attribute2=3", *thing, *sets)
    held_out = world.rules.columns["split"] == "held_out"
    assert world.table[held_out].tolist() == [[1, -1, 3]] and len(held_out) == 3 * 16
    assert np.unique(world.batch("valid", 0).rules).tolist() == np.flatnonzero(held_out).tolist()
    assert not np.isin(np.flatnonzero(held_out), world.draw("train", 0, 1024).rules).any()
    shapes = make("disc_tiny", "[color=red, 'shape=circle,color=blue']", "world.kind=shape", *sets)
    assert (shapes.rules.columns["split"] == "held_out").sum() == 5 + 3 + 3 + 1  # red beside another, and one
    with pytest.raises(ConfigError, match=r"held_out_value: no rule has color=red,shape=circle: expected"):
        make("disc_tiny", "'color=red,shape=circle'", "world.kind=shape", *sets[:3])
    assert world.extra_evaluations() == {"seen rules": (world, "seen")}
