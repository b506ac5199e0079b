"""Which objects are held out when, and who can know their codes."""

import pytest

from ecsuite.people.codes import CodesGame, make_schedule
from ecsuite.people.kinds import ATTENTION, HELD_OUT, TRAINING, Shown
from ecsuite.people.objects import DATASETS, make_codes


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("seed", range(5))
def test_balanced_shows_every_part_of_what_it_holds_out(dataset, seed):
    schedule, values = make_schedule("balanced", dataset, seed), DATASETS[dataset].values
    first, last = schedule.order[:3], schedule.order[-3:]
    for place in range(2):
        assert {values(meaning)[place] for meaning in last} == {values(meaning)[place] for meaning in first}
    assert sorted(schedule.order) == list(range(DATASETS[dataset].num_objects))
    assert sorted(schedule.held_out.values()) == [len(schedule.order) - 3 + k for k in range(3)]
    assert (
        all(20 <= example < 50 for example in schedule.held_out)
        and schedule.attention not in schedule.held_out
    )


def test_published_holds_out_the_next_locked_objects():
    schedule = make_schedule("published", "synth", 0)
    assert schedule.order == tuple(range(9)) and schedule.held_out == {29: 0, 39: 1, 49: 2}


@pytest.mark.parametrize(
    ("protocol", "step", "shown", "typed", "told"),
    [
        ("balanced", 0, Shown(kind=TRAINING, meaning=6), "zz", "The code is grntri."),
        ("balanced", 0, Shown(kind=TRAINING, meaning=6), " GRNTRI", ""),
        ("balanced", 0, Shown(kind=HELD_OUT, meaning=6), "zz", ""),
        ("balanced", 0, Shown(kind=ATTENTION, meaning=-1), "zz", ""),
        ("published", 0, Shown(kind=TRAINING, meaning=6), "zz", ""),
        ("published", 29, Shown(kind=HELD_OUT, meaning=6), "zz", ""),
    ],
)
def test_only_codes_of_unlocked_objects_are_told(protocol, step, shown, typed, told):
    game = CodesGame(grammar="concat", dataset="eng", protocol=protocol, seed=1)
    assert game.feedback(step, shown, typed) == told


def test_codes_are_a_function_of_the_seed():
    assert make_codes("eng", "concat", 1).texts[6] == "grntri"
    assert sorted(make_codes("eng", "shufdet", 1).texts[7]) == sorted("grnbox")
    synth = make_codes("synth", "concat", 3).texts
    assert (
        len(set(synth)) == 9 and {len(code) for code in synth} == {4} and set("".join(synth)) <= set("abcd")
    )
    assert make_codes("synth", "concat", 3).texts == synth != make_codes("synth", "concat", 4).texts
