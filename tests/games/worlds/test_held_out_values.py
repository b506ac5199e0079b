"""Values that are held out in combination, and distractors that are like the target: which objects and rules."""

from itertools import product

import numpy as np
import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.candidates import SimilarDistractors, with_target_at
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
    held_out = f"world.held_out_value={held_out}"
    few = () if any("kind: in_batch" in each for each in more) else ("task.num_distractors=1",)
    return make_world(load_experiment(game, [*SMALL, *few, *more, held_out]))


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
    split = corpus.columns["split"]
    held_out = [{*names} for names, of in zip(named, split, strict=True) if of == "held_out"]
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
    in_batch = make("disc_tiny", "attribute3=1,attribute11=7", *sizes, "task={kind: in_batch}")
    in_batch = in_batch.batch("valid", 0)
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


def similar(number, num_shared=None, values=None, vectors=None, rounds=1):
    """Distractors of each object in many rounds, (num_objects, rounds, number)."""
    total = len(values if vectors is None else vectors)
    words = np.random.default_rng(0).integers(2**63, size=(total * rounds, number)).astype(np.uint64)
    distractors, targets = SimilarDistractors(number, num_shared, values, vectors), np.arange(total)
    drawn = distractors.of(np.repeat(targets, rounds), words, targets)
    return drawn.reshape(total, rounds, number)


def test_the_nearest_objects_are_those_of_a_line():
    line = np.array([[0.0], [1.0], [2.5], [4.5]])
    nearest = similar(2, vectors=line, rounds=50)
    assert [set(each.ravel().tolist()) for each in nearest] == [{1, 2}, {0, 2}, {1, 3}, {1, 2}]
    at_one_place = similar(2, vectors=np.zeros((4, 1)), rounds=300)
    for target, rounds in enumerate(at_one_place.tolist()):
        sets = {tuple(sorted(each)) for each in rounds}
        assert len(sets) == 3 and all(target not in each and len({*each}) == 2 for each in sets)
    placed = with_target_at(np.array([7, 8]), np.array([[1, 2], [3, 4]]), np.array([2, 0]))
    assert placed.tolist() == [[2, 1, 7], [8, 3, 4]]


def test_values_are_shared_where_objects_are_held_out():
    held_out = "world.held_out_value=attribute0=1,attribute2=3"
    settings = [held_out, "world.shared_values=3", "training.batch_size=256"]
    world = make_world(load_experiment("disc_small", settings))
    for split in ("train", "valid"):
        batch = world.batch(split, 0)
        values = batch.values[batch.candidate_indices()]
        targets = values[batch.labels]
        assert ((values == targets[:, None]).sum(2)[~batch.labels] == 3).all()
        is_held_out = (values[..., 0] == 1) & (values[..., 2] == 3)
        assert is_held_out[batch.labels].all() == is_held_out.any() == (split == "valid")
        assert 0.2 < is_held_out[~batch.labels].mean() < 0.8 or split == "train"


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("digits", ["world.shared_values=0", "world.held_out=0.2"]),
        ("objects_game", ["world.shared_values=2", "world.held_out_value=attribute0=1,attribute1=2"]),
        ("summation", ["task={kind: discrimination, num_distractors: 2}", "world.shared_values=1"]),
    ],
)
def test_every_world_of_single_objects_has_it(game, settings):
    world = make_world(load_experiment(game, settings))
    shared = int(settings[0][-1] if "shared" in settings[0] else settings[1][-1])
    for split in world.splits:
        batch = world.batch(split, 0)
        values = batch.values[batch.candidate_indices()]
        assert ((values == values[batch.labels][:, None]).sum(2)[~batch.labels] == shared).all()


def test_images_are_not_near_to_each_other_by_their_pixels(image_folder):
    settings = [f"world.objects={image_folder}", "world.distractors=nearest", "task.num_distractors=3"]
    with pytest.raises(ConfigError, match=r"world.distractors: .* have no features: expected random"):
        make_world(load_experiment("images", settings)).batch("train", 0)


@pytest.mark.parametrize("setting", ["held_out=0.3", "rare_combinations=1"])
def test_objects_are_held_out_in_one_way(setting):
    with pytest.raises(ConfigError, match=f"held_out_value: expected {setting.split('=')[0]} to be unset"):
        make("disc_tiny", "attribute0=1,attribute1=2", f"world.{setting}")
